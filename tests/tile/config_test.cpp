// SPDX-License-Identifier: MIT
#include "hiris/tile/config.hpp"

#include <gtest/gtest.h>

namespace tile = hiris::tile;

template <class Tile>
void expect_sound() {
  EXPECT_LE(tile::stage_bytes<Tile>() * Tile::stages, 64 * 1024) << "a compute unit has 64 KiB";
  EXPECT_EQ(Tile::m & (Tile::m - 1), 0) << "rows are cut by shifts";
  EXPECT_EQ(Tile::k & (Tile::k - 1), 0) << "so is k";
  EXPECT_GE(Tile::group_m, 1);
}

TEST(TileConfig, FitsEveryDevice) {
  expect_sound<tile::skinny>();
  expect_sound<tile::medium>();
  expect_sound<tile::square>();
  expect_sound<tile::large>();
  EXPECT_EQ(tile::stage_bytes<tile::square>(), 32 * 1024);
}
