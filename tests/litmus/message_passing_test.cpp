// SPDX-License-Identifier: MIT
// Litmus tests of the memory model: small programs over two or three ranks, run many times, whose
// forbidden outcomes must never be seen. Every rank is a kernel on a stream of its own.
//
// A host of strong memory order rarely shows a broken program here; the thread sanitizer does, and
// the assembly checks of tests/codegen do without running anything.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "hiris/barrier.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "support/device_test.hpp"
#include "support/processes.hpp"

namespace {

using namespace hiris;

using Litmus = test::device_test;

/// How often a program runs; a sanitizer's build runs it less often (HIRIS_TEST_ROUNDS).
int rounds_of_a_program() {
  const char* text = std::getenv("HIRIS_TEST_ROUNDS");
  return text == nullptr ? 500 : std::atoi(text);
}

/// What the ranks of a program share. Outcomes: [0] forbidden ones seen, [1] rounds carried out.
struct program {
  context ctx;
  int* data;                // [threads]
  int* outcome;             // [2], this rank's
  signal_counter* signals;  // [size] for the barrier between rounds, then [2] of the program
  int rounds;
};

/// All threads of all ranks meet after a round.
HIRIS_DEVICE bool next_round(const program& p, std::uint64_t& epoch) {
  return block_barrier(p.ctx, p.signals, ++epoch) == wait_status::ok;
}
HIRIS_DEVICE void forbid(const program& p, bool seen) {
  if (seen) platform::atomic_fetch_add<order::relaxed, scope::agent>(p.outcome, 1);
}

enum class sender { notify, notify_peer_stores, wave, block, block_peer_stores };

/// MP. Rank 0 sends data, then the signal; who has seen the signal sees the data. `pushed` data
/// lies with the receiver, other data with the sender.
template <sender How>
struct message_passing {
  static constexpr int block_threads = 192;
  static constexpr bool pushed =
      How == sender::notify_peer_stores || How == sender::wave || How == sender::block_peer_stores;
  using params = program;
  struct shared {};

  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const ready = p.signals + ctx.size;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      if (ctx.rank == 0) {
        send(p, ready, round);
      } else {
        const auto target = static_cast<std::uint64_t>(round);
        if (block_wait_until(ctx, ready, target, 0) != wait_status::ok) return;
        const int* const at = pushed ? p.data : ctx.on(0, p.data);
        const int other = (t + 65) % block_threads;  // stored by another wave
        forbid(p, platform::load_global(at + other) != round * 1000 + other);
      }
      if (!next_round(p, epoch)) return;
    }
    if (t == 0) p.outcome[1] = p.rounds;
  }

  static HIRIS_DEVICE void send(const program& p, signal_counter* ready, int round) {
    const context& ctx = p.ctx;
    const int t = platform::thread_rank();
    if constexpr (How == sender::notify || How == sender::notify_peer_stores) {
      if (t != 77) return;
      if (!pushed)
        for (int i = 0; i < block_threads; ++i)
          platform::store_global(p.data + i, round * 1000 + i);
      for (int peer = 1; peer < ctx.size; ++peer) {
        if (pushed) {
          for (int i = 0; i < block_threads; ++i) store(ctx, p.data + i, round * 1000 + i, peer);
          notify_peer_stores(ctx, ready, peer);
        } else {
          notify(ctx, ready, peer);
        }
      }
    } else if constexpr (How == sender::wave) {
      if (platform::wave_rank() != 1) return;
      for (int peer = 1; peer < ctx.size; ++peer) {
        for (int i = platform::lane_rank(); i < block_threads; i += platform::wave_size)
          store(ctx, p.data + i, round * 1000 + i, peer);
        wave_notify_peer_stores(ctx, ready, peer);
      }
    } else if constexpr (How == sender::block) {
      platform::store_global(p.data + t, round * 1000 + t);
      for (int peer = 1; peer < ctx.size; ++peer) block_notify(ctx, ready, peer);
    } else {
      for (int peer = 1; peer < ctx.size; ++peer) {
        store(ctx, p.data + t, round * 1000 + t, peer);
        block_notify_peer_stores(ctx, ready, peer);
      }
    }
  }
};

/// ISA2. Rank 0 stores to rank 2 and tells rank 1; rank 1 tells rank 2; rank 2 sees what rank 0
/// stored: order is handed on.
struct handed_on {
  static constexpr int block_threads = 128;
  using params = program;
  struct shared {};
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const first = p.signals + ctx.size;
    signal_counter* const second = first + 1;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const auto target = static_cast<std::uint64_t>(round);
      if (ctx.rank == 0) {
        store(ctx, p.data + t, round * 1000 + t, 2);
        block_notify_peer_stores(ctx, first, 1);
      } else if (ctx.rank == 1) {
        if (block_wait_until(ctx, first, target, 0) != wait_status::ok) return;
        block_notify(ctx, second, 2);
      } else {
        if (block_wait_until(ctx, second, target, 1) != wait_status::ok) return;
        const int other = (t + 65) % block_threads;
        forbid(p, platform::load_global(p.data + other) != round * 1000 + other);
      }
      if (!next_round(p, epoch)) return;
    }
    if (t == 0) p.outcome[1] = p.rounds;
  }
};

