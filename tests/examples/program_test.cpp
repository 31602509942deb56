// SPDX-License-Identifier: MIT
// Who of the ranks of an example says what went wrong.
#include "support/program.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/ranks.hpp"

namespace {

using hiris::test::is_process_rank;
using hiris::test::launch_this_test;

struct ending {
  int status;
  std::string said;
};

/// Runs `rank` as this process's part of a program.
ending end_of(const std::function<bool(std::shared_ptr<hiris::bootstrap>)>& rank) {
  testing::internal::CaptureStderr();
  const int status = example::run_program({"test", 3, true, true, rank}, 0, nullptr);
  return {status, testing::internal::GetCapturedStderr()};
}

/// Starts three ranks, of which `culprit` goes while the others wait for it.
void check_departure(int culprit, int witness) {
  if (!is_process_rank()) {
    const hiris::launch_outcome outcome = launch_this_test(3);
    EXPECT_TRUE(outcome.ok()) << outcome.text;
    return;
  }
  const int rank = hiris::read_environment().rank;
  const ending end = end_of([&](std::shared_ptr<hiris::bootstrap> boot) {
    if (rank != culprit) boot->barrier("second");
    return true;
  });
  EXPECT_EQ(end.status, rank == culprit ? 0 : example::failed);
  if (rank == witness)
    EXPECT_NE(end.said.find("rank " + std::to_string(culprit)), std::string::npos) << end.said;
  else
    EXPECT_EQ(end.said, "");
}

TEST(Program, RankThatGoesIsNamedByOneOther) { check_departure(2, 0); }
TEST(Program, RankZeroThatGoesIsNamedByOneOther) { check_departure(0, 1); }

TEST(Program, RankThatFailsSaysWhy) {
  if (!is_process_rank()) {
    const hiris::launch_outcome outcome = launch_this_test(3);
    EXPECT_TRUE(outcome.ok()) << outcome.text;
    return;
  }
  const int rank = hiris::read_environment().rank;
  const ending end = end_of([&](std::shared_ptr<hiris::bootstrap> boot) -> bool {
    boot->barrier("before all fail");
    throw hiris::error(hiris::errc::invalid_argument, 1, "of the test");
  });
  EXPECT_EQ(end.status, example::failed);
  EXPECT_EQ(end.said, rank == 1 ? "test: hiris: invalid_argument on rank 1: of the test\n" : "");
}

}  // namespace
