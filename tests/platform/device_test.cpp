// SPDX-License-Identifier: MIT
// Ranks, rendezvous of waves and workgroups, and time, on whatever backend there is.
#include "hiris/platform/device.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/conformance.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;
using test::array_params;

class Device : public test::conformance {};

// ---- ranks -------------------------------------------------------------------------------------

struct ranks {
  int thread, lane, wave, block, blocks, threads;
};
template <int Threads>
struct rank_kernel {
  static constexpr int block_threads = Threads;
  using params = array_params<ranks>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    p.out[pf::block_rank() * Threads + pf::thread_rank()] = {
        pf::thread_rank(), pf::lane_rank(),   pf::wave_rank(),
        pf::block_rank(),  pf::block_count(), pf::block_threads()};
  }
};
template <int Threads>
void expect_ranks(const std::vector<ranks>& out, int blocks) {
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < Threads; ++t) {
      const ranks& r = out[static_cast<std::size_t>(b * Threads + t)];
      ASSERT_EQ(r.thread, t);
      ASSERT_EQ(r.lane, t % pf::wave_size);
      ASSERT_EQ(r.wave, t / pf::wave_size);
      ASSERT_EQ(r.block, b);
      ASSERT_EQ(r.blocks, blocks);
      ASSERT_EQ(r.threads, Threads);
    }
}

TEST_F(Device, RanksAreDense) {
  expect_ranks<1>(run<rank_kernel<1>, ranks>(1, 1), 1);
  expect_ranks<33>(run<rank_kernel<33>, ranks>(3, 99), 3);
  expect_ranks<64>(run<rank_kernel<64>, ranks>(2, 128), 2);
  expect_ranks<200>(run<rank_kernel<200>, ranks>(7, 1400), 7);
  expect_ranks<1024>(run<rank_kernel<1024>, ranks>(70, 71680), 70);
}

// ---- shuffles and ballots ----------------------------------------------------------------------

struct odd_bytes {
  std::uint8_t b[11];
};
struct many_words {
  std::uint64_t w[5];
};
template <class T>
HIRIS_HOST_DEVICE T stamp(int seed) {
  T value{};
  auto* bytes = reinterpret_cast<unsigned char*>(&value);
  for (unsigned i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(static_cast<unsigned>(seed) * 3u + i * 17u);
  return value;
}
template <class T>
HIRIS_HOST_DEVICE bool same(const T& a, const T& b) {
  const auto* x = reinterpret_cast<const unsigned char*>(&a);
  const auto* y = reinterpret_cast<const unsigned char*>(&b);
  for (unsigned i = 0; i < sizeof(T); ++i)
    if (x[i] != y[i]) return false;
  return true;
}

/// Counts wrong results: of every rotation, of every xor mask, of a broadcast, many in a row.
template <class T>
struct shuffle_kernel {
  static constexpr int block_threads = 192;
  using params = array_params<int>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    constexpr int n = pf::wave_size;
    const int lane = pf::lane_rank(), first = pf::thread_rank() - lane;
    int wrong = 0;
    for (int by = 0; by < 2 * n; ++by) {  // beyond the last lane it wraps
      const T got = pf::wave_shuffle(stamp<T>(pf::thread_rank() + by), lane + by);
      wrong += same(got, stamp<T>(first + (lane + by) % n + by)) ? 0 : 1;
    }
    for (int mask = 0; mask < n; ++mask) {
      const T got = pf::wave_shuffle_xor(stamp<T>(pf::thread_rank() * 5 + mask), mask);
      wrong += same(got, stamp<T>((first + (lane ^ mask)) * 5 + mask)) ? 0 : 1;
    }
    for (int from = 0; from < n; ++from) {
      const T got = pf::wave_shuffle(stamp<T>(pf::thread_rank()), from);
      wrong += same(got, stamp<T>(first + from)) ? 0 : 1;
    }
    p.out[pf::block_rank() * block_threads + pf::thread_rank()] = wrong;
  }
};

template <class T>
class Shuffle : public test::conformance {};
using shuffled = ::testing::Types<std::uint8_t, std::int16_t, int, float, std::uint64_t, double,
                                  pf::vec16, odd_bytes, many_words>;
TYPED_TEST_SUITE(Shuffle, shuffled);

TYPED_TEST(Shuffle, MovesEveryByte) {
  const auto out = this->template run<shuffle_kernel<TypeParam>, int>(3, 3 * 192);
  EXPECT_EQ(out, std::vector<int>(3 * 192, 0));
}

/// A value that is computed anew is the same, in every lane and in every turn of a loop.
struct recompute_kernel {
  static constexpr int block_threads = 192;
  using params = array_params<int>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    int sum = 0;
    for (int turn = 0; turn < 5; ++turn) sum += pf::recomputed(pf::thread_rank() - 7) * turn;
    p.out[pf::block_rank() * block_threads + pf::thread_rank()] = sum;
  }
};