/// SB. Both ranks store, fence and look at the other: not both can have seen the old value. Only
/// seq_cst fences promise it.
struct store_buffering {
  static constexpr int block_threads = 64;
  using params = program;
  struct shared {};
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    const int t = platform::thread_rank();
    int* const mine = p.data;      // written by this rank
    int* const seen = p.data + 1;  // what this rank saw of the other's
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      if (t == 0) {
        const int other = 1 - ctx.rank;
        platform::atomic_store<order::relaxed, scope::system>(mine, round);
        fence<order::seq_cst, scope::system>();
        const int value = platform::atomic_load<order::relaxed, scope::system>(ctx.on(other, mine));
        platform::atomic_store<order::relaxed, scope::system>(seen, value);
      }
      if (!next_round(p, epoch)) return;
      if (t == 0) {
        const int theirs =
            platform::atomic_load<order::relaxed, scope::system>(ctx.on(1 - ctx.rank, seen));
        const int ours = platform::atomic_load<order::relaxed, scope::system>(seen);
        forbid(p, theirs != round && ours != round);
      }
      if (!next_round(p, epoch)) return;
    }
    if (t == 0) p.outcome[1] = p.rounds;
  }
};

/// CoRR and CoWR. A count that only goes up is never seen to go down, by relaxed loads of any rank,
/// and a rank sees its own last addition.
struct coherence {
  static constexpr int block_threads = 64;
  using params = program;
  struct shared {};
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    int* const count = ctx.on(0, p.data);
    std::uint64_t epoch = 0;
    if (platform::thread_rank() == 0) {
      int last = 0;
      for (int i = 0; i < 50 * p.rounds; ++i) {
        if (i % 8 == 0) {
          const int before = platform::atomic_fetch_add<order::relaxed, scope::system>(count, 1);
          forbid(p, before < last);
          last = before + 1;
        }
        const int now = platform::atomic_load<order::relaxed, scope::system>(count);
        forbid(p, now < last);
        last = now;
      }
    }
    if (!next_round(p, epoch)) return;
    if (platform::thread_rank() == 0) p.outcome[1] = p.rounds;
  }
};

/// Runs a program on all ranks of a world and looks at the outcomes.
template <class Program>
void check(const world& w) {
  symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64});
  const platform::device_guard guard(w.device());
  load_kernels<Program>(w);
  const auto data = heap.allocate<int>(Program::block_threads);
  const auto outcome = heap.allocate<int>(2);
  const auto signals = heap.allocate_signals(w.size() + 2);
  test::to_device(data.data(), std::vector<int>(Program::block_threads, 0));
  test::to_device(outcome.data(), std::vector<int>{0, 0});
  const platform::owned_stream stream;
  const int rounds = rounds_of_a_program();
  w.barrier("the program is set up");
  launch_resident<Program>(
      w, stream, 1, {heap.device_context(), data.data(), outcome.data(), signals.data(), rounds});
  heap.synchronize(stream);
  EXPECT_EQ(test::to_host(outcome.data(), 2), (std::vector<int>{0, rounds}))
      << "rank " << w.rank() << " of " << w.size();
  w.barrier("the program has ended");
}

template <class Program>
void check_message_passing() {
  for (const int n : {2, 3, 5}) test::on_ranks(n, check<Program>);
}
TEST_F(Litmus, MessagePassingByNotify) { check_message_passing<message_passing<sender::notify>>(); }
TEST_F(Litmus, MessagePassingByNotifyPeerStores) {
  check_message_passing<message_passing<sender::notify_peer_stores>>();
}
TEST_F(Litmus, MessagePassingByWave) { check_message_passing<message_passing<sender::wave>>(); }
TEST_F(Litmus, MessagePassingByBlock) { check_message_passing<message_passing<sender::block>>(); }
TEST_F(Litmus, MessagePassingByBlockPeerStores) {
  check_message_passing<message_passing<sender::block_peer_stores>>();
}
TEST_F(Litmus, MessagePassingAcrossProcesses) {
  test::on_processes({.processes = 2, .threads = 1}, [](const world& w) {
    check<message_passing<sender::block>>(w);
    check<message_passing<sender::block_peer_stores>>(w);
    check<store_buffering>(w);
    check<coherence>(w);
  });
}
TEST_F(Litmus, OrderIsHandedOn) { test::on_ranks(3, check<handed_on>); }
TEST_F(Litmus, StoreBuffering) { test::on_ranks(2, check<store_buffering>); }
TEST_F(Litmus, Coherence) { test::on_ranks(4, check<coherence>); }

}  // namespace
