// SPDX-License-Identifier: MIT
#include "hiris/detail/causes.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "hiris/barrier.hpp"
#include "hiris/signal.hpp"
#include "support/plain_team.hpp"

namespace {

using namespace hiris;
using test::plain_team;

/// What the wait of a rank that failed may have seen; no two ranks share a field.
HIRIS_HOST_DEVICE fault_cause cause_of(int rank) {
  const auto n = static_cast<std::uint32_t>(rank);
  return {rank, 10 + rank, 20 + n, 30 + n, 40 + n, 50 + n, 60 + n};
}
void expect_whole(const fault_cause& got, int rank) {
  const fault_cause want = cause_of(rank);
  EXPECT_EQ(got.rank, want.rank);
  EXPECT_EQ(got.peer, want.peer);
  EXPECT_EQ(got.block, want.block);
  EXPECT_EQ(got.signal, want.signal);
  EXPECT_EQ(got.expected, want.expected);
  EXPECT_EQ(got.seen, want.seen);
  EXPECT_EQ(got.elapsed_ns, want.elapsed_ns);
}

/// Ranks of a mask fail, each in its turn or all at once.
struct fail_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const context* contexts;
    unsigned who;
    int* must_end;  // [size], a rank's own afterwards; may be null
    bool no_record;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    context ctx = p.contexts[platform::block_rank()];
    if (platform::thread_rank() != 0) return;
    if (p.no_record) ctx.fault = nullptr;
    if ((p.who >> ctx.rank & 1u) != 0) detail::end_waits(ctx, cause_of(ctx.rank));
    if (p.must_end != nullptr) p.must_end[ctx.rank] = detail::must_end(ctx) ? 1 : 0;
  }
};

void fail(const plain_team& team, unsigned who, bool no_record = false) {
  team.launch<fail_kernel>({team.contexts(), who, nullptr, no_record});
}
std::vector<int> who_must_end(const plain_team& team) {
  team.launch<fail_kernel>({team.contexts(), 0, team.data<int>(0), false});
  return team.read<int>(0, 0, static_cast<std::size_t>(team.size()));
}

TEST(Causes, AreToldToAllPeersOnce) {
  for (const int size : {1, 2, 3, 8}) {
    plain_team team(size, 64, 1);
    EXPECT_EQ(who_must_end(team), std::vector<int>(static_cast<std::size_t>(size), 0));
    const int first = size / 2;
    fail(team, 1u << first);
    EXPECT_EQ(who_must_end(team), std::vector<int>(static_cast<std::size_t>(size), 1));
    for (const unsigned later : {0u, ~0u}) {  // what fails after that changes nothing
      fail(team, later);
      for (int r = 0; r < size; ++r) {
        const fault_state other = later == 0 ? fault_state::none : fault_state::told;
        EXPECT_EQ(team.fault(r).state, r == first ? fault_state::complete : other);
        EXPECT_EQ(team.control_line(r).state,
                  r == first ? fault_state::none : fault_state::complete);
        expect_whole(r == first ? team.fault(r).cause : team.control_line(r).cause, first);
        EXPECT_EQ(team.arrivals(r, 0), 0u) << "a signal was hit";
      }
    }
  }
}

TEST(Causes, TwoAtOnceAreKeptWholeEachSomewhere) {
  for (int round = 0; round < 50; ++round) {
    plain_team team(4, 64, 1);
    fail(team, 0b0110);
    for (int r = 0; r < 4; ++r) {
      const bool failed = r == 1 || r == 2;
      const bool is_own = team.fault(r).state == fault_state::complete;
      EXPECT_EQ(team.fault(r).state, is_own   ? fault_state::complete
                                     : failed ? fault_state::told
                                              : fault_state::none);
      if (is_own) expect_whole(team.fault(r).cause, r);
      if (is_own && team.control_line(r).state == fault_state::none) continue;
      EXPECT_EQ(team.control_line(r).state, fault_state::complete);
      const fault_cause told = team.control_line(r).cause;
      EXPECT_NE(told.rank, r);
      EXPECT_TRUE(told.rank == 1 || told.rank == 2) << told.rank;
      expect_whole(told, told.rank);
    }
  }
}

