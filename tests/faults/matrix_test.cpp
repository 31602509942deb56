// SPDX-License-Identifier: MIT
// One rank fails, in every way, at every phase and with each way to launch: the others end within
// their bounds with an error that names the rank and the step, their process serves a new world
// afterwards, and nothing is left behind.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "faults/rank_program.hpp"
#include "hiris/heap.hpp"
#include "hiris/stream_barrier.hpp"
#include "support/belongings.hpp"
#include "support/device_test.hpp"
#include "support/processes.hpp"
#include "support/ranks.hpp"

namespace {

using namespace hiris;
using namespace hiris::test;

/// The meeting in which the others wait for a rank that is gone.
std::string step_of(const cell& c) {
  switch (c.when) {
    case phase::bootstrap:
      return c.how == way::threads ? "choice of a device" : "connecting";
    case phase::attach:
      return c.what == fault::out_of_memory ? "allocation of the heap" : "options of the heap";
    case phase::between_calls:
      if (c.what == fault::out_of_memory) return "epoch of a stream barrier";
      [[fallthrough]];
    case phase::inside_kernel:  // the first after the kernel
      return "symmetric allocation";
    case phase::shutdown:
      return "close of the heap: work has ended";
    case phase::launch:
      break;
  }
  return "none: the kernels of the others wait";
}

/// What the error of a rank that did nothing wrong must say.
void expect_told(const cell& c, int rank, const error& e) {
  const std::string text = e.what();
  const auto says = [&](const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << "no \"" << words << "\" in: " << text;
  };
  const std::string victim = std::to_string(c.victim);
  if (c.what == fault::out_of_memory) {
    EXPECT_EQ(e.code(), errc::out_of_memory) << text;
    EXPECT_EQ(e.rank(), c.victim) << text;
    says(step_of(c) + ": need ");
  } else if (c.when == phase::launch ||
             // the heap of a rank that is thrown out lets its kernel end, and those of the others
             (c.when == phase::inside_kernel && c.what != fault::thrown)) {
    // the first cause is that of the survivor that is not patient, on both
    EXPECT_EQ(e.code(), errc::timed_out) << text;
    const int first = c.victim == 0 ? 1 : 0;
    const std::string waited = "in a kernel, workgroup 0 of rank " + std::to_string(first) +
                               " waited for peer " + victim + " to bring signal " + victim + " to ";
    EXPECT_EQ(e.rank(), first) << text;
    says(waited);
    // which wait: the second barrier of a stream, or a round of the fault or soon after
    const std::size_t at = text.find(waited);
    const std::uint64_t arrivals =
        at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + waited.size(), nullptr, 10);
    if (c.when == phase::launch) {
      EXPECT_EQ(arrivals, 2u) << text;
    } else {
      EXPECT_GT(arrivals, many_rounds::fault_round) << text;
    }
    if (rank == patient)
      says("rank " + std::to_string(first) + " failed first and told this rank: ");
  } else {
    EXPECT_EQ(e.code(), errc::bootstrap_failed) << text;
    // who cannot connect to rank 0 has nobody to hear a cause from, and speaks for itself
    const bool alone = c.victim == 0 && c.when == phase::bootstrap && c.how != way::threads;
    EXPECT_EQ(e.rank(), alone ? rank : c.victim) << text;
    says("rank " + victim);
    says("step '" + step_of(c) + "': ");
  }
}

/// A new world in this process, with all that it can do.
void expect_usable() {
  test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    stream_barrier barrier(heap);
    const platform::owned_stream stream;
    for (int i = 0; i < 3; ++i) barrier.enqueue(stream);
    EXPECT_NO_THROW(heap.synchronize(stream));
    EXPECT_EQ(barrier.epoch(), 3u);
    w.barrier("end");
  });
  EXPECT_FALSE(platform::has_last_error());
}

enum class ending { nothing, told, thrown };

/// One rank of a cell, from its connection on.
ending run_rank(const cell& c, int rank,
                const std::function<std::shared_ptr<bootstrap>()>& connect) {
  rank_program program(c, rank);
  try {
    program.run(connect);
    EXPECT_EQ(rank, c.victim) << "rank " << rank << " was told nothing";
    return ending::nothing;
  } catch (const error& e) {
    if (rank == c.victim && c.what != fault::out_of_memory) return ending::told;  // it is too late
    EXPECT_LT(std::chrono::steady_clock::now() - program.begun(), bound) << e.what();
    expect_told(c, rank, e);
    return ending::told;
  }
}

/// The same in a process of its own, which goes on afterwards.
ending run_rank_of_process(const cell& c, int rank,
                           const std::function<std::shared_ptr<bootstrap>()>& connect) {
  const test::belongings before = test::belongings::now();
  ending how = ending::thrown;
  try {
    how = run_rank(c, rank, connect);
  } catch (const users_error&) {
    EXPECT_TRUE(c.what == fault::thrown && rank == c.victim);
  }
  expect_usable();
  test::expect_nothing_left(before);
  return how;
}

