// SPDX-License-Identifier: MIT
#include "hiris/heap/array.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "hiris/heap.hpp"
#include "support/device_test.hpp"

namespace {

using hiris::symmetric_array;
using hiris::symmetric_heap;
using hiris::world;

using Array = hiris::test::device_test;

TEST(ArrayType, IsMoveOnly) {
  EXPECT_FALSE(std::is_copy_constructible_v<symmetric_array<int>>);
  EXPECT_FALSE(std::is_copy_assignable_v<symmetric_array<int>>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<symmetric_array<int>>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<symmetric_array<int>>);
}

TEST(ArrayType, EmptyHandlesPointNowhere) {
  symmetric_array<int> empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.size(), 0);
  empty.reset();
}

TEST_F(Array, IsFreedExactlyOnce) {
  hiris::test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1000, .signals = 1});
    auto a = heap.allocate<char>(100);
    auto b = heap.allocate<char>(100);
    std::swap(a, b);
    EXPECT_EQ(heap.data_use().waiting_bytes, 0u);
    a = std::move(b);
    EXPECT_EQ(heap.data_use().waiting_bytes, 100u);
    a.reset();
    a.reset();
    EXPECT_EQ(heap.data_use().waiting_bytes, 200u);
    EXPECT_EQ(heap.data_use().blocks, 2u);
    const auto c = heap.allocate<char>(1000);
    EXPECT_EQ(heap.data_use().blocks, 1u);
    EXPECT_EQ(c.offset(), 0u);
  });
}

}  // namespace
