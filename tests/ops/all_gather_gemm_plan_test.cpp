// SPDX-License-Identifier: MIT
#include "hiris/ops/all_gather_gemm_plan.hpp"

#include <gtest/gtest.h>

#include <string>

using hiris::all_gather_gemm_problem;
using hiris::strategy;
using hiris::taxes;

TEST(Plan, PicksTheSmallestTileThatHoldsTheRows) {
  EXPECT_EQ(hiris::choose_tile(1), hiris::tile_choice::skinny);
  EXPECT_EQ(hiris::choose_tile(16), hiris::tile_choice::skinny);
  EXPECT_EQ(hiris::choose_tile(17), hiris::tile_choice::medium);
  EXPECT_EQ(hiris::choose_tile(64), hiris::tile_choice::medium);
  EXPECT_EQ(hiris::choose_tile(65), hiris::tile_choice::square);
  EXPECT_EQ(hiris::choose_tile(128), hiris::tile_choice::square);
  EXPECT_EQ(hiris::choose_tile(129), hiris::platform::wave_size == 64 ? hiris::tile_choice::large
                                                                      : hiris::tile_choice::square);
}

TEST(Plan, ChoosesByShape) {
  EXPECT_EQ(hiris::choose_strategy({16, 28672, {8192}}), strategy::push);
  EXPECT_EQ(hiris::choose_strategy({4096, 128, {64, 64}}), strategy::pull);
  EXPECT_EQ(hiris::choose_strategy({8, 28672, {64, 64}}), strategy::pull);
  EXPECT_EQ(hiris::choose_strategy({9, 28672, {64, 64}}), strategy::push_fused);
  EXPECT_EQ(hiris::choose_strategy({4096, 28672, {64, 64}}), strategy::push_fused);
}

TEST(Plan, StatesTheTaxesOfThePaperShape) {
  const all_gather_gemm_problem p{16, 28672, std::vector<std::int64_t>(8, 1024)};
  const std::int64_t shipped = 7 * 16 * 1024 * 2;
  EXPECT_EQ(hiris::plan_taxes(p, strategy::bulk_synchronous, 3),
            (taxes{3, 1, shipped, shipped, 0}));
  EXPECT_EQ(hiris::plan_taxes(p, strategy::push, 3), (taxes{2, 0, shipped, shipped, 7 + 7}));
  EXPECT_EQ(hiris::plan_taxes(p, strategy::push_fused, 3), (taxes{1, 0, shipped, shipped, 7 + 7}));
  EXPECT_EQ(hiris::plan_taxes(p, strategy::pull, 3),
            (taxes{1, 0, 0, 28672 / 128 * shipped + 7 * 8, 14}));
}

TEST(Plan, OneRankPaysForOneLaunch) {
  for (strategy s :
       {strategy::bulk_synchronous, strategy::pull, strategy::push, strategy::push_fused})
    EXPECT_EQ(hiris::plan_taxes({7, 9, {11}}, s, 0), (taxes{1, 0, 0, 0, 0})) << to_string(s);
}

TEST(Plan, ARankWithoutColumnsShipsNothing) {
  const all_gather_gemm_problem p{7, 9, {11, 0}};
  EXPECT_EQ(hiris::plan_taxes(p, strategy::push, 1), (taxes{1, 0, 0, 0, 1}));
  EXPECT_EQ(hiris::plan_taxes(p, strategy::bulk_synchronous, 1), (taxes{2, 1, 0, 0, 0}));
  EXPECT_EQ(hiris::plan_taxes(p, strategy::pull, 1), (taxes{1, 0, 0, 7 * 11 * 2, 1}));
  EXPECT_EQ(hiris::plan_taxes(p, strategy::push, 0), (taxes{2, 0, 7 * 16 * 2, 7 * 16 * 2, 2}));
}
