// SPDX-License-Identifier: MIT
// A wait that runs out on one rank ends the waits of all, whatever they wait by; all hosts throw
// its cause, and the heap serves again once all have reset. The ops' part is in their errors tests.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/signal.hpp"
#include "hiris/stream_barrier.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"
#include "support/first_cause.hpp"

namespace {

using namespace hiris;
using namespace std::chrono_literals;
using test::on_ranks;
using test::one_in_a_hurry;

using FirstCause = test::device_test;

heap_options options_of(const one_in_a_hurry& plan, int rank) {
  return {.data_bytes = 1 << 16, .signals = 64, .wait_budget = plan.budget(rank)};
}

TEST_F(FirstCause, OfAStreamBarrierAndOfItsReplays) {
  for (const bool replayed : {false, true})
    for (const int size : {2, 3, 8})
      on_ranks(size, [&](const world& w) {
        const one_in_a_hurry plan(size);
        symmetric_heap heap(w, options_of(plan, w.rank()));
        std::optional<stream_barrier> barrier(heap);
        const platform::owned_stream stream;
        std::optional<platform::graph> graph;
        if (replayed) graph = platform::graph::capture(stream, [&] { barrier->enqueue(stream); });
        const auto meet = [&] { replayed ? graph->launch(stream) : barrier->enqueue(stream); };
        w.barrier("all have a stream");  // see platform::prepare_stream
        meet();
        EXPECT_NO_THROW(heap.synchronize(stream));
        plan.expect_one_cause(w, [&] {
          meet();
          heap.synchronize(stream);
        });
        EXPECT_NO_THROW(w.rank() == plan.silent ? heap.check() : void());
        heap.reset_fault();
        if (w.rank() == plan.silent) meet();  // to be at the epoch of the others
        for (int i = 0; i < 3; ++i) meet();
        EXPECT_NO_THROW(heap.synchronize(stream));
        EXPECT_EQ(barrier->epoch(), 5u);
        w.barrier("end");
      });
}

/// Workgroups that wait for a signal each, of a rank each.
struct wait_kernel {
  static constexpr int block_threads = 128;
  struct params {
    context ctx;
    signal_counter* signals;
    int from;
    bool by_thread;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    signal_counter* const mine = p.signals + platform::block_rank();
    if (!p.by_thread)
      static_cast<void>(block_wait_until(p.ctx, mine, 1, p.from));
    else if (platform::thread_rank() == 99)
      static_cast<void>(wait_until(p.ctx, mine, 1, p.from));
  }
};

TEST_F(FirstCause, OfWaitsOfAHeapARegionAndATeam) {
  on_ranks(4, [](const world& w) {
    const one_in_a_hurry plan(4);
    symmetric_heap heap(w, options_of(plan, w.rank()));
    load_kernels<wait_kernel>(w);
    const auto signals = heap.allocate_signals(2);
    platform::device_buffer<float> memory(100);
    auto region = heap.attach(memory.data(), 100);
    const world same = w.split(0, w.rank());
    // Every context of all ranks reaches the same control lines.
    const context contexts[] = {heap.device_context(), heap.device_context(region),
                                heap.device_context(same), heap.device_context(region, same)};
    const platform::owned_stream stream;
    for (int shift = 0; shift < 4; ++shift) {
      plan.expect_one_cause(w, [&] {
        platform::launch<wait_kernel>(stream, 2,
                                      {contexts[(w.rank() + shift) % 4], signals.data(),
                                       plan.silent, (w.rank() + shift) % 2 == 0});
        heap.synchronize(stream);
      });
      heap.reset_fault();
    }
    heap.detach(std::move(region));
  });
}

TEST_F(FirstCause, OfATeamIsToldToTheTeamOnly) {
  on_ranks(6, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 16,
                            .signals = 64,
                            .wait_budget = w.rank() == 4 ? 100ms : one_in_a_hurry::long_budget()});
    const world team = w.split(w.rank() % 2, w.rank());
    stream_barrier of_team(heap, team);
    const platform::owned_stream stream;
    w.barrier("all are ready");
    if (w.rank() % 2 == 0 && w.rank() != 2) {  // ranks 0 and 4 of the heap, 0 and 2 of the team
      of_team.enqueue(stream);
      test::expect_error(errc::timed_out, 2, {"rank 2 waited for peer 1"},
                         [&] { heap.synchronize(stream); });
    }
    w.barrier("the even ranks have failed");
    if (w.rank() % 2 == 1) {
      for (int i = 0; i < 3; ++i) of_team.enqueue(stream);
      EXPECT_NO_THROW(heap.synchronize(stream));
    }
    heap.reset_fault();
    if (w.rank() == 2) of_team.enqueue(stream);
    of_team.enqueue(stream);
    EXPECT_NO_THROW(heap.synchronize(stream));
    w.barrier("end");
  });
}

TEST_F(FirstCause, EndsAWaitOfWhoComesLate) {
  on_ranks(3, [](const world& w) {
    const one_in_a_hurry plan(3);
    symmetric_heap heap(w, options_of(plan, w.rank()));
    load_kernels<wait_kernel>(w);
    const auto signals = heap.allocate_signals(1);
    const platform::owned_stream stream;
    const auto wait = [&] {
      platform::launch<wait_kernel>(stream, 1, {heap.device_context(), signals.data(), 0, false});
      heap.synchronize(stream);
    };
    plan.expect_one_cause(w, wait);
    if (w.rank() == plan.silent) {
      EXPECT_NO_THROW(heap.check()) << "none of its waits has ended";
      test::expect_error(errc::timed_out, plan.first, {"rank 2 failed first"}, wait);
    }
    heap.reset_fault();
    EXPECT_NO_THROW(heap.check());
  });
}

/// Ranks fail again and again, all at about the same time: after a reset nobody is told of a round
/// before.
TEST_F(FirstCause, IsForgottenByAllAtOnce) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64, .wait_budget = 2ms});
    load_kernels<wait_kernel>(w);
    const auto signals = heap.allocate_signals(64);
    const platform::owned_stream stream;
    for (int round = 0; round < 40; ++round) {
      platform::launch<wait_kernel>(
          stream, 1, {heap.device_context(), signals.data() + round, w.rank(), round % 3 == 0});
      test::expect_error(errc::timed_out, test::any_rank,
                         {"signal " + std::to_string(round) + " to 1 arrivals"},
                         [&] { heap.synchronize(stream); });
      heap.reset_fault();
      EXPECT_NO_THROW(heap.check());
    }
  });
}

}  // namespace
