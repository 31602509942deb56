// SPDX-License-Identifier: MIT
// Message passing with one mistake each, which the thread sanitizer must see: two ranks, each a
// kernel on a device of its own. `Broken.Nothing` is the correct program, which must pass. Built
// only with the sanitizer; the values come out right nearly always. Do not learn from these.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

enum class mistake {
  nothing,
  no_release,          // the signal is a relaxed addition
  no_barrier,          // thread 0 signals without having met the others
  no_barrier_after,    // thread 0 waits, and the others do not wait for it
  no_acquire,          // the wait only polls
  no_wait,             // the receiver does not wait at all
  early_signal,        // the signal leaves before the data
  no_acknowledgement,  // the sender writes the next round without asking
  one_round_early,     // the wait is for the round before
  poll_of_data         // the receiver looks at the data until they have come
};

constexpr int rounds = 8;

template <mistake What>
struct message {
  static constexpr int block_threads = 64;
  struct params {
    context ctx;
    int* data;                // [block_threads]
    int* sum;                 // [block_threads]
    signal_counter* signals;  // arrived, taken, both are there
  };
  struct shared {};

  /// The sender takes its time before it stores, the receiver more before it reads, so that a
  /// mistake is not hidden by one of them running ahead.
  static HIRIS_DEVICE void take(std::uint64_t ms) {
    const std::uint64_t start_ns = platform::clock_ns();
    while (platform::clock_ns() - start_ns < ms * 1'000'000) platform::pause();
  }

  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int t = platform::thread_rank();
    const context& ctx = p.ctx;
    signal_counter* const arrived = p.signals;
    signal_counter* const taken = p.signals + 1;
    signal_counter* const there = p.signals + 2;
    block_notify(ctx, there, 1 - ctx.rank);
    if (block_wait_until(ctx, there, 1, 1 - ctx.rank) != wait_status::ok) return;
    for (int round = 1; round <= rounds; ++round) {
      const auto target = static_cast<std::uint64_t>(round);
      if (ctx.rank == 0) {
        if (What != mistake::no_acknowledgement)
          if (block_wait_until(ctx, taken, target - 1, 1) != wait_status::ok) return;
        if (What == mistake::early_signal) block_notify_peer_stores(ctx, arrived, 1);
        take(2);
        store(ctx, p.data + t, round, 1);
        if (What == mistake::no_release) {
          block_quiet();
          if (t == 0)
            platform::atomic_fetch_add<order::relaxed, scope::system>(&ctx.on(1, arrived)->arrivals,
                                                                      std::uint64_t{1});
        } else if (What == mistake::no_barrier) {
          quiet();
          if (t == 0) platform::publish_add<scope::system>(&ctx.on(1, arrived)->arrivals, 1);
        } else if (What != mistake::early_signal) {
          block_notify_peer_stores(ctx, arrived, 1);
        }
      } else {
        if (!wait(p, target)) return;
        take(7);
        p.sum[t] += platform::load_global(p.data + t);
        block_notify(ctx, taken, 0);
      }
    }
  }

  static HIRIS_DEVICE bool wait(const params& p, std::uint64_t target) {
    const signal_counter* const arrived = p.signals;
    if (What == mistake::no_wait) return true;
    if (What == mistake::one_round_early) --target;
    if (What == mistake::poll_of_data) {
      while (platform::load_global(p.data + platform::thread_rank()) < static_cast<int>(target))
        platform::pause();
      return true;
    }
    if (What == mistake::no_barrier_after)
      return platform::thread_rank() != 0 ||
             wait_until(p.ctx, arrived, target, 0) == wait_status::ok;
    if (What == mistake::no_acquire) {
      bool late = false;
      if (platform::thread_rank() == 0) late = !detail::poll(p.ctx, arrived, target, 0);
      return !platform::block_any(late);
    }
    return block_wait_until(p.ctx, arrived, target, 0) == wait_status::ok;
  }
};

template <mistake What>
void send_messages() {
  using kernel = message<What>;
  test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64});
    const platform::device_guard guard(w.device());
    load_kernels<kernel>(w);
    const auto data = heap.allocate<int>(kernel::block_threads);
    const auto sum = heap.allocate<int>(kernel::block_threads);
    const auto signals = heap.allocate_signals(3);
    test::to_device(data.data(), std::vector<int>(kernel::block_threads, 0));
    test::to_device(sum.data(), std::vector<int>(kernel::block_threads, 0));
    const platform::owned_stream stream;
    w.barrier("the program is set up");
    launch_resident<kernel>(w, stream, 1,
                            {heap.device_context(), data.data(), sum.data(), signals.data()});
    heap.synchronize(stream);
    if (What == mistake::nothing && w.rank() == 1) {
      EXPECT_EQ(test::to_host(sum.data(), kernel::block_threads),
                std::vector<int>(kernel::block_threads, rounds * (rounds + 1) / 2));
    }
    w.barrier("the program has ended");
  });
}

TEST(Broken, Nothing) { send_messages<mistake::nothing>(); }
TEST(Broken, NoRelease) { send_messages<mistake::no_release>(); }
TEST(Broken, NoBarrier) { send_messages<mistake::no_barrier>(); }
TEST(Broken, NoBarrierAfter) { send_messages<mistake::no_barrier_after>(); }
TEST(Broken, NoAcquire) { send_messages<mistake::no_acquire>(); }
TEST(Broken, NoWait) { send_messages<mistake::no_wait>(); }
TEST(Broken, EarlySignal) { send_messages<mistake::early_signal>(); }
TEST(Broken, NoAcknowledgement) { send_messages<mistake::no_acknowledgement>(); }
TEST(Broken, OneRoundEarly) { send_messages<mistake::one_round_early>(); }
TEST(Broken, PollOfData) { send_messages<mistake::poll_of_data>(); }

}  // namespace
