// SPDX-License-Identifier: MIT
#include "hiris/tile/schedule.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace tile = hiris::tile;

TEST(Schedule, VisitsEveryTileOnce) {
  for (int m_blocks : {1, 2, 3, 8, 9, 17})
    for (int n_blocks : {1, 2, 5, 16, 23})
      for (int group_m : {1, 4, 8})
        for (int dies : {1, 8}) {
          const tile::schedule s{m_blocks, n_blocks, group_m, dies};
          std::set<std::pair<int, int>> seen;
          for (int t = 0; t < s.tiles(); ++t) {
            const auto [m, n] = s.at(t);
            ASSERT_TRUE(m >= 0 && m < m_blocks && n >= 0 && n < n_blocks)
                << m << ' ' << n << " of " << m_blocks << ' ' << n_blocks;
            seen.emplace(m, n);
          }
          EXPECT_EQ(static_cast<int>(seen.size()), s.tiles())
              << m_blocks << ' ' << n_blocks << ' ' << group_m << ' ' << dies;
        }
}

TEST(Schedule, RoundsUpToWholeTiles) {
  const tile::schedule s = tile::make_schedule(129, 1, 128, 128, 8, 1);
  EXPECT_EQ(s.m_blocks, 2);
  EXPECT_EQ(s.n_blocks, 1);
}

TEST(Schedule, NeighboursInTimeShareColumnsOfB) {
  const tile::schedule s{16, 10, 8, 1};
  for (int t = 0; t < 8; ++t) EXPECT_EQ(s.at(t).n, 0);
  EXPECT_EQ(s.at(8).n, 1);
}

TEST(Schedule, ADieGetsAContiguousRun) {
  const tile::schedule plain{1, 70, 1, 1};
  const tile::schedule dealt{1, 70, 1, 8};
  for (int t = 0; t < 70; t += 8)  // die 0 walks the first columns in order
    EXPECT_EQ(dealt.at(t).n, plain.at(t / 8).n);
}

TEST(Source, OwnFirstAndEveryTurnAnotherForEveryRank) {
  for (int world : {1, 2, 5, 8})
    for (int turn = 0; turn < world; ++turn) {
      std::set<int> sources;
      for (int rank = 0; rank < world; ++rank) sources.insert(tile::source_at(turn, rank, world));
      EXPECT_EQ(static_cast<int>(sources.size()), world);
      EXPECT_EQ(tile::source_at(0, world - 1, world), world - 1);
    }
}
