// SPDX-License-Identifier: MIT
#include "hiris/heap/offset_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace {

using hiris::offset_allocator;

// One flag a byte: slow, and too simple to be wrong.
class naive_space {
 public:
  explicit naive_space(std::uint64_t bytes) : used_(bytes, false) {}

  /// Lowest offset of the smallest gap with room, or nothing.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    std::optional<std::uint64_t> best;
    std::uint64_t best_gap = ~std::uint64_t{0};
    for (const auto& [begin, end] : gaps()) {
      const std::uint64_t at = (begin + alignment - 1) / alignment * alignment;
      if (at + bytes <= end && end - begin < best_gap) {
        best = at;
        best_gap = end - begin;
      }
    }
    if (best) mark(*best, bytes, true);
    return best;
  }
  void mark(std::uint64_t at, std::uint64_t bytes, bool used) {
    for (std::uint64_t i = at; i < at + bytes; ++i) {
      EXPECT_NE(used_[i], used) << "byte " << i << " marked twice";
      used_[i] = used;
    }
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    for (std::uint64_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) continue;
      const std::uint64_t begin = i;
      while (i < used_.size() && !used_[i]) ++i;
      result.emplace_back(begin, i);
    }
    return result;
  }

 private:
  std::vector<bool> used_;
};

TEST(OffsetAllocator, ExampleOfTheHeader) {
  offset_allocator space(1 << 20);
  const auto at = space.allocate(1000, 256);
  ASSERT_TRUE(at.has_value());
  EXPECT_EQ(*at, 0u);
  EXPECT_EQ(space.free_bytes(), (1u << 20) - 1000);
  EXPECT_TRUE(space.release(*at));
  EXPECT_EQ(space.largest_free_bytes(), 1u << 20);
}

TEST(OffsetAllocator, TakesTheSmallestGapWithRoom) {
  offset_allocator space(1000);
  const auto a = space.allocate(100, 1), b = space.allocate(10, 1), c = space.allocate(50, 1),
             d = space.allocate(10, 1);
  space.release(*a);
  space.release(*c);
  EXPECT_EQ(space.allocate(40, 1), *c);
  EXPECT_EQ(space.allocate(60, 1), *a);
  EXPECT_EQ(*b, 100u);
  EXPECT_EQ(*d, 160u);
}

TEST(OffsetAllocator, PaddingOfAnAlignedBlockIsUsable) {
  offset_allocator space(4096);
  EXPECT_EQ(space.allocate(1, 1), 0u);
  EXPECT_EQ(space.allocate(2048, 2048), 2048u);
  EXPECT_EQ(space.free_bytes(), 2047u);
  EXPECT_EQ(space.allocate(2047, 1), 1u);
  EXPECT_EQ(space.allocate(1, 1), std::nullopt);
}

TEST(OffsetAllocator, JoinsWithBothNeighbours) {
  offset_allocator space(300);
  const auto a = space.allocate(100, 1), b = space.allocate(100, 1), c = space.allocate(100, 1);
  EXPECT_EQ(space.free_pieces(), 0u);
  EXPECT_EQ(space.largest_free_bytes(), 0u);
  space.release(*a);
  space.release(*c);
  EXPECT_EQ(space.free_pieces(), 2u);
  space.release(*b);
  EXPECT_EQ(space.free_pieces(), 1u);
  EXPECT_EQ(space.allocate(300, 1), 0u);
}

TEST(OffsetAllocator, RefusesWithoutChange) {
  offset_allocator space(1024);
  const auto at = space.allocate(1000, 1);
  EXPECT_EQ(space.allocate(25, 1), std::nullopt);
  EXPECT_EQ(space.allocate(24, 64), std::nullopt);
  EXPECT_EQ(space.allocate(0, 1), std::nullopt);
  EXPECT_EQ(space.allocate(~std::uint64_t{0}, 1), std::nullopt);
  EXPECT_EQ(space.free_bytes(), 24u);
  EXPECT_FALSE(space.release(1));
  EXPECT_TRUE(space.release(*at));
  EXPECT_FALSE(space.release(*at));
  EXPECT_EQ(space.largest_free_bytes(), 1024u);
}

