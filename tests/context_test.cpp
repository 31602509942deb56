// SPDX-License-Identifier: MIT
// What `on` computes is tested on devices by heap_test; here is what a context is made of.
#include "hiris/context.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace {

TEST(Context, TravelsByValue) {
  EXPECT_TRUE(std::is_trivially_copyable_v<hiris::context>);
  EXPECT_TRUE(std::is_standard_layout_v<hiris::context>);
  EXPECT_LE(sizeof(hiris::context), 64u);  // a cache line of kernel arguments
}

TEST(Context, SignalsStandAloneOnTheirLine) {
  EXPECT_EQ(sizeof(hiris::signal_counter), 128u);
  EXPECT_EQ(alignof(hiris::signal_counter), 128u);
  EXPECT_EQ(offsetof(hiris::signal_counter, arrivals), 0u);
  EXPECT_EQ(sizeof(hiris::signal_counter[3]), 384u);
}

TEST(Context, FaultRecordIsPlainBytes) {
  EXPECT_TRUE(std::is_trivially_copyable_v<hiris::fault_record>);
  EXPECT_EQ(offsetof(hiris::fault_record, state), 0u);
}

}  // namespace
