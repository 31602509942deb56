// SPDX-License-Identifier: MIT
#include "hiris/comm/shard.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace comm = hiris::comm;

namespace {

using columns = std::vector<std::int64_t>;

/// Every element of every shard lies in exactly one tile, and areas of the inbox do not overlap.
void expect_sound(std::int64_t m, const columns& k_shards, int block_m, int block_k, int chunk_k) {
  const comm::geometry g = comm::make_geometry(m, k_shards, block_m, block_k, chunk_k);
  ASSERT_EQ(g.shards.size(), k_shards.size());
  EXPECT_LE(g.tiles, comm::max_tiles);
  EXPECT_GE(std::int64_t{g.tiles_m} << g.rows_shift, m);
  EXPECT_EQ((1 << g.rows_shift) % block_m, 0);
  EXPECT_EQ((1 << g.k_shift) % block_k, 0);
  std::int64_t k = 0, end = 0;
  int tiles = 0;
  for (std::size_t s = 0; s < k_shards.size(); ++s) {
    const comm::shard& shard = g.shards[s];
    EXPECT_EQ(shard.k_count, k_shards[s]);
    EXPECT_EQ(shard.k_begin, k);
    EXPECT_EQ(shard.first_tile, tiles);
    EXPECT_EQ(shard.tiles_k, (k_shards[s] + (1 << g.k_shift) - 1) >> g.k_shift);
    if (k_shards[s] > 0 && k_shards.size() > 1) {
      EXPECT_EQ(shard.inbox_begin, end);
      EXPECT_GE(shard.inbox_stride, comm::round_up(k_shards[s], block_k));
      EXPECT_EQ(shard.inbox_stride % 8, 0);
      EXPECT_NE(shard.inbox_stride % 256, 0) << "rows of one memory channel";
      end += comm::round_up(m, block_m) * shard.inbox_stride;
    }
    k += k_shards[s];
    tiles += shard.tiles_k * g.tiles_m;
  }
  EXPECT_EQ(g.tiles, tiles);
  EXPECT_EQ(g.slot_elems, end);
}

}  // namespace

TEST(Shard, CutsAwkwardShapes) {
  expect_sound(1, {1}, 16, 128, 2048);
  expect_sound(16, columns(8, 1024), 16, 128, 2048);
  expect_sound(5, {0, 1, 0, 7}, 16, 128, 2048);
  expect_sound(129, {100, 33, 513}, 128, 64, 512);
  expect_sound(4096, columns(8, 1024), 128, 64, 512);
}

TEST(Shard, NeverNeedsMoreSignalsThanAWorkgroupRemembers) {
  expect_sound(1 << 20, columns(8, 1024), 128, 64, 512);
  expect_sound(1 << 20, columns(8, 1 << 17), 128, 64, 512);
  expect_sound(3, columns(comm::max_tiles, 5000), 16, 128, 2048);
  expect_sound(16, {1 << 29, 1 << 29}, 16, 128, 2048);
}

TEST(Shard, OneRankNeedsNoInbox) {
  EXPECT_EQ(comm::make_geometry(100, {100}, 128, 64, 512).slot_elems, 0);
}
