// SPDX-License-Identifier: MIT
// What goes wrong with the platform defines is held by tests/fail/platform_*_fail.cpp.
#include "hiris/platform/config.hpp"

#include <gtest/gtest.h>

namespace {

HIRIS_HOST_DEVICE int twice(int x) { return 2 * x; }

TEST(Config, HostDeviceFunctionsRunOnTheHost) { EXPECT_EQ(twice(21), 42); }

}  // namespace
