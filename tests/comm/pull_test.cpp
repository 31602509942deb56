// SPDX-License-Identifier: MIT
#include "hiris/comm/pull.hpp"

#include <gtest/gtest.h>

#include "comm/policy_conformance.hpp"
#include "hiris/platform/float16.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using Pull = test::device_test;

TEST_F(Pull, GathersEveryElementOfEveryCall) {
  test::expect_conformance<comm::pull<float16>>(strategy::pull);
}

}  // namespace
