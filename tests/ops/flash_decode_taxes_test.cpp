// SPDX-License-Identifier: MIT
/// @file
/// What Flash Decode says it costs is what the emulator counts, to the byte.
#include "hiris/ops/flash_decode.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"
#include "support/statistics.hpp"

namespace {

using namespace hiris;
using test::decode_case;
using test::decode_rank;
using test::on_ranks;
using test::uneven;

using Taxes = test::device_test;

/// Vectors of ranks without keys of a sequence, which nobody reads after the kernel that has
/// written them, or a gather has sent them on.
std::int64_t unread_bytes(const decode_case& c, flash_decode_variant v, int rank) {
  std::int64_t empty = 0;
  for (const std::int32_t length : c.lengths[static_cast<std::size_t>(rank)]) empty += length == 0;
  const int peers = c.ranks() - 1;
  const int readers = peers > 0 || v == flash_decode_variant::fused ? peers : 1;
  return empty * readers * c.problem.q_heads * c.problem.head_dim * 4;
}

void expect_taxes(const decode_case& c, flash_decode_variant v) {
  on_ranks(c.ranks(), [&](const world& w) {
    ASSERT_EQ(w.ranks_on_device(), 1) << "counts are kept a device";
    symmetric_heap heap(w, {.data_bytes = 8 << 20, .signals = 512});
    decode_rank<float16> mine(w, heap, c, v);
    mine.fill(0);
    constexpr int calls = 3;
    w.barrier("start of counting");
    test::start_counting(w.device());
    w.barrier("counting has started");
    for (int call = 0; call < calls; ++call) {
      mine.run();
      mine.op().synchronize(mine.stream());
    }
    w.barrier("end of counting");
    const taxes sum = test::counted(w.device());
    test::stop_counting();
    const taxes stated = mine.op().expected_taxes();
    const std::string where = std::string(to_string(v)) + " rank " + std::to_string(w.rank());
    EXPECT_EQ(sum.launches, stated.launches * calls) << where;
    EXPECT_EQ(sum.global_barriers, stated.global_barriers * calls) << where;
    EXPECT_EQ(sum.staged_bytes, (stated.staged_bytes - unread_bytes(c, v, w.rank())) * calls)
        << where;
    EXPECT_EQ(sum.remote_bytes, stated.remote_bytes * calls) << where;
    EXPECT_EQ(sum.signals, stated.signals * calls) << where;
    w.barrier("end of a case");
  });
}

TEST_F(Taxes, AreWhatTheEmulatorCounts) {
  if (!test::can_count()) GTEST_SKIP() << "only the emulator counts";
  for (const flash_decode_variant v : test::all_variants)
    for (const int ranks : {1, 2, 5})
      for (const bool full : {true, false}) {
        decode_case c =
            uneven({.batch = 3, .q_heads = 34, .kv_heads = 2, .head_dim = 80}, ranks, 70);
        c.options.splits = ranks;
        for (auto& rank : c.lengths)
          if (full) rank.assign(rank.size(), 70);
        expect_taxes(c, v);
      }
}

}  // namespace
