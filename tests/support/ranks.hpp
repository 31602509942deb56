// SPDX-License-Identifier: MIT
/// @file
/// The ranks of a test as threads, or as processes: copies of the test itself that run one test.
///
///     TEST(Heap, AcrossProcesses) {
///       hiris::test::run_process_ranks(3, [](std::shared_ptr<hiris::bootstrap> boot) {
///         hiris::world world(boot);   // EXPECT_ and ASSERT_ work as always
///       });
///     }
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hiris/bootstrap/environment.hpp"
#include "hiris/bootstrap/launcher.hpp"
#include "hiris/bootstrap/threads.hpp"

namespace hiris::test {

using rank_body = std::function<void(std::shared_ptr<bootstrap>)>;

/// Whether this process is one of those that `run_process_ranks` started.
inline bool is_process_rank() { return detail::variable("HIRIS_TEST_RANK").has_value(); }

/// Arguments that run the current test alone.
inline std::vector<std::string> this_test_alone() {
  const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
  return {"--gtest_filter=" + std::string(info->test_suite_name()) + "." + info->name(),
          "--gtest_brief=1", "--gtest_output="};
}

/// Starts `n` copies of this test. How they end is the caller's to judge.
inline launch_outcome launch_this_test(
    int n, std::vector<std::string> variables = {},
    std::chrono::milliseconds time_limit = std::chrono::seconds(120)) {
  variables.push_back("HIRIS_TEST_RANK=1");
  launch_options options;
  options.ranks = n;
  options.arguments = this_test_alone();
  options.variables = std::move(variables);
  options.time_limit = time_limit;
  return launch_processes(options);
}

/// Runs `body` in `n` processes, one a rank. The test fails if it fails in any of them.
/// Call it first and once in a test: what stands before it runs in the copies too.
inline void run_process_ranks(int n, const rank_body& body,
                              std::chrono::milliseconds time_limit = std::chrono::seconds(120)) {
  if (is_process_rank()) {
    const std::shared_ptr<bootstrap> boot = join_environment();
    body(boot);
    boot->barrier("the end of the test");  // rank 0 serves the others until all are through
    return;
  }
  const launch_outcome outcome = launch_this_test(n, {}, time_limit);
  EXPECT_TRUE(outcome.ok()) << outcome.text;
}

/// How the ranks of a test are made: for suites that run both ways.
struct rank_kind {
  const char* name;
  void (*run)(int n, const rank_body& body);
};

inline void run_thread_ranks(int n, const rank_body& body) { run_ranks(n, body); }

inline const std::vector<rank_kind>& rank_kinds() {
  static const std::vector<rank_kind> kinds = {
      {"threads", run_thread_ranks},
      {"processes", [](int n, const rank_body& body) { run_process_ranks(n, body); }}};
  return kinds;
}

}  // namespace hiris::test
