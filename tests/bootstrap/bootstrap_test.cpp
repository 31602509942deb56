// SPDX-License-Identifier: MIT
// Holds the set-up channels that need no MPI to what hiris/bootstrap/bootstrap.hpp promises.
#include "hiris/bootstrap/bootstrap.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "bootstrap/conformance.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "support/ranks.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using hiris::bootstrap;
using hiris::test::rank_body;
using namespace std::chrono_literals;

struct channel {
  const char* name;
  void (*run)(int n, const rank_body& body);
};

const channel over_threads{"threads", hiris::test::run_thread_ranks};
const channel over_tcp{"tcp", [](int n, const rank_body& body) {
                         hiris::test::run_tcp_threads(
                             n, [&](const hiris::tcp_options& o) { body(hiris::connect_tcp(o)); });
                       }};

class Bootstrap : public testing::TestWithParam<channel> {};

TEST_P(Bootstrap, ConformsForOneToEightRanks) {
  for (int n = 1; n <= 8; ++n) {
    std::atomic<int> ran = 0;
    GetParam().run(n, [&](std::shared_ptr<bootstrap> boot) {
      ASSERT_EQ(boot->size(), n);
      hiris::test::conform(*boot);
      boot->barrier("the end");
      ++ran;
    });
    EXPECT_EQ(ran, n);
  }
}

TEST_P(Bootstrap, BarrierWaitsForAll) {
  std::atomic<int> came = 0;
  GetParam().run(5, [&](std::shared_ptr<bootstrap> boot) {
    if (boot->rank() == 3) std::this_thread::sleep_for(50ms);
    ++came;
    boot->barrier("meet");
    EXPECT_EQ(came, 5);
  });
}

TEST_P(Bootstrap, TeamOutlivesTheChannelItCameFrom) {
  GetParam().run(3, [](std::shared_ptr<bootstrap> boot) {
    const int rank = boot->rank();
    const auto team = boot->split(0, -rank, "turn round");
    boot.reset();
    EXPECT_EQ(team->rank(), 2 - rank);
    team->barrier("the end");
  });
}

TEST_P(Bootstrap, LeavingAfterTheLastMeetingIsNoError) {
  for (int i = 0; i < 30; ++i)
    GetParam().run(4, [](std::shared_ptr<bootstrap> boot) { boot->barrier("the last"); });
}

INSTANTIATE_TEST_SUITE_P(, Bootstrap, testing::Values(over_threads, over_tcp),
                         [](const auto& entry) { return std::string(entry.param.name); });

TEST(BootstrapAcrossProcesses, Conforms) {
  hiris::test::run_process_ranks(
      4, [](std::shared_ptr<bootstrap> boot) { hiris::test::conform(*boot); });
}

}  // namespace
