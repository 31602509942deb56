// SPDX-License-Identifier: MIT
#include "hiris/ops/taxes.hpp"

#include <gtest/gtest.h>

TEST(Taxes, AreEqualOnlyIfAllAre) {
  const hiris::taxes t{1, 2, 3, 4, 5};
  EXPECT_EQ(t, (hiris::taxes{1, 2, 3, 4, 5}));
  EXPECT_NE(t, (hiris::taxes{0, 2, 3, 4, 5}));
  EXPECT_NE(t, (hiris::taxes{1, 0, 3, 4, 5}));
  EXPECT_NE(t, (hiris::taxes{1, 2, 0, 4, 5}));
  EXPECT_NE(t, (hiris::taxes{1, 2, 3, 0, 5}));
  EXPECT_NE(t, (hiris::taxes{1, 2, 3, 4, 0}));
}
