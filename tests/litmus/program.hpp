// SPDX-License-Identifier: MIT
/// @file
/// What litmus programs share: kernels that count the forbidden outcomes that they see. The same
/// programs run on GPUs, on the emulator, under the thread sanitizer and on the hostile fabric.
///
///     struct my_program : litmus::one_block {
///       static HIRIS_DEVICE void run(const litmus::program& p, shared&) { ... forbid(p, seen); }
///     };
///     litmus::check<my_program>(world, {.rounds = 500, .instances = 4}, litmus::run_freely);
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "hiris/atomic.hpp"
#include "hiris/barrier.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "support/device_test.hpp"

namespace hiris::litmus {

/// What the ranks of an instance of a program share.
struct program {
  context ctx;
  int* data;                // [elems]
  int* outcome;             // [2], this rank's: forbidden outcomes seen, rounds carried out
  std::uint64_t* words;     // [n_words] for atomics, each 128 bytes from the next
  signal_counter* signals;  // [n_signals]: size for the barrier between rounds, then 4
  int elems;
  int rounds;
  int block;  // workgroup of the instance

  HIRIS_HOST_DEVICE static int n_words(int ranks) { return (ranks + 4) * 16; }
  HIRIS_HOST_DEVICE static int n_signals(int ranks) { return ranks + 4; }
  HIRIS_DEVICE std::uint64_t* word(int i) const { return words + i * 16; }

  /// Instance i of those that lie one behind the other.
  HIRIS_DEVICE program instance(int i) const {
    program p = *this;
    p.data += i * elems;
    p.words += i * n_words(ctx.size);
    p.signals += i * n_signals(ctx.size);
    return p;
  }
};

/// How often a program runs: so many rounds in all, shared by instances that run side by side: that
/// takes less time, and each disturbs the others.
struct amount {
  int rounds;
  int instances = 1;

  int rounds_each() const { return (rounds + instances - 1) / instances; }
};

/// Of this run, off the hostile fabric: a sanitizer's build runs a program less often,
/// scripts/check_gpu more.
inline amount amount_of_a_program() {
  const auto from_environment = [](const char* name, int otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
  };
  return {.rounds = from_environment("HIRIS_TEST_ROUNDS", 500),
          .instances = from_environment("HIRIS_TEST_INSTANCES", 4)};
}

/// Defaults of a program: one workgroup a rank and instance, an element of data a thread.
struct one_block {
  static constexpr int block_threads = 192;
  static constexpr int blocks = 1;
  static constexpr bool one_instance = false;  ///< Whether no other may run beside it.
  static int elems(int /*ranks*/) { return block_threads; }  // a multiple of a cache line
  using params = program;
  struct shared {};
};

/// What is sent in a round.
HIRIS_DEVICE int payload(int round, int i) { return round * 1000 + i; }

/// All threads of all ranks meet after a round.
HIRIS_DEVICE bool next_round(const program& p, std::uint64_t& epoch) {
  return block_barrier(p.ctx, p.signals, ++epoch) == wait_status::ok;
}
HIRIS_DEVICE void forbid(const program& p, bool seen) {
  if (seen) platform::atomic_fetch_add<order::relaxed, scope::agent>(p.outcome, 1);
}
/// The first thread's last word; the host looks for it.
HIRIS_DEVICE void finish(const program& p) {
  if (platform::thread_rank() == 0 && p.block == 0)
    platform::atomic_fetch_add<order::relaxed, scope::agent>(p.outcome + 1, p.rounds);
}

/// All instances of a program.
template <class Program>
struct all_instances : Program {
  using params = program;
  using shared = typename Program::shared;
  static HIRIS_DEVICE void run(const program& p, shared& s) {
    program mine = p.instance(platform::block_rank() / Program::blocks);
    mine.block = platform::block_rank() % Program::blocks;
    Program::run(mine, s);
  }
};

/// Polls a word with loads of an order until it is `target`. Bounded. Caller: a thread.
template <order Order, scope Scope>
HIRIS_DEVICE void poll_word(const program& p, const std::uint64_t* word, std::uint64_t target) {
  const std::uint64_t start_ns = platform::clock_ns();
  while (platform::atomic_load<Order, Scope>(word) < target) {
    if (platform::clock_ns() - start_ns > p.ctx.budget_ns) return forbid(p, true);
    platform::pause();
  }
}

/// How a launch is carried out: `enqueue` puts it on the stream. `in_heap`: what lies in the heap.
using runner = std::function<void(const world&, platform::stream, std::function<void()> enqueue,
                                  const std::vector<const void*>& in_heap)>;
inline void run_freely(const world&, platform::stream, const std::function<void()>& enqueue,
                       const std::vector<const void*>& /*in_heap*/) {
  enqueue();
}

/// Runs a program on all ranks of a world. Collective. @return This rank's outcome.
template <class Program>
std::vector<int> outcome_of(const world& w, const amount& of, const runner& run) {
  const int n = of.instances, elems = Program::elems(w.size());
  const auto n_words = static_cast<std::size_t>(n * program::n_words(w.size()));
  const auto n_elems = static_cast<std::size_t>(n * elems);
  symmetric_heap heap(
      w, {.data_bytes = static_cast<std::int64_t>((1 << 16) + n_words * 8 + n_elems * sizeof(int)),
          .signals = n * program::n_signals(w.size())});
  const platform::device_guard guard(w.device());
  load_kernels<all_instances<Program>>(w);
  const auto data = heap.allocate<int>(n * elems);
  const auto outcome = heap.allocate<int>(2, 128);
  const auto words = heap.allocate<std::uint64_t>(static_cast<std::int64_t>(n_words), 128);
  const auto signals = heap.allocate_signals(n * program::n_signals(w.size()));
  test::to_device(data.data(), std::vector<int>(n_elems, 0));
  test::to_device(outcome.data(), std::vector<int>{0, 0});
  test::to_device(words.data(), std::vector<std::uint64_t>(n_words, 0));
  const platform::owned_stream stream;
  w.barrier("the program is set up");
  const auto enqueue = [&] {
    launch_resident<all_instances<Program>>(
        w, stream, n * Program::blocks,
        {heap.device_context(), data.data(), outcome.data(), words.data(), signals.data(), elems,
         of.rounds_each(), 0});
  };
  run(w, stream, enqueue, {data.data(), signals.data()});
  heap.synchronize(stream);
  std::vector<int> seen = test::to_host(outcome.data(), 2);
  w.barrier("the program has ended");
  return seen;
}

/// Runs a program and expects that no forbidden outcome was seen. Collective.
template <class Program>
void check(const world& w, amount of, const runner& run) {
  if (Program::one_instance) of.instances = 1;
  const std::vector<int> seen = outcome_of<Program>(w, of, run);
  EXPECT_EQ(seen[0], 0) << "forbidden outcomes on rank " << w.rank() << " of " << w.size();
  EXPECT_EQ(seen[1], of.instances * of.rounds_each())
      << "rounds of rank " << w.rank() << " of " << w.size();
}

}  // namespace hiris::litmus
