// SPDX-License-Identifier: MIT
#include "hiris/comm/ship.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

/// Ships everything, and notes each shipment.
struct ship_all_kernel {
  static constexpr int block_threads = 256;
  struct params {
    comm::exchange<float16> x;
    std::uint64_t epoch;
    comm::shipment* log;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int items = comm::shipments(p.x);
    for (int i = platform::block_rank(); i < items; i += platform::block_count()) {
      const comm::shipment what = comm::shipment_at(p.x, i);
      comm::ship_tile(p.x, what.tile, what.peer, p.epoch);
      if (platform::thread_rank() == 0) p.log[i] = what;
    }
  }
};

/// @param skew Elements by which the shard is off its alignment.
void expect_shipped(std::int64_t m, const std::vector<std::int64_t>& k_shards, std::size_t skew) {
  const comm::geometry g = comm::make_geometry(m, k_shards, 16, 64, 128);
  const int ranks = static_cast<int>(k_shards.size());
  test::on_ranks(ranks, [&](const world& w) {
    const platform::device_guard guard(w.device());
    symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 8});
    auto inbox = heap.allocate<float16>(2 * g.slot_elems);
    platform::device_buffer<comm::shard> shards(g.shards.size());
    shards.copy_from(g.shards);
    const platform::owned_stream stream;
    platform::fill(inbox.data(), std::byte{0}, static_cast<std::size_t>(inbox.size()) * 2, stream);
    stream.synchronize();
    const auto value = [](int rank, std::int64_t row, std::int64_t k) {
      return static_cast<std::uint16_t>(rank * 9001 + row * 331 + k + 1);
    };
    const comm::shard& own = g.shards[static_cast<std::size_t>(w.rank())];
    std::vector<float16> shard(skew);
    for (std::int64_t row = 0; row < m; ++row)
      for (std::int64_t k = 0; k < own.k_count; ++k) shard.push_back({value(w.rank(), row, k)});
    platform::device_buffer<float16> a(shard.size() + 1);
    platform::copy_now(a.data(), shard.data(), shard.size() * 2);
    comm::exchange<float16> x{};
    x.ctx = heap.device_context();
    x.shards = shards.data();
    x.a = a.data() + skew;
    x.inbox = inbox.data();
    x.slot_elems = g.slot_elems;
    x.m = static_cast<int>(m);
    x.tiles_m = g.tiles_m;
    x.rows_shift = g.rows_shift;
    x.k_shift = g.k_shift;
    const std::size_t items = static_cast<std::size_t>((ranks - 1) * g.tiles_m * own.tiles_k);
    platform::device_buffer<comm::shipment> log(items + 1);
    w.barrier("inboxes are clean");
    platform::launch<ship_all_kernel>(stream, 3, {x, 1, log.data()});
    stream.synchronize();
    w.barrier("all has been shipped");
    std::set<std::pair<int, int>> shipped;
    for (std::size_t i = 0; i < items; ++i) {
      const comm::shipment s = log.to_host()[i];
      EXPECT_NE(s.peer, w.rank());
      shipped.emplace(s.peer, s.tile);
      EXPECT_EQ(s.peer, log.to_host()[i % static_cast<std::size_t>(ranks - 1)].peer)
          << "a stride of all peers keeps a workgroup with one";
    }
    EXPECT_EQ(shipped.size(), items);
    const auto got = test::to_host(inbox.data(), inbox.size());
    for (std::int64_t i = 0; i < g.slot_elems; ++i)
      ASSERT_EQ(got[static_cast<std::size_t>(i)].bits, 0) << "the other slot";
    for (int source = 0; source < ranks; ++source) {
      const comm::shard& s = g.shards[static_cast<std::size_t>(source)];
      for (std::int64_t row = 0; s.k_count > 0 && row < comm::round_up(m, 16); ++row)
        for (std::int64_t k = 0; k < s.inbox_stride; ++k) {
          const auto at =
              static_cast<std::size_t>(g.slot_elems + s.inbox_begin + row * s.inbox_stride + k);
          const bool real = source != w.rank() && row < m && k < s.k_count;
          ASSERT_EQ(got[at].bits, real ? value(source, row, k) : 0)
              << "on " << w.rank() << " from " << source << " row " << row << " k " << k;
        }
    }
  });
}

using Ship = test::device_test;

TEST_F(Ship, EveryElementArrivesAndThePaddingStaysZero) {
  expect_shipped(16, {128, 64}, 0);
  expect_shipped(5, {130, 0, 9, 1}, 0);
  expect_shipped(40, {300, 77}, 0);
  expect_shipped(17, {128, 128}, 1);
}

}  // namespace
