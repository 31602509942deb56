// SPDX-License-Identifier: MIT
#include "hiris/comm/bulk_synchronous.hpp"

#include <gtest/gtest.h>

#include "comm/policy_conformance.hpp"
#include "hiris/platform/float16.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using BulkSynchronous = test::device_test;

TEST_F(BulkSynchronous, GathersEveryElementOfEveryCall) {
  test::expect_conformance<comm::bulk_synchronous<float16>>(strategy::bulk_synchronous);
}

}  // namespace
