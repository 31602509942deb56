// SPDX-License-Identifier: MIT
/// @file
/// What an op says it costs is what the emulator counts, to the byte.
#include "hiris/ops/all_gather_gemm.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/all_gather_gemm_case.hpp"
#include "support/device_test.hpp"
#include "support/statistics.hpp"

namespace {

using namespace hiris;
using test::gemm_rank;
using test::on_ranks;

using Taxes = test::device_test;

void expect_taxes(const all_gather_gemm_problem& p, strategy s) {
  const int ranks = static_cast<int>(p.k_shards.size());
  std::vector<taxes> stated(static_cast<std::size_t>(ranks));
  std::vector<taxes> counted(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](const world& w) {
    ASSERT_EQ(w.ranks_on_device(), 1) << "counts are kept a device";
    symmetric_heap heap(w, {.data_bytes = 16 << 20, .signals = 512});
    gemm_rank<float16> mine(w, heap, p, s);
    constexpr int calls = 3;
    w.barrier("start of counting");
    test::start_counting(w.device());
    w.barrier("counting has started");
    for (std::uint64_t call = 0; call < calls; ++call) {
      mine.fill_a(call);
      mine.run();
      mine.op().synchronize(mine.stream());
    }
    w.barrier("end of counting");
    const taxes sum = test::counted(w.device());
    test::stop_counting();
    const auto me = static_cast<std::size_t>(w.rank());
    stated[me] = mine.op().expected_taxes();
    counted[me] = {sum.launches / calls, sum.global_barriers / calls, sum.staged_bytes / calls,
                   sum.remote_bytes / calls, sum.signals / calls};
    EXPECT_EQ(sum.staged_bytes % calls, 0);
    EXPECT_EQ(sum.remote_bytes % calls, 0);
    EXPECT_EQ(sum.signals % calls, 0);
  });
  for (std::size_t r = 0; r < stated.size(); ++r) {
    const std::string where = std::string(to_string(s)) + " rank " + std::to_string(r);
    EXPECT_EQ(counted[r].launches, stated[r].launches) << where;
    EXPECT_EQ(counted[r].global_barriers, stated[r].global_barriers) << where;
    EXPECT_EQ(counted[r].staged_bytes, stated[r].staged_bytes) << where;
    EXPECT_EQ(counted[r].remote_bytes, stated[r].remote_bytes) << where;
    EXPECT_EQ(counted[r].signals, stated[r].signals) << where;
  }
}

TEST_F(Taxes, AreWhatTheEmulatorCounts) {
  if (!test::can_count()) GTEST_SKIP() << "only the emulator counts";
  for (strategy s : test::all_strategies) {
    expect_taxes({16, 256, {128, 128}}, s);
    expect_taxes({5, 300, {129, 8, 0, 257}}, s);
    expect_taxes({130, 40, {33, 700}}, s);
    expect_taxes({3, 7, {10}}, s);
  }
}

}  // namespace
