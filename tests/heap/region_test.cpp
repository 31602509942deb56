// SPDX-License-Identifier: MIT
#include "hiris/heap/region.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::symmetric_heap;
using hiris::symmetric_region;
using hiris::world;
using hiris::platform::device_buffer;
using hiris::test::expect_error;
using hiris::test::on_ranks;
using hiris::test::to_host;

using Region = hiris::test::device_test;

constexpr hiris::heap_options small{.data_bytes = 4096, .signals = 8};

/// Reads a peer's region into memory of this rank.
struct fetch_kernel {
  static constexpr int block_threads = 64;
  struct params {
    hiris::context ctx;
    std::int32_t* mine;
    std::int32_t* result;  // [size, n]
    int n;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    for (int i = hiris::platform::thread_rank(); i < p.ctx.size * p.n; i += block_threads)
      p.result[i] = hiris::platform::peer_load(p.ctx.on(i / p.n, p.mine + i % p.n));
  }
};

std::vector<std::int32_t> numbered(int rank, int n) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 10000 * rank);
  return values;
}

/// What every member's region holds, as this rank's kernels see it. `members[r]` is rank r.
void expect_contents(hiris::context ctx, std::int32_t* mine, int n,
                     const std::vector<int>& members) {
  const hiris::platform::owned_stream stream;
  device_buffer<std::int32_t> result(members.size() * static_cast<std::size_t>(n));
  hiris::platform::launch<fetch_kernel>(stream, 1, {ctx, mine, result.data(), n});
  stream.synchronize();
  std::vector<std::int32_t> expected;
  for (const int r : members) {
    const auto theirs = numbered(r, n);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  EXPECT_EQ(result.to_host(), expected);
}

TEST_F(Region, IsReachedAtAnotherBaseOnEveryRank) {
  for (const int n : {1, 2, 3, 5, 37, 1000})
    on_ranks(4, [n](const world& w) {
      symmetric_heap heap(w, small);
      const auto shift = static_cast<std::size_t>(3 * w.rank());
      device_buffer<std::int32_t> memory(static_cast<std::size_t>(n) + 16);
      std::int32_t* mine = memory.data() + shift;
      hiris::test::to_device(mine, numbered(w.rank(), n));
      auto region = heap.attach(mine, n);
      EXPECT_EQ(region.data(), mine);
      EXPECT_EQ(region.size(), n);
      EXPECT_TRUE(region.contains(mine + n - 1));
      EXPECT_FALSE(region.contains(mine + n));
      EXPECT_FALSE(region.contains(nullptr));
      EXPECT_EQ(to_host(mine, n), numbered(w.rank(), n));  // the proof has left no trace
      std::vector<int> everybody(static_cast<std::size_t>(w.size()));
      std::iota(everybody.begin(), everybody.end(), 0);
      expect_contents(heap.device_context(region), mine, n, everybody);
      heap.detach(std::move(region));
    });
}

TEST_F(Region, ATeamReachesItsMembersOnly) {
  on_ranks(5, [](const world& w) {
    symmetric_heap heap(w, small);
    const int n = 7;
    device_buffer<std::int32_t> memory(static_cast<std::size_t>(n));
    memory.copy_from(numbered(w.rank(), n));
    const auto region = heap.attach(memory.data(), n);
    const world odd_or_even = w.split(w.rank() % 2, -w.rank());  // highest rank first
    const std::vector<int> members =
        w.rank() % 2 ? std::vector<int>{3, 1} : std::vector<int>{4, 2, 0};
    const hiris::context ctx = heap.device_context(region, odd_or_even);
    EXPECT_EQ(ctx.size, static_cast<int>(members.size()));
    EXPECT_EQ(members[static_cast<std::size_t>(ctx.rank)], w.rank());
    expect_contents(ctx, memory.data(), n, members);
    EXPECT_EQ(heap.device_context(region, odd_or_even).windows, ctx.windows);
    w.barrier("regions are read");
  });
}

TEST_F(Region, OverlappingAndRepeatedRegistrations) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, small);
    device_buffer<std::int32_t> memory(100);
    memory.copy_from(numbered(w.rank(), 100));
    auto whole = heap.attach(memory.data(), 100);
    auto part = heap.attach(memory.data() + 50, 10);
    whole = {};
    auto again = heap.attach(memory.data(), 100);
    expect_contents(heap.device_context(again), memory.data(), 100, {0, 1});
    w.barrier("regions are read");
    heap.detach(std::move(part));
    heap.detach(std::move(again));
    EXPECT_EQ(memory.to_host(), numbered(w.rank(), 100));
  });
}

TEST_F(Region, BadMemoryIsRefusedOnAllRanks) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, small);
    device_buffer<std::int32_t> memory(100);
    memory.copy_from(numbered(w.rank(), 100));
    const bool odd = w.rank() == 1;
    std::int32_t on_host[100] = {};
    expect_error(errc::invalid_argument, 1, {"400 bytes", "null", "device memory"},
                 [&] { heap.attach(odd ? nullptr : memory.data(), 100); });
    expect_error(errc::invalid_argument, 1, {"400 bytes", "device memory"},
                 [&] { heap.attach(odd ? on_host : memory.data(), 100); });
    expect_error(errc::invalid_argument, 0, {"4000000000 bytes", "device memory"},
                 [&] { heap.attach(memory.data(), 1'000'000'000); });
    expect_error(errc::invalid_argument, 0, {"0 elements"}, [&] { heap.attach(memory.data(), 0); });
    expect_error(errc::invalid_argument, 1, {"-1 elements"},
                 [&] { heap.attach(memory.data(), odd ? -1 : 1); });
    expect_error(errc::mismatch, 1, {"5 elements", "6 elements"},
                 [&] { heap.attach(memory.data(), odd ? 5 : 6); });
    expect_error(errc::not_symmetric, w.rank(), {"empty"},
                 [&] { heap.device_context(symmetric_region<int>()); });
    symmetric_heap other(w, small);
    auto of_other = other.attach(memory.data(), 10);
    expect_error(errc::not_symmetric, w.rank(), {"another heap"},
                 [&] { heap.device_context(of_other); });
    EXPECT_NO_THROW(other.device_context(of_other));
    other.detach(std::move(of_other));
    EXPECT_EQ(memory.to_host(), numbered(w.rank(), 100));
    EXPECT_FALSE(hiris::platform::has_last_error());
  });
}

}  // namespace
