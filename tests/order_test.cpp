// SPDX-License-Identifier: MIT
#include "hiris/order.hpp"

#include <gtest/gtest.h>

TEST(Order, ValuesAreDistinct) {
  EXPECT_NE(hiris::order::relaxed, hiris::order::acquire);
  EXPECT_NE(hiris::scope::agent, hiris::scope::system);
}
