// SPDX-License-Identifier: MIT
#include "hiris/bootstrap/launcher.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "support/errors.hpp"
#include "support/ranks.hpp"

namespace {

using hiris::errc;
using hiris::launch_options;
using hiris::launch_outcome;
using hiris::launch_processes;
using hiris::test::expect_error;
using hiris::test::is_process_rank;
using hiris::test::launch_this_test;
using namespace std::chrono_literals;

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int my_rank() { return hiris::read_environment().rank; }

TEST(Launcher, RanksKnowWhoTheyAre) {
  if (is_process_rank()) {
    const hiris::environment e = hiris::read_environment();
    EXPECT_EQ(e.launcher, "hiris");
    EXPECT_EQ(e.size, 3);
    EXPECT_LT(e.rank, 3);
    EXPECT_EQ(std::string(std::getenv("HIRIS_TOKEN")).size(), 64u);
    EXPECT_STREQ(std::getenv("HIRIS_ADDR"), "127.0.0.1");
    EXPECT_STREQ(std::getenv("OF_THE_TEST"), "a=b");
    return;
  }
  setenv("OF_THE_TEST", "replaced", 1);
  const launch_outcome outcome = launch_this_test(3, {"OF_THE_TEST=a=b"});
  EXPECT_TRUE(outcome.ok()) << outcome.text;
  EXPECT_EQ(outcome.rank, -1);
}

TEST(Launcher, OnlyRankZeroInheritsTheSocket) {
  if (is_process_rank()) {
    int sockets = 0;
    for (int fd = 3; fd < 64; ++fd) {
      int listening = 0;
      socklen_t bytes = sizeof listening;
      if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) == 0) sockets += listening;
    }
    EXPECT_EQ(sockets, my_rank() == 0 ? 1 : 0);
    return;
  }
  EXPECT_TRUE(launch_this_test(3).ok());
}

TEST(Launcher, FirstFailureIsReportedAndEndsTheOthers) {
  if (is_process_rank()) {
    if (my_rank() == 2) _exit(7);
    std::this_thread::sleep_for(60s);
    return;
  }
  launch_outcome outcome;
  EXPECT_LT(seconds_of([&] { outcome = launch_this_test(4); }), 20.0);
  EXPECT_EQ(outcome.rank, 2);
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.text, "rank 2 ended with exit status 7; ranks 0, 1, 3 had to be ended");
}

TEST(Launcher, OfFailuresFoundAtOnceASignalComesFirst) {
  hiris::detail::child_processes children;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  for (const char* script : {"exit 2", "kill -9 $$", "exit 3"})
    children.start("/bin/sh", {"sh", "-c", script}, {}, ends[1]);
  close(ends[1]);
  char none = 0;
  ASSERT_EQ(read(ends[0], &none, 1), 0);  // the last of them closes the pipe when it ends
  close(ends[0]);
  std::this_thread::sleep_for(300ms);
  children.poll_once();
  EXPECT_EQ(children.outcome().rank, 1) << children.outcome().text;
  EXPECT_EQ(children.outcome().status, 128 + SIGKILL);
}

/// What is kept of a rank that ends with status 2, and another that is ended by a signal once that
/// has been seen.
launch_outcome outcome_of_a_signal_after_a_status(const std::string& signal_number) {
  hiris::detail::child_processes children;
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string waits = "read x </proc/self/fd/" + std::to_string(ends[0]) + "; ";
  children.start("/bin/sh", {"sh", "-c", "exit 2"}, {}, -1);
  children.start("/bin/sh", {"sh", "-c", waits + "kill -" + signal_number + " $$"}, {}, ends[0]);
  while (children.outcome().ok()) children.poll_once();
  EXPECT_EQ(write(ends[1], "x\n", 2), 2);
  while (children.running() > 0) children.poll_once();
  close(ends[0]);
  close(ends[1]);
  return children.outcome();
}

TEST(Launcher, ASignalSoonAfterAStatusComesFirstButForAnAbort) {
  const launch_outcome killed = outcome_of_a_signal_after_a_status("9");
  EXPECT_EQ(killed.rank, 1) << killed.text;
  EXPECT_EQ(killed.status, 128 + SIGKILL);
  const launch_outcome aborted = outcome_of_a_signal_after_a_status("6");
  EXPECT_EQ(aborted.rank, 0) << aborted.text;
  EXPECT_EQ(aborted.status, 2);
}

TEST(Launcher, SignalIsNamed) {
  if (is_process_rank()) {
    if (my_rank() == 1) raise(SIGTERM);
    return;
  }
  const launch_outcome outcome = launch_this_test(2);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.status, 128 + SIGTERM);
  EXPECT_NE(outcome.text.find("signal 15"), std::string::npos) << outcome.text;
}

TEST(Launcher, TimeLimitEndsAll) {
  if (is_process_rank()) {
    signal(SIGTERM, SIG_IGN);
    if (my_rank() == 1) std::this_thread::sleep_for(60s);
    return;
  }
  launch_outcome outcome;
  EXPECT_LT(seconds_of([&] { outcome = launch_this_test(2, {}, 700ms); }), 20.0);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_NE(outcome.text.find("rank 1 did not end within 700 ms"), std::string::npos)
      << outcome.text;
}

TEST(Launcher, ProgramThatIsNotThere) {
  launch_options options;
  options.ranks = 2;
  options.program = "/no/such/program";
  const launch_outcome outcome = launch_processes(options);
  EXPECT_FALSE(outcome.ok());
  EXPECT_NE(outcome.text.find("could not be started"), std::string::npos) << outcome.text;
}

TEST(Launcher, NoRanks) {
  launch_options options;
  options.ranks = 0;
  expect_error(errc::invalid_argument, -1, {"0 ranks", "1 or more"},
               [&] { launch_processes(options); });
}

/// Whether a process is alive: not gone, and not waiting to be collected.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string ignored, name, state;
  return file >> ignored >> name >> state && state != "Z";
}

TEST(Launcher, RanksDieWithTheirParent) {
  // this test -> a launcher -> a rank that kills the launcher and then would sleep for long
  if (is_process_rank()) {
    if (const char* fd = std::getenv("HIRIS_TEST_GRANDCHILD")) {
      const pid_t me = getpid();
      ASSERT_EQ(write(std::atoi(fd), &me, sizeof me), static_cast<ssize_t>(sizeof me));
      kill(getppid(), SIGKILL);
      std::this_thread::sleep_for(60s);
      return;
    }
    launch_this_test(1, {"HIRIS_TEST_GRANDCHILD=" + std::string(std::getenv("HIRIS_TEST_PIPE"))});
    return;
  }
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // inherited by both generations
  const launch_outcome outcome =
      launch_this_test(1, {"HIRIS_TEST_PIPE=" + std::to_string(ends[1])});
  EXPECT_EQ(outcome.status, 128 + SIGKILL) << outcome.text;
  pid_t grandchild = 0;
  ASSERT_EQ(hiris::detail::wait_for(ends[0], POLLIN, hiris::detail::deadline_in(5s)),
            hiris::detail::io_status::ok);
  ASSERT_EQ(read(ends[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  for (int i = 0; i < 500 && is_alive(grandchild); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(is_alive(grandchild));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
