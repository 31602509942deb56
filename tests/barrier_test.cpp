// SPDX-License-Identifier: MIT
// The barrier of all ranks, in a kernel and on a stream: nobody is let through early, epochs are
// never reset and wrap, a captured graph replays, and a rank that does not come is named.
#include "hiris/barrier.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/meeting_kernels.hpp"
#include "support/plain_team.hpp"

namespace {

using namespace hiris;
using test::bump_kernel;
using test::plain_team;
using test::sum_kernel;

/// Each round every rank writes the round into its own memory with plain stores by all threads;
/// after the barrier all threads of all ranks read all of it. Data: words [threads], errors,
/// rounds.
struct rounds_kernel {
  static constexpr int block_threads = 96;  // a wave that is not full, and 8 ranks fit one device
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;
    std::uint64_t first;
    int rounds;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    int* const words = p.contexts[0].on(ctx.rank, p.base);
    int* const errors = words + block_threads;
    signal_counter* const signals = p.contexts[0].on(ctx.rank, p.signals);
    const int t = platform::thread_rank();
    std::uint64_t epoch = p.first;
    for (int round = 1; round <= p.rounds; ++round) {
      words[t] = round * 1000 + t;
      if (block_barrier(ctx, signals, ++epoch) != wait_status::ok) return;
      for (int r = 0; r < ctx.size; ++r) {
        const int other = t < 64 ? 64 + t % 32 : (t - 64) * 2;  // written by another wave
        if (platform::load_global(ctx.on(r, words) + other) != round * 1000 + other)
          platform::atomic_fetch_add<order::relaxed, scope::agent>(errors, 1);
      }
      if (block_barrier(ctx, signals, ++epoch) != wait_status::ok) return;
    }
    if (t == 0) errors[1] = p.rounds;
  }
};

TEST(BlockBarrier, LetsNobodyThroughEarly) {
  for (int size = 1; size <= 8; ++size)
    for (const std::uint64_t first : {std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
      constexpr std::size_t threads = rounds_kernel::block_threads;
      plain_team team(size, (threads + 2) * sizeof(int), static_cast<std::size_t>(size));
      team.set_arrivals(first);
      team.launch<rounds_kernel>({team.contexts(), team.data<int>(0), team.signals(0), first, 20});
      for (int r = 0; r < size; ++r) {
        EXPECT_EQ(team.read<int>(r, threads, 2), (std::vector<int>{0, 20}))
            << "rank " << r << " of " << size;
        for (int from = 0; from < size; ++from)
          EXPECT_EQ(team.arrivals(r, static_cast<std::size_t>(from)), first + (from == r ? 0 : 40));
      }
    }
}

/// All ranks but one come.
struct absent_kernel {
  static constexpr int block_threads = 128;
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;
    int absent;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    if (ctx.rank == p.absent) return;
    const wait_status status = block_barrier(ctx, p.contexts[0].on(ctx.rank, p.signals), 1);
    p.contexts[0].on(ctx.rank, p.base)[platform::thread_rank()] = status == wait_status::ok ? 1 : 2;
  }
};

TEST(BlockBarrier, NamesTheRankThatDoesNotCome) {
  plain_team team(4, 128 * sizeof(int), 4, 20'000'000);
  team.launch<absent_kernel>({team.contexts(), team.data<int>(0), team.signals(0), 2});
  for (int r = 0; r < 4; ++r) {
    if (r == 2) continue;
    const bool is_own = team.fault(r).state == fault_state::complete;
    const fault_record fault = is_own ? team.fault(r) : team.control_line(r);
    EXPECT_EQ(fault.state, fault_state::complete);
    EXPECT_EQ(fault.cause.rank == r, is_own);
    EXPECT_EQ(fault.cause.peer, 2);
    EXPECT_EQ(fault.cause.signal, 2u);
    EXPECT_EQ(fault.cause.expected, 1u);
    EXPECT_EQ(fault.cause.seen, 0u);
    EXPECT_EQ(team.read<int>(r, 0, 128), std::vector<int>(128, 2));
  }
}

// ----------------------------------------------------------------------------- kernels on streams

/// Every rank a stream: bump, barrier, sum, barrier.
class BarrierKernel : public testing::Test {
 protected:
  static constexpr int size = 3;

  BarrierKernel() : team_(size, 64, size), contexts_(size) {
    platform::copy_now(contexts_.data(), team_.contexts(), size * sizeof(context));
    platform::load_kernel<barrier_kernel>();
    platform::load_kernel<bump_kernel>();
    platform::load_kernel<sum_kernel>();
    for (int r = 0; r < size; ++r) {
      epochs_.emplace_back(1);
      epochs_.back().fill_with(std::byte{0});
    }
    streams_.resize(size);
  }

  void set_epoch(std::uint64_t value) {
    team_.set_arrivals(value);
    for (auto& e : epochs_) e.copy_from(std::vector<std::uint64_t>{value});
  }
  void step(int r) {
    const auto i = static_cast<std::size_t>(r);
    int* const word = team_.data<int>(r);
    const barrier_kernel::params meet{contexts_[i], team_.signals(r), epochs_[i].data()};
    platform::launch<bump_kernel>(streams_[i], 1, {word});
    platform::launch<barrier_kernel>(streams_[i], 1, meet);
    platform::launch<sum_kernel>(streams_[i], 1, {contexts_[i], word});
    platform::launch<barrier_kernel>(streams_[i], 1, meet);
  }
  /// After `steps` steps word 0 is `steps` and word 1 is size * (1 + 2 + ... + steps).
  void expect(int steps, std::uint64_t first) {
    for (int r = 0; r < size; ++r) {
      const auto i = static_cast<std::size_t>(r);
      streams_[i].synchronize();
      EXPECT_EQ(team_.fault(r).state, fault_state::none);
      EXPECT_EQ(team_.read<int>(r, 0, 2),
                (std::vector<int>{steps, size * steps * (steps + 1) / 2}));
      EXPECT_EQ(epochs_[i].to_host()[0], first + 2 * static_cast<std::uint64_t>(steps));
    }
  }

  plain_team team_;
  std::vector<context> contexts_;
  std::vector<platform::device_buffer<std::uint64_t>> epochs_;
  std::vector<platform::owned_stream> streams_;
};

TEST_F(BarrierKernel, OrdersTheStreamsOfAllRanks) {
  const std::uint64_t first = ~std::uint64_t{0} - 10;
  set_epoch(first);
  for (int i = 0; i < 30; ++i)
    for (int r = 0; r < size; ++r) step(r);
  expect(30, first);
}

TEST_F(BarrierKernel, ReplaysInAGraph) {
  std::vector<platform::graph> graphs;
  for (int r = 0; r < size; ++r)
    graphs.push_back(
        platform::graph::capture(streams_[static_cast<std::size_t>(r)], [&] { step(r); }));
  for (int i = 0; i < 40; ++i)
    for (int r = 0; r < size; ++r)
      graphs[static_cast<std::size_t>(r)].launch(streams_[static_cast<std::size_t>(r)]);
  expect(40, 0);
}

}  // namespace
