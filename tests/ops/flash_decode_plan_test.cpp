// SPDX-License-Identifier: MIT
#include "hiris/ops/flash_decode_plan.hpp"

#include <gtest/gtest.h>

namespace {

using hiris::flash_decode_plan;
using hiris::flash_decode_variant;
using hiris::taxes;

TEST(FlashDecodePlan, CutsHeadsIntoGroupsOfSixteen) {
  const flash_decode_plan d = hiris::plan_flash_decode(
      {.batch = 3, .q_heads = 96, .kv_heads = 2, .head_dim = 128, .max_kv_len = 1000}, 100);
  EXPECT_EQ(d.ratio, 48);
  EXPECT_EQ(d.groups_a_head, 3);
  EXPECT_EQ(d.groups, 18);
  EXPECT_EQ(d.lse_floats, 16);
  EXPECT_EQ(d.record_floats, 16 + 16 * 128);
  EXPECT_EQ(hiris::plan_flash_decode({.q_heads = 3, .head_dim = 64}, 1).record_floats, 4 + 3 * 64);
}

TEST(FlashDecodePlan, SplitsKeysToFillTheDevice) {
  hiris::flash_decode_problem p{.q_heads = 96, .kv_heads = 8, .head_dim = 128, .max_kv_len = 32768};
  EXPECT_EQ(hiris::plan_flash_decode(p, 264).splits, 33);
  EXPECT_EQ(hiris::plan_flash_decode(p, 4).splits, 1);
  EXPECT_EQ(hiris::plan_flash_decode(p, 264, 7).splits, 7);
  p.max_kv_len = 1000;  // two steps a split at least
  EXPECT_EQ(hiris::plan_flash_decode(p, 264).splits, 8);
  p.max_kv_len = 0;
  EXPECT_EQ(hiris::plan_flash_decode(p, 264).splits, 1);
}

TEST(FlashDecodePlan, StatesTheTaxesOfThePaperShape) {
  const flash_decode_plan d = hiris::plan_flash_decode(
      {.q_heads = 96, .kv_heads = 8, .head_dim = 128, .max_kv_len = 32768}, 264);
  const std::int64_t own = 8 * (12 + 12 * 128) * 4;
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::bulk_synchronous, 8),
            (taxes{4, 1, 8 * own, 7 * own, 0}));
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::independent_gather, 8),
            (taxes{3, 0, 8 * own, 7 * own, 7 * 8}));
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::fine_grained, 8),
            (taxes{3, 0, 8 * own, 7 * own, 7 * 8}));
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::fused, 8),
            (taxes{1, 0, 7 * own, 7 * own, 8 * 8}));
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::fused, 1), (taxes{1, 0, 0, 0, 8}));
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::fine_grained, 1),
            (taxes{2, 0, own, 0, 0}));
}

/// Whole records travel, of which only the rows that are real are read.
TEST(FlashDecodePlan, StagesWhatIsReadAndShipsWhatIsSent) {
  const flash_decode_plan d = hiris::plan_flash_decode(
      {.batch = 3, .q_heads = 34, .kv_heads = 2, .head_dim = 80, .max_kv_len = 100}, 264);
  const std::int64_t own = 3 * 34 * (1 + 80) * 4;
  const std::int64_t record = (16 + 16 * 80) * 4;  // groups of 16 heads, and of 1
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::fused, 3),
            (taxes{1, 0, 2 * own, 2 * 12 * record, 3 * 12}));
  EXPECT_EQ(hiris::flash_decode_taxes(d, flash_decode_variant::fine_grained, 3),
            (taxes{3, 0, 3 * own, 2 * 12 * record, 2 * 12}));
}

}  // namespace