struct ballot_kernel {
  static constexpr int block_threads = 128;
  using params = array_params<int>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    constexpr int n = pf::wave_size;
    const std::uint64_t all = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (n % 64)) - 1;
    int wrong = 0;
    wrong += pf::wave_ballot(true) == all ? 0 : 1;
    wrong += pf::wave_ballot(false) == 0 ? 0 : 1;
    for (int i = 0; i < n; ++i)
      wrong += pf::wave_ballot(pf::lane_rank() == i) == std::uint64_t{1} << i ? 0 : 1;
    pf::wave_sync();
    const std::uint64_t odd = pf::wave_ballot(pf::lane_rank() % 2 == 1);
    wrong += odd == (0xaaaaaaaaaaaaaaaau & all) ? 0 : 1;
    p.out[pf::thread_rank()] = wrong;
  }
};
TEST_F(Device, AValueIsTheSameWhenComputedAnew) {
  std::vector<int> expected;
  for (int i = 0; i < 2 * 192; ++i) expected.push_back((i % 192 - 7) * 10);
  EXPECT_EQ((run<recompute_kernel, int>(2, 2 * 192)), expected);
}
TEST_F(Device, BallotHasOneBitALane) {
  EXPECT_EQ((run<ballot_kernel, int>(1, 128)), std::vector<int>(128, 0));
}

// ---- workgroups --------------------------------------------------------------------------------

/// Passes values around the workgroup through shared memory, many times.
template <int Threads>
struct ring_kernel {
  static constexpr int block_threads = Threads;
  using params = array_params<int>;
  struct shared {
    int value[2][static_cast<std::size_t>(Threads)];
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    const int t = pf::thread_rank();
    int value = t;
    for (int round = 0; round < 20; ++round) {
      s.value[round % 2][t] = value;
      pf::block_sync();
      value = s.value[round % 2][(t + 1) % Threads];
    }
    p.out[pf::block_rank() * Threads + t] = value;
  }
};
template <int Threads>
void expect_ring(const std::vector<int>& out) {
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], (static_cast<int>(i) + 20) % Threads);
}
TEST_F(Device, BlockSyncOrdersSharedMemory) {
  expect_ring<1>(run<ring_kernel<1>, int>(1, 1));
  expect_ring<100>(run<ring_kernel<100>, int>(1, 100));
  expect_ring<256>(run<ring_kernel<256>, int>(1, 256));
  expect_ring<1024>(run<ring_kernel<1024>, int>(1, 1024));
}

struct any_kernel {
  static constexpr int block_threads = 300;
  using params = array_params<int>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int t = pf::thread_rank();
    int wrong = 0;
    for (int i = 0; i < block_threads; i += 7) {
      wrong += pf::block_any(t == i) ? 0 : 1;
      wrong += pf::block_any(false) ? 1 : 0;
    }
    wrong += pf::block_any(true) ? 0 : 1;
    p.out[t] = wrong;
  }
};
TEST_F(Device, BlockAnySeesOneVote) {
  EXPECT_EQ((run<any_kernel, int>(1, 300)), std::vector<int>(300, 0));
}

/// Whole waves that have ended do not hold up the barrier.
struct early_kernel {
  static constexpr int block_threads = 4 * pf::wave_size;
  using params = array_params<int>;
  struct shared {
    int sum;
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    if (pf::wave_rank() == 1) return;
    if (pf::thread_rank() == 0) s.sum = 0;
    pf::block_sync();
    if (pf::wave_rank() == 2) return;
    pf::atomic_fetch_add<order::relaxed, scope::workgroup>(&s.sum, 1);
    pf::block_sync();
    if (pf::thread_rank() == 0) p.out[0] = s.sum;
  }
};
TEST_F(Device, EndedWavesDoNotCount) {
  EXPECT_EQ((run<early_kernel, int>(1, 1))[0], 2 * pf::wave_size);
}

// ---- time --------------------------------------------------------------------------------------

struct clock_kernel {
  static constexpr int block_threads = 1;
  using params = array_params<std::uint64_t>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const std::uint64_t start = pf::clock_ns();
    std::uint64_t now = start;
    bool monotonic = true;
    while (now - start < 20'000'000) {
      pf::pause();
      const std::uint64_t next = pf::clock_ns();
      monotonic = monotonic && next >= now;
      now = next;
    }
    p.out[0] = now - start;
    p.out[1] = monotonic ? 1 : 0;
  }
};
TEST_F(Device, ClockCountsNanoseconds) {
  (void)run<clock_kernel, std::uint64_t>(1, 2);  // the first launch loads code
  const auto start = std::chrono::steady_clock::now();
  const auto out = run<clock_kernel, std::uint64_t>(1, 2);
  const std::chrono::duration<double, std::milli> host = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(out[1], 1u);
  EXPECT_GE(out[0], 20'000'000u);
  EXPECT_GE(host.count(), 19.0);  // a clock that runs 5 % fast would show
  EXPECT_LT(host.count(), 2000.0);
}

struct count_kernel {
  static constexpr int block_threads = 64;
  using params = array_params<int>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    pf::count(pf::counter::signals, 1);  // changes nothing that a kernel can see
    p.out[pf::thread_rank()] = 7;
  }
};
TEST_F(Device, CountIsHarmless) {
  EXPECT_EQ((run<count_kernel, int>(1, 64)), std::vector<int>(64, 7));
}

}  // namespace
