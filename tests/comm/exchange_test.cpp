// SPDX-License-Identifier: MIT
#include "hiris/comm/exchange.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hiris/platform/float16.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

struct answer {
  std::int64_t offset, stride;
  int k_count, tile;
};

/// Where a position lies: in the inbox, or in place for the rank's own shard.
struct view_kernel {
  static constexpr int block_threads = 64;
  struct params {
    comm::exchange<float16> x;
    comm::position at;
    std::uint64_t epoch;
    answer* to;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    comm::source_view<float16> view;
    const bool own = p.at.source == p.x.ctx.rank;
    if (own)
      view.enter_own(p.x);
    else
      view.enter_inbox(p.x, p.at.source, p.epoch);
    const auto strip = view.strip(p.at);
    if (platform::thread_rank() == 0)
      *p.to = {strip.data - (own ? p.x.a : p.x.inbox), strip.stride, strip.k_count,
               view.tile_of(p.x, p.at)};
  }
};

using Exchange = test::device_test;

TEST_F(Exchange, FindsEveryStep) {
  const comm::geometry g = comm::make_geometry(40, {100, 300, 7}, 16, 64, 128);
  platform::device_buffer<comm::shard> shards(g.shards.size());
  shards.copy_from(g.shards);
  platform::device_buffer<float16> memory(16);
  platform::device_buffer<answer> to(1);
  comm::exchange<float16> x{};
  x.ctx.rank = 1;
  x.ctx.size = 3;
  x.shards = shards.data();
  x.a = x.inbox = memory.data();
  x.slot_elems = g.slot_elems;
  x.m = 40;
  x.tiles_m = g.tiles_m;
  x.rows_shift = g.rows_shift;
  x.k_shift = g.k_shift;
  const platform::owned_stream stream;
  const auto ask = [&](comm::position at, std::uint64_t epoch) {
    platform::launch<view_kernel>(stream, 1, {x, at, epoch, to.data()});
    stream.synchronize();
    return to.to_host()[0];
  };
  const answer own = ask({1, 16, 16, 256}, 5);
  EXPECT_EQ(own.offset, 16 * 300 + 256);
  EXPECT_EQ(own.stride, 300);
  EXPECT_EQ(own.k_count, 300 - 256) << "in place, the shard ends where it ends";
  EXPECT_EQ(own.tile, g.shards[1].first_tile + 1 * 3 + 2);
  for (const std::uint64_t epoch : {std::uint64_t{6}, std::uint64_t{7}}) {
    const comm::shard& s = g.shards[2];
    const answer theirs = ask({2, 32, 8, 0}, epoch);
    EXPECT_EQ(theirs.offset, static_cast<std::int64_t>(epoch % 2) * g.slot_elems + s.inbox_begin +
                                 32 * s.inbox_stride);
    EXPECT_EQ(theirs.stride, s.inbox_stride);
    EXPECT_GE(theirs.k_count, 64) << "padded to whole steps";
    EXPECT_EQ(theirs.tile, s.first_tile + 2);
  }
}

}  // namespace
