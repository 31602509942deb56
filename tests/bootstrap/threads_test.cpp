// SPDX-License-Identifier: MIT
#include "hiris/bootstrap/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/errors.hpp"

namespace {

using hiris::bootstrap;
using hiris::errc;
using hiris::run_ranks;
using hiris::test::expect_error;
using namespace std::chrono_literals;
using channel = std::shared_ptr<bootstrap>;

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Threads, FirstErrorIsRethrownAndTheOthersEndAtOnce) {
  std::atomic<int> told = 0;
  EXPECT_LT(seconds_of([&] {
              expect_error(errc::out_of_memory, 2, {"need 3"}, [&] {
                run_ranks(4, [&](channel boot) {
                  if (boot->rank() == 2)
                    throw hiris::error(errc::out_of_memory, 2, "need 3 have 2");
                  expect_error(errc::bootstrap_failed, 2, {"'meet'", "rank 2 failed", "need 3"},
                               [&] { boot->barrier("meet"); });
                  ++told;
                  boot->barrier("meet");
                });
              });
            }),
            10.0);
  EXPECT_EQ(told, 3);
}

TEST(Threads, FailureReachesRanksInOtherTeams) {
  std::atomic<int> told = 0;
  EXPECT_LT(seconds_of([&] {
              EXPECT_THROW(run_ranks(6,
                                     [&](channel boot) {
                                       const auto team = boot->split(boot->rank() / 3, 0, "teams");
                                       if (boot->rank() == 5) throw std::runtime_error("broken");
                                       if (boot->rank() == 1) {  // keep 0 and 2 waiting
                                         while (told < 2) std::this_thread::yield();
                                         return;
                                       }
                                       expect_error(errc::bootstrap_failed, 5, {"'meet': rank 5"},
                                                    [&] { team->barrier("meet"); });
                                       ++told;
                                     }),
                           std::runtime_error);
            }),
            10.0);
  EXPECT_EQ(told, 4);
}

TEST(Threads, RankThatLeavesIsNamed) {
  EXPECT_LT(seconds_of([] {
              expect_error(errc::bootstrap_failed, 1, {"'meet'", "rank 1 left"}, [] {
                run_ranks(3, [](channel boot) {
                  if (boot->rank() == 1) return;
                  boot->barrier("meet");
                });
              });
            }),
            10.0);
}

TEST(Threads, RankThatLeavesAfterTheLastMeetingIsNoError) {
  for (int i = 0; i < 200; ++i) run_ranks(3, [](channel boot) { boot->barrier("the last"); });
}

TEST(Threads, PeerThatNeverComesRunsOut) {
  hiris::thread_group group(3, 100ms);
  const auto zero = group.join(0), two = group.join(2);
  std::thread other([&] { EXPECT_THROW(two->barrier("meet"), hiris::error); });
  expect_error(errc::bootstrap_failed, 1, {"'meet'", "rank 1 did not come within 100 ms"},
               [&] { zero->barrier("meet"); });
  other.join();
  expect_error(errc::bootstrap_failed, 1, {"'later'", "rank 1"}, [&] { zero->barrier("later"); });
}

TEST(Threads, GroupThatIsGoneHasNoMoreRanks) {
  auto group = std::make_unique<hiris::thread_group>(2);
  const auto zero = group->join(0);
  group.reset();
  expect_error(errc::bootstrap_failed, 1, {"rank 1 left"}, [&] { zero->barrier("meet"); });
}

TEST(Threads, DifferentCallsAreAMismatchOnEveryRank) {
  std::atomic<int> told = 0;
  run_ranks(3, [&](channel boot) {
    std::vector<char> bytes(64);
    expect_error(errc::mismatch, 2, {"rank 0", "'a' with 4", "rank 2", "'a' with 5"}, [&] {
      boot->all_gather(bytes.data(), bytes.data(), boot->rank() == 2 ? 5 : 4, "a");
    });
    expect_error(errc::mismatch, 1, {"'a'", "'b'"},
                 [&] { boot->barrier(boot->rank() == 1 ? "b" : "a"); });
    boot->barrier("still usable");
    ++told;
  });
  EXPECT_EQ(told, 3);
}

TEST(Threads, BadArguments) {
  expect_error(errc::invalid_argument, -1, {"0 ranks", "1 or more"},
               [] { hiris::thread_group group(0); });
  expect_error(errc::invalid_argument, -1, {"-1 ms"}, [] { hiris::thread_group group(2, -1ms); });
  hiris::thread_group group(2);
  for (int bad : {-1, 2})
    expect_error(errc::invalid_argument, -1, {"rank " + std::to_string(bad), "0 to 1"},
                 [&] { group.join(bad); });
  const auto kept = group.join(1);
  expect_error(errc::invalid_argument, -1, {"rank 1", "second time"}, [&] { group.join(1); });
}

}  // namespace