TEST(OffsetAllocator, ReachesBeyondFourGiB) {
  const std::uint64_t gib = std::uint64_t{1} << 30;
  offset_allocator space(1024 * gib);
  EXPECT_EQ(space.allocate(5 * gib + 1, 256), 0u);
  EXPECT_EQ(space.allocate(700 * gib, 2u << 20), 5 * gib + (2u << 20));
  EXPECT_EQ(space.find(600 * gib)->first, 5 * gib + (2u << 20));
  EXPECT_EQ(space.find(5 * gib + 1), std::nullopt);
}

TEST(OffsetAllocator, FindsTheBlockOfAnOffset) {
  offset_allocator space(100);
  space.allocate(10, 1);
  space.allocate(20, 32);
  EXPECT_EQ(space.find(9)->second, 10u);
  EXPECT_EQ(space.find(10), std::nullopt);
  EXPECT_EQ(space.find(32)->first, 32u);
  EXPECT_EQ(space.find(51)->first, 32u);
  EXPECT_EQ(space.find(52), std::nullopt);
}

// Random sequences against the naive model: same answers, no overlap, no lost byte.
TEST(OffsetAllocator, BehavesLikeTheNaiveModel) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const std::uint64_t total = 1 + random() % 3000;
    offset_allocator space(total);
    naive_space model(total);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
    std::uint64_t used = 0;
    for (int step = 0; step < 400; ++step) {
      if (live.empty() || random() % 5 < 3) {
        const std::uint64_t bytes = 1 + random() % (1 + total / 8);
        const std::uint64_t alignment = std::uint64_t{1} << (random() % 9);
        const auto expected = model.allocate(bytes, alignment);
        ASSERT_EQ(space.allocate(bytes, alignment), expected)
            << "seed " << seed << " step " << step;
        if (expected) {
          ASSERT_EQ(*expected % alignment, 0u);
          live.emplace_back(*expected, bytes);
          used += bytes;
        }
      } else {
        const std::size_t i = random() % live.size();
        const auto [at, bytes] = live[i];
        live[i] = live.back();
        live.pop_back();
        ASSERT_TRUE(space.release(at));
        model.mark(at, bytes, false);
        used -= bytes;
      }
      const auto gaps = model.gaps();
      std::uint64_t largest = 0;
      for (const auto& [begin, end] : gaps) largest = std::max(largest, end - begin);
      ASSERT_EQ(space.free_pieces(), gaps.size());
      ASSERT_EQ(space.largest_free_bytes(), largest);
      ASSERT_EQ(space.free_bytes(), total - used);
      ASSERT_EQ(space.blocks(), live.size());
    }
  }
}

// What the heap relies on: replicas that release the same blocks in other orders stay equal.
TEST(OffsetAllocator, DoesNotDependOnTheOrderOfReleases) {
  std::mt19937 random(7);
  offset_allocator one(1 << 16), two(1 << 16);
  std::vector<std::uint64_t> live;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t bytes = 1 + random() % 2000,
                          alignment = std::uint64_t{1} << (random() % 12);
      const auto at = one.allocate(bytes, alignment);
      ASSERT_EQ(at, two.allocate(bytes, alignment));
      if (at) live.push_back(*at);
    }
    std::shuffle(live.begin(), live.end(), random);
    std::vector<std::uint64_t> going(live.end() - static_cast<std::ptrdiff_t>(live.size() / 2),
                                     live.end());
    live.resize(live.size() - going.size());
    for (const std::uint64_t at : going) ASSERT_TRUE(one.release(at));
    std::shuffle(going.begin(), going.end(), random);
    for (const std::uint64_t at : going) ASSERT_TRUE(two.release(at));
  }
}

}  // namespace
