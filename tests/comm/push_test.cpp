// SPDX-License-Identifier: MIT
#include "hiris/comm/push.hpp"

#include <gtest/gtest.h>

#include "comm/policy_conformance.hpp"
#include "hiris/platform/float16.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using Push = test::device_test;

TEST_F(Push, GathersEveryElementOfEveryCall) {
  test::expect_conformance<comm::push<float16>>(strategy::push);
}

TEST_F(Push, GathersInOneLaunchToo) {
  test::expect_conformance<comm::push_fused<float16>>(strategy::push_fused);
}

}  // namespace
