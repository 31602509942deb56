// SPDX-License-Identifier: MIT
/// @file
/// What every set-up channel must do, for any number of ranks. Collective over the ranks.
///
///     run_ranks(3, [](std::shared_ptr<bootstrap> boot) { conform(*boot); });
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "hiris/bootstrap/bootstrap.hpp"
#include "support/errors.hpp"

namespace hiris::test {

inline void gathers_in_rank_order(bootstrap& boot) {
  const auto n = static_cast<std::size_t>(boot.size());
  std::vector<int> all(n, -1);
  for (int round = 0; round < 50; ++round) {
    const int mine = 100 * round + boot.rank();
    boot.all_gather(&mine, all.data(), sizeof mine, "round");
    for (std::size_t r = 0; r < n; ++r) ASSERT_EQ(all[r], 100 * round + static_cast<int>(r));
  }
}

inline void gathers_nothing_and_much(bootstrap& boot) {
  boot.all_gather(nullptr, nullptr, 0, "");
  boot.barrier(std::string(5000, 's'));
  for (const std::size_t elements : {std::size_t{1}, std::size_t{100'003}}) {
    const std::vector<int> mine(elements, 7 + boot.rank());
    std::vector<int> all(static_cast<std::size_t>(boot.size()) * elements);
    boot.all_gather(mine.data(), all.data(), elements * sizeof(int), "much");
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all[i], 7 + static_cast<int>(i / elements));
  }
}

/// Teams of the even and of the odd ranks in falling order; the last rank keeps out.
inline void splits_by_color_and_key(bootstrap& boot) {
  const int last = boot.size() - 1;
  const int color = boot.rank() == last && last > 0 ? -1 : boot.rank() % 2;
  const std::unique_ptr<bootstrap> team = boot.split(color, -boot.rank(), "teams");
  ASSERT_EQ(team == nullptr, color < 0);
  if (!team) return;
  std::vector<int> expected;
  for (int r = last > 0 ? last - 1 : 0; r >= 0; --r)
    if (r % 2 == color) expected.push_back(r);
  ASSERT_EQ(team->size(), static_cast<int>(expected.size()));
  const int mine = boot.rank();
  std::vector<int> all(expected.size());
  team->all_gather(&mine, all.data(), sizeof mine, "within the team");
  EXPECT_EQ(all, expected);
  EXPECT_EQ(all[static_cast<std::size_t>(team->rank())], mine);
  const std::unique_ptr<bootstrap> rest = team->split(team->rank() == 0 ? 3 : 1, 0, "again");
  EXPECT_EQ(rest->size(), team->rank() == 0 ? 1 : team->size() - 1);
  gathers_in_rank_order(*rest);
}

/// Equal keys keep the order of the ranks.
inline void splits_are_stable(bootstrap& boot) {
  const std::unique_ptr<bootstrap> team = boot.split(1 << 30, 5, "all");
  EXPECT_EQ(team->rank(), boot.rank());
  EXPECT_EQ(team->size(), boot.size());
}

/// Different calls are told to every rank, and do no harm.
inline void tells_different_calls_to_all(bootstrap& boot) {
  if (boot.size() < 2) return;
  const int odd_one = boot.size() - 1;
  const bool odd = boot.rank() == odd_one;
  const std::string name = "rank " + std::to_string(odd_one);
  std::vector<char> bytes(64 * static_cast<std::size_t>(boot.size()));
  const std::vector<char> mine(64);
  expect_error(errc::mismatch, odd_one, {"rank 0", "'a' with 4", name, "'a' with 5"},
               [&] { boot.all_gather(mine.data(), bytes.data(), odd ? 5 : 4, "a"); });
  expect_error(errc::mismatch, odd_one, {"'a'", "'b'", name},
               [&] { boot.barrier(odd ? "b" : "a"); });
  boot.barrier("still usable");
}

inline void conform(bootstrap& boot) {
  ASSERT_GE(boot.rank(), 0);
  ASSERT_LT(boot.rank(), boot.size());
  gathers_in_rank_order(boot);
  gathers_nothing_and_much(boot);
  splits_by_color_and_key(boot);
  splits_are_stable(boot);
  tells_different_calls_to_all(boot);
  gathers_in_rank_order(boot);
}

}  // namespace hiris::test