void run_processes(const cell& c) {
  test::process_plan plan{.processes = ranks, .time_limit = step_limit};
  if (c.what == fault::killed) {
    plan.exit_codes.assign(ranks, 0);
    plan.exit_codes[static_cast<std::size_t>(c.victim)] = 128 + SIGKILL;
  }
  test::in_processes(plan, [&](const tcp_options& o) {
    run_rank_of_process(c, o.rank, [&] { return connect_tcp(o); });
  });
}

void run_threads(const cell& c) {
  try {
    run_ranks(
        ranks,
        [&](std::shared_ptr<bootstrap> boot) {
          const int rank = boot->rank();
          run_rank(c, rank, [&] { return boot; });
        },
        step_limit);
    EXPECT_NE(c.what, fault::thrown);
  } catch (const std::exception& e) {
    EXPECT_EQ(c.what, fault::thrown) << e.what();
    EXPECT_STREQ(e.what(), "an error of the user's");
  }
}

/// What the launcher says of the first rank that failed, and whom it had to end.
void expect_reported(const cell& c, const launch_outcome& outcome) {
  const std::string who = "rank " + std::to_string(outcome.rank), text = outcome.text;
  const std::string victim = "rank " + std::to_string(c.victim);
  const bool of_victim = outcome.rank == c.victim;
  if (c.what == fault::killed) {
    EXPECT_TRUE(of_victim) << text;
    EXPECT_EQ(outcome.status, 128 + SIGKILL) << text;
    EXPECT_EQ(text.find(who + " was ended by signal 9"), 0u) << text;
  } else {
    const int status = of_victim && c.what == fault::thrown ? status_thrown : status_told;
    EXPECT_EQ(outcome.status, status) << text;
    EXPECT_EQ(text.find(who + " ended with exit status " + std::to_string(status)), 0u) << text;
  }
  const std::size_t ended = text.find("had to be ended");
  if (c.what == fault::stopped) {
    EXPECT_FALSE(of_victim) << text;
    EXPECT_NE(text.find("; " + victim + " had to be ended"), std::string::npos) << text;
  } else {
    EXPECT_EQ(ended, std::string::npos) << text;
  }
}

void run_launched(const cell& c) {
  if (test::is_process_rank()) {
    const int rank = read_environment().rank;
    const ending how = run_rank_of_process(c, rank, [] {
      setenv("HIRIS_TIMEOUT_S", std::to_string(step_limit / 1s).c_str(), 1);
      const auto boot = join_environment();
      unsetenv("HIRIS_TIMEOUT_S");
      return boot;
    });
    if (::testing::Test::HasFailure()) std::exit(1);
    std::exit(how == ending::told ? status_told : how == ending::thrown ? status_thrown : 0);
  }
  launch_options options;
  options.ranks = ranks;
  options.arguments = test::this_test_alone();
  options.variables = {"HIRIS_TEST_RANK=1"};
  options.time_limit = 5 * bound;
  if (c.what != fault::stopped) options.grace = bound;  // nobody needs to be ended
  expect_reported(c, launch_processes(options));
  EXPECT_TRUE(launch_processes({.ranks = ranks, .program = "/bin/true"}).ok());
}

class FaultMatrix : public ::testing::TestWithParam<cell> {};

TEST_P(FaultMatrix, OthersAreToldInTimeAndGoOn) {
  const cell& c = GetParam();
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a rank left behind would be ours
  const test::belongings before = test::belongings::now();
  switch (c.how) {
    case way::processes:
      run_processes(c);
      break;
    case way::threads:
      run_threads(c);
      break;
    case way::launched:
      run_launched(c);
      break;
  }
  expect_usable();
  test::expect_nothing_left(before);
}

std::vector<cell> cells() {
  std::vector<cell> all;
  const auto add = [&](const char* name, fault what, phase when, way how) {
    for (const int victim : {1, 0}) all.push_back({name, what, when, how, victim});
  };
  for (const phase p : {phase::bootstrap, phase::attach, phase::launch, phase::inside_kernel,
                        phase::between_calls, phase::shutdown})
    for (const way how : {way::processes, way::threads, way::launched}) {
      add("thrown", fault::thrown, p, how);
      add("late", fault::late, p, how);
      if (how != way::threads) {  // which end, and stop, all at once
        add("killed", fault::killed, p, how);
        add("stopped", fault::stopped, p, how);
      }
      if (p == phase::attach || p == phase::between_calls)
        add("out_of_memory", fault::out_of_memory, p, how);
    }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<cell>& info) {
  constexpr const char* phases[] = {"bootstrap",     "attach",        "launch",
                                    "inside_kernel", "between_calls", "shutdown"};
  constexpr const char* ways[] = {"processes", "threads", "launched"};
  return std::string(info.param.victim == 0 ? "rank_0_" : "") + info.param.name + "_at_" +
         phases[static_cast<int>(info.param.when)] + "_" + ways[static_cast<int>(info.param.how)];
}

INSTANTIATE_TEST_SUITE_P(Cells, FaultMatrix, ::testing::ValuesIn(cells()), name_of);

}  // namespace
