// SPDX-License-Identifier: MIT
#include "hiris/heap/detail/block_ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using hiris::detail::block_ledger;

TEST(BlockLedger, ABlockIsFreeOnceAllRanksHaveToldSo) {
  block_ledger ledger(1000, 3);
  const auto at = ledger.allocate(600, 1);
  ASSERT_TRUE(at.has_value());
  EXPECT_TRUE(ledger.holds(*at, 600));
  EXPECT_FALSE(ledger.holds(*at, 601));
  EXPECT_FALSE(ledger.holds(*at + 600, 1));
  ledger.retire(*at);
  ledger.retire(*at);  // counts once
  EXPECT_FALSE(ledger.holds(*at, 1));
  EXPECT_EQ(ledger.untold(), std::vector<std::uint64_t>{*at});
  ledger.absorb({{}, {*at}, {*at}}, 1);
  EXPECT_TRUE(ledger.untold().empty());
  EXPECT_EQ(ledger.use().waiting_bytes, 600u);
  EXPECT_EQ(ledger.allocate(600, 1), std::nullopt);
  ledger.absorb({{*at}, {}, {}}, 1);
  EXPECT_EQ(ledger.use().waiting_bytes, 0u);
  EXPECT_EQ(ledger.use().blocks, 0u);
  EXPECT_EQ(ledger.allocate(1000, 1), 0u);
}

TEST(BlockLedger, WhatIsRetiredDuringAnExchangeIsToldInTheNext) {
  block_ledger ledger(1000, 2);
  const auto a = ledger.allocate(10, 1), b = ledger.allocate(10, 1);
  ledger.retire(*a);
  const auto told = ledger.untold();
  ledger.retire(*b);  // by another thread, between telling and taking
  ledger.absorb({told, {*b}}, 0);
  EXPECT_EQ(ledger.untold(), std::vector<std::uint64_t>{*b});
}

// Replicas that hear the same stay the same, whatever each retires by itself.
TEST(BlockLedger, ReplicasStayEqual) {
  constexpr int ranks = 3;
  std::vector<block_ledger*> replicas;
  block_ledger r0(5000, ranks), r1(5000, ranks), r2(5000, ranks);
  replicas = {&r0, &r1, &r2};
  std::mt19937 random(3);
  std::vector<std::vector<std::uint64_t>> live(ranks);
  for (int step = 0; step < 2000; ++step) {
    std::vector<std::vector<std::uint64_t>> told;
    for (const block_ledger* r : replicas) told.push_back(r->untold());
    for (int r = 0; r < ranks; ++r) replicas[static_cast<std::size_t>(r)]->absorb(told, r);
    const std::uint64_t bytes = 1 + random() % 600, alignment = std::uint64_t{1} << (random() % 8);
    const auto at = r0.allocate(bytes, alignment);
    ASSERT_EQ(r1.allocate(bytes, alignment), at);
    ASSERT_EQ(r2.allocate(bytes, alignment), at);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (at) live[r].push_back(*at);
      std::shuffle(live[r].begin(), live[r].end(), random);
      for (std::size_t n = random() % 3; n > 0 && !live[r].empty(); --n) {
        replicas[r]->retire(live[r].back());
        live[r].pop_back();
      }
    }
  }
}

TEST(BlockLedger, HandlesMayEndOnAnyThread) {
  block_ledger ledger(1 << 20, 1);
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(*ledger.allocate(100, 1));
  std::thread other([&] {
    for (std::size_t i = 0; i < 500; ++i) ledger.retire(blocks[i]);
  });
  for (std::size_t i = 500; i < 1000; ++i) ledger.retire(blocks[i]);
  other.join();
  ledger.absorb({ledger.untold()}, 0);
  EXPECT_EQ(ledger.use().free_bytes, 1u << 20);
}

TEST(BlockLedger, WhatARankCannotBeDoneWithIsFound) {
  block_ledger ledger(1000, 3);
  const std::uint64_t a = *ledger.allocate(100, 1), b = *ledger.allocate(100, 1);
  const auto wrong = [&](const std::vector<std::vector<std::uint64_t>>& told) {
    const auto found = ledger.first_wrong(told);
    return found ? std::make_pair(found->rank, found->offset) : std::make_pair(-1, 0ul);
  };
  EXPECT_EQ(wrong({{a}, {b, a}, {}}).first, -1);
  EXPECT_EQ(wrong({{a}, {b, b + 1}, {}}), std::make_pair(1, b + 1));  // no block begins there
  EXPECT_EQ(wrong({{a}, {b}, {a, b, a}}), std::make_pair(2, a));      // twice at once
  ledger.absorb({{}, {a}, {}}, 0);
  EXPECT_EQ(wrong({{a}, {a}, {}}), std::make_pair(1, a));  // twice in turn
  EXPECT_EQ(wrong({{a}, {}, {a}}).first, -1);
  EXPECT_EQ(ledger.use().blocks, 2u);  // looking has changed nothing
}

}  // namespace
