// SPDX-License-Identifier: MIT
#include "hiris/bootstrap/time_limit.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "hiris/bootstrap/threads.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::time_limit_from_environment;
using hiris::test::expect_error;
using namespace std::chrono_literals;

TEST(TimeLimit, VariableOrDefault) {
  unsetenv("HIRIS_TIMEOUT_S");
  EXPECT_EQ(time_limit_from_environment(), 60s);
  setenv("HIRIS_TIMEOUT_S", "", 1);
  EXPECT_EQ(time_limit_from_environment(), 60s);
  setenv("HIRIS_TIMEOUT_S", "7", 1);
  EXPECT_EQ(time_limit_from_environment(), 7s);
  for (const char* bad : {"0", "86401", "-1", "1.5", "x", "1 "}) {
    setenv("HIRIS_TIMEOUT_S", bad, 1);
    expect_error(errc::invalid_argument, -1,
                 {"HIRIS_TIMEOUT_S is '" + std::string(bad) + "'", "1 to 86400"},
                 [] { time_limit_from_environment(); });
  }
  unsetenv("HIRIS_TIMEOUT_S");
}

TEST(TimeLimit, HoldsForThreads) {
  setenv("HIRIS_TIMEOUT_S", "1", 1);
  hiris::thread_group group(2);
  unsetenv("HIRIS_TIMEOUT_S");
  const auto zero = group.join(0);
  expect_error(errc::bootstrap_failed, 1, {"rank 1 did not come within 1000 ms"},
               [&] { zero->barrier("meet"); });
}

}  // namespace
