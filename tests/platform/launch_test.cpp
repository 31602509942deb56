// SPDX-License-Identifier: MIT
// Launches: parameters by value, shared memory, many blocks, occupancy, what is refused.
#include "hiris/platform/launch.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiris/platform/device.hpp"
#include "platform/conformance.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;
using test::array_params;

class Launch : public test::conformance {};

/// The largest parameters: 4 KiB.
struct large_kernel {
  static constexpr int block_threads = 64;
  struct params {
    std::uint32_t* out;
    std::uint32_t value[1022];
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    for (int i = pf::thread_rank(); i < 1022; i += block_threads) p.out[i] = p.value[i];
  }
};
TEST_F(Launch, ParamsAreCopiedAtTheCall) {
  static_assert(sizeof(large_kernel::params) == 4096);
  pf::owned_stream stream;
  pf::device_buffer<std::uint32_t> out(1022);
  large_kernel::params p{};
  p.out = out.data();
  for (std::uint32_t i = 0; i < 1022; ++i) p.value[i] = i * i;
  pf::launch<large_kernel>(stream, 1, p);
  for (std::uint32_t& v : p.value) v = 0;  // too late to matter
  stream.synchronize();
  for (std::uint32_t i = 0; i < 1022; ++i) ASSERT_EQ(out.to_host()[i], i * i);
}

template <int Bytes, int Alignment>
struct shared_kernel {
  static constexpr int block_threads = 128;
  using params = array_params<std::uint64_t>;
  struct alignas(Alignment) shared {
    unsigned char byte[static_cast<std::size_t>(Bytes)];
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    for (int i = pf::thread_rank(); i < Bytes; i += block_threads)
      s.byte[i] = static_cast<unsigned char>(i + pf::block_rank());
    pf::block_sync();
    std::uint64_t sum = 0;
    for (int i = 0; i < Bytes; ++i) sum += s.byte[i];
    if (pf::thread_rank() != 0) return;
    p.out[2 * pf::block_rank()] = sum;
    p.out[2 * pf::block_rank() + 1] = reinterpret_cast<std::uintptr_t>(&s) % Alignment;
  }
};
template <int Bytes>
void expect_sums(const std::vector<std::uint64_t>& out) {
  for (std::size_t b = 0; b < out.size() / 2; ++b) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Bytes); ++i) sum += (i + b) % 256;
    ASSERT_EQ(out[2 * b], sum);
    ASSERT_EQ(out[2 * b + 1], 0u);
  }
}
TEST_F(Launch, SharedMemoryIsABlocksOwn) {
  expect_sums<16>(run<shared_kernel<16, 16>, std::uint64_t>(20, 40));
  expect_sums<4096>(run<shared_kernel<4096, 1024>, std::uint64_t>(20, 40));
  expect_sums<49152>(run<shared_kernel<49152, 128>, std::uint64_t>(50, 100));
  expect_sums<65536>(run<shared_kernel<65536, 1024>, std::uint64_t>(50, 100));
}

template <int Threads>
struct block_kernel {
  static constexpr int block_threads = Threads;
  using params = array_params<int>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (pf::thread_rank() == 0) p.out[pf::block_rank()] = pf::block_rank();
  }
};
TEST_F(Launch, MoreBlocksThanFit) {
  const std::vector<int> out = run<block_kernel<256>, int>(5000, 5000);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], i);
}

TEST_F(Launch, OccupancyFollowsThreadsAndSharedMemory) {
  const int few = pf::blocks_per_unit<block_kernel<1024>>();
  const int many = pf::blocks_per_unit<block_kernel<128>>();
  EXPECT_GE(few, 1);
  EXPECT_GT(many, few);
  EXPECT_LT((pf::blocks_per_unit<shared_kernel<49152, 128>>()), many);
  EXPECT_GE((pf::blocks_per_unit<shared_kernel<65536, 1024>>()), 1);
}

/// As many blocks as occupancy allows wait for each other: all have to be resident.
struct meeting_kernel {
  static constexpr int block_threads = 256;
  struct params {
    unsigned* arrived;
    int* late;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (pf::thread_rank() != 0) return;
    pf::atomic_fetch_add<order::relaxed, scope::agent>(p.arrived, 1u);
    const std::uint64_t start = pf::clock_ns();
    while (pf::atomic_load<order::relaxed, scope::agent>(p.arrived) <
           static_cast<unsigned>(pf::block_count())) {
      if (pf::clock_ns() - start > 20'000'000'000u) {
        *p.late = 1;
        return;
      }
      pf::pause();
    }
  }
};
TEST_F(Launch, ResidentBlocksCanWaitForEachOther) {
  pf::load_kernel<meeting_kernel>();
  const int blocks =
      pf::blocks_per_unit<meeting_kernel>() * pf::describe(pf::current_device()).compute_units;
  pf::owned_stream stream;
  pf::device_buffer<unsigned> arrived(1);
  pf::device_buffer<int> late(1);
  arrived.fill_with(std::byte{0});
  late.fill_with(std::byte{0});
  pf::launch<meeting_kernel>(stream, blocks, {arrived.data(), late.data()});
  stream.synchronize();
  EXPECT_EQ(late.to_host()[0], 0);
  EXPECT_EQ(arrived.to_host()[0], static_cast<unsigned>(blocks));
}

TEST_F(Launch, RefusesNoBlocks) {
  for (const int blocks : {0, -1})
    test::expect_error(errc::invalid_argument, test::any_rank, {std::to_string(blocks)}, [&] {
      pf::launch<block_kernel<256>>(nullptr, blocks, {nullptr, nullptr, 0});
    });
}

/// Kernels on two streams of a device run at once: the first waits for the second.
struct gate_kernel {
  static constexpr int block_threads = 64;
  struct params {
    unsigned* gate;
    int open;
    int* late;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (pf::thread_rank() != 0) return;
    if (p.open != 0) {
      pf::atomic_store<order::release, scope::agent>(p.gate, 1u);
      return;
    }
    const std::uint64_t start = pf::clock_ns();
    while (pf::atomic_load<order::relaxed, scope::agent>(p.gate) == 0) {
      if (pf::clock_ns() - start > 20'000'000'000u) {
        *p.late = 1;
        return;
      }
      pf::pause();
    }
  }
};
TEST_F(Launch, StreamsOfADeviceRunAtOnce) {
  pf::load_kernel<gate_kernel>();
  pf::owned_stream first, second;
  pf::device_buffer<unsigned> gate(1);
  pf::device_buffer<int> late(1);
  gate.fill_with(std::byte{0});
  late.fill_with(std::byte{0});
  pf::launch<gate_kernel>(first, 2, {gate.data(), 0, late.data()});
  EXPECT_FALSE(pf::is_idle(first));
  pf::launch<gate_kernel>(second, 1, {gate.data(), 1, late.data()});
  first.synchronize();
  second.synchronize();
  EXPECT_EQ(late.to_host()[0], 0);
  EXPECT_TRUE(pf::is_idle(first));
}

}  // namespace
