// SPDX-License-Identifier: MIT
#include "hiris/mma/shared_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace {

using hiris::mma::swizzled;

/// Lanes of one group that touch the same bank group of 16 bytes (of 8, in 128 bytes).
template <class Lanes, class Slot>
int worst_conflict(const Lanes& lanes, Slot slot) {
  std::array<int, 8> hits{};
  for (int lane : lanes) ++hits[static_cast<std::size_t>(slot(lane) % 8)];
  return *std::max_element(hits.begin(), hits.end());
}

template <class Layout>
void expect_bijection() {
  std::set<int> slots;
  for (int line = 0; line < Layout::lines; ++line)
    for (int chunk = 0; chunk < Layout::chunks; ++chunk) {
      const int slot = Layout::slot(line, chunk);
      ASSERT_TRUE(slot >= 0 && slot < Layout::slots);
      slots.insert(slot);
    }
  EXPECT_EQ(static_cast<int>(slots.size()), Layout::slots);
}

/// Reads of a 16 x 16 matrix instruction: lane % 16 is the line, lane / 16 the chunk. Groups of
/// ds_read_b128 on gfx942: {0-3, 20-23}, {4-7, 16-19}, {8-11, 28-31}, {12-15, 24-27}, and + 32.
template <class Layout>
int conflict_of_reads() {
  constexpr int starts[4][2] = {{0, 20}, {4, 16}, {8, 28}, {12, 24}};
  int worst = 0;
  for (int line = 0; line < Layout::lines; line += 16)
    for (int chunk = 0; chunk + 4 <= Layout::chunks; chunk += 4)
      for (int half : {0, 32})
        for (const auto& start : starts) {
          std::array<int, 8> lanes{};
          for (int i = 0; i < 8; ++i)
            lanes[static_cast<std::size_t>(i)] = half + start[i / 4] + i % 4;
          worst = std::max(worst, worst_conflict(lanes, [&](int lane) {
                             return Layout::slot(line + lane % 16, chunk + lane / 16);
                           }));
        }
  return worst;
}

/// Writes: eight consecutive lanes. The row loader writes along a line, the transposing loader the
/// same chunk of lines eight apart.
template <class Layout>
int conflict_of_row_writes() {
  int worst = 0;
  for (int first = 0; first < Layout::slots; first += 8)
    worst = std::max(worst, worst_conflict(std::array{0, 1, 2, 3, 4, 5, 6, 7}, [&](int lane) {
                       const int index = first + lane;
                       return Layout::slot(index / Layout::chunks, index % Layout::chunks);
                     }));
  return worst;
}

template <class Layout>
int conflict_of_transposed_writes() {
  int worst = 0;
  for (int line = 0; line + 64 <= Layout::lines; line += 64)
    for (int j = 0; j < 8; ++j)
      for (int chunk = 0; chunk < Layout::chunks; ++chunk)
        worst = std::max(worst, worst_conflict(std::array{0, 1, 2, 3, 4, 5, 6, 7}, [&](int lane) {
                           return Layout::slot(line + lane * 8 + j, chunk);
                         }));
  return worst;
}

}  // namespace

TEST(Swizzled, EveryChunkHasAPlaceOfItsOwn) {
  expect_bijection<swizzled<16, 16>>();
  expect_bijection<swizzled<16, 128>>();
  expect_bijection<swizzled<64, 32>>();
  expect_bijection<swizzled<128, 64>>();
  expect_bijection<swizzled<256, 64>>();
}

TEST(Swizzled, NoBankIsAskedTwiceInAPhase) {
  EXPECT_EQ((conflict_of_reads<swizzled<128, 64>>()), 1);
  EXPECT_EQ((conflict_of_reads<swizzled<16, 128>>()), 1);
  EXPECT_EQ((conflict_of_reads<swizzled<128, 128>>()), 1);
  EXPECT_EQ((conflict_of_row_writes<swizzled<128, 64>>()), 1);
  EXPECT_EQ((conflict_of_row_writes<swizzled<128, 128>>()), 1);
  EXPECT_EQ((conflict_of_transposed_writes<swizzled<128, 64>>()), 1);
  EXPECT_EQ((conflict_of_transposed_writes<swizzled<128, 128>>()), 1);
}