TEST(Causes, AreNotWrittenWithoutARecord) {
  plain_team team(3, 64, 1);
  fail(team, ~0u, true);
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(team.fault(r).state, fault_state::none);
    EXPECT_EQ(team.control_line(r).state, fault_state::none);
  }
}

TEST(Causes, AnAbortOfTheHostIsToldByTheFirstWaitThatEnds) {
  plain_team team(3, 64, 1);
  team.fault(1).ended = 1;
  EXPECT_EQ(who_must_end(team), (std::vector<int>{0, 1, 0}));
  for (int i = 0; i < 2; ++i) {
    fail(team, 0b010);
    EXPECT_EQ(team.fault(1).state, fault_state::aborted);
    EXPECT_EQ(team.control_line(1).state, fault_state::none);
    for (const int r : {0, 2}) {
      EXPECT_EQ(team.fault(r).state, fault_state::none);
      EXPECT_EQ(team.control_line(r).state, fault_state::aborted);
      EXPECT_EQ(team.control_line(r).cause.rank, 1);
    }
  }
  EXPECT_EQ(who_must_end(team), (std::vector<int>{1, 1, 1}));
  fail(team, 0b101);
  for (const int r : {0, 2}) EXPECT_EQ(team.fault(r).state, fault_state::told);
}

/// All ranks but one meet or wait for it; one of them is in a hurry, and the others have an hour.
struct wait_kernel {
  static constexpr int block_threads = 128;
  enum class form { thread, block, barrier };
  struct params {
    const context* contexts;
    signal_counter* signals;
    form how;
    int silent;
    int first;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    context ctx = p.contexts[platform::block_rank()];
    if (ctx.rank == p.silent) return;
    ctx.budget_ns = ctx.rank == p.first ? 10'000'000 : 3'600'000'000'000;
    signal_counter* const s = p.contexts[0].on(ctx.rank, p.signals);
    wait_status status = wait_status::timed_out;
    if (p.how == form::barrier)
      status = block_barrier(ctx, s, 1);
    else if (p.how == form::block)
      status = block_wait_until(ctx, s + p.silent, 1, p.silent);
    else if (platform::thread_rank() == 70)
      status = wait_until(ctx, s + p.silent, 1, p.silent);
    if (status == wait_status::ok) ctx.fault->state = fault_state::writing;  // fails the test
  }
};

TEST(Causes, TheFirstEndsTheWaitsOfAllRanks) {
  using form = wait_kernel::form;
  for (const form how : {form::thread, form::block, form::barrier})
    for (const int size : {2, 3, 8}) {
      plain_team team(size, 64, static_cast<std::size_t>(size));
      const int silent = 0, first = size - 1;
      const auto start = std::chrono::steady_clock::now();
      team.launch<wait_kernel>({team.contexts(), team.signals(0), how, silent, first});
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
      for (int r = 1; r < size; ++r) {
        EXPECT_EQ(team.fault(r).state, r == first ? fault_state::complete : fault_state::told);
        const fault_record f = r == first ? team.fault(r) : team.control_line(r);
        EXPECT_EQ(f.state, fault_state::complete);
        EXPECT_EQ(f.cause.rank, first);
        EXPECT_EQ(f.cause.peer, silent);
        EXPECT_EQ(f.cause.block, static_cast<std::uint32_t>(first));
        EXPECT_EQ(f.cause.signal, static_cast<std::uint64_t>(silent));
        EXPECT_EQ(f.cause.expected, 1u);
        EXPECT_EQ(f.cause.seen, 0u);
        EXPECT_GE(f.cause.elapsed_ns, 10'000'000u);
      }
      EXPECT_EQ(team.fault(silent).state, fault_state::none) << "it did not wait";
    }
}

}  // namespace
