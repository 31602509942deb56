// SPDX-License-Identifier: MIT
// The barrier on streams: orders the kernels of all ranks, as threads and as processes, for teams,
// in graphs; a rank that does not come is named by the heap.
#include "hiris/stream_barrier.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "support/device_test.hpp"
#include "support/errors.hpp"
#include "support/meeting_kernels.hpp"
#include "support/processes.hpp"

namespace {

using namespace hiris;
using test::bump_kernel;
using test::on_ranks;
using test::sum_kernel;

using StreamBarrier = test::device_test;

constexpr heap_options small{.data_bytes = 1 << 16, .signals = 64};

/// One rank's part: in step i (from 1) every rank's word 0 is i when all read it.
struct stepper {
  context ctx;
  int* word;
  stream_barrier& barrier;
  platform::stream stream;

  void step() {
    platform::launch<bump_kernel>(stream, 1, {word});
    barrier.enqueue(stream);
    platform::launch<sum_kernel>(stream, 1, {ctx, word});
    barrier.enqueue(stream);
  }
};

void check_steps(const world& w, int steps, bool replayed) {
  symmetric_heap heap(w, small);
  const platform::device_guard guard(w.device());
  load_kernels<bump_kernel, sum_kernel>(w);
  const auto words = heap.allocate<int>(2);
  test::to_device(words.data(), std::vector<int>{0, 0});
  stream_barrier barrier(heap);
  const platform::owned_stream stream;
  stepper me{heap.device_context(), words.data(), barrier, stream};
  w.barrier("all words are zero");
  if (replayed) {
    platform::graph graph = platform::graph::capture(stream, [&] { me.step(); });
    for (int i = 0; i < steps; ++i) graph.launch(stream);
  } else {
    for (int i = 0; i < steps; ++i) me.step();
  }
  heap.synchronize(stream);
  EXPECT_EQ(test::to_host(words.data(), 2),
            (std::vector<int>{steps, w.size() * steps * (steps + 1) / 2}))
      << "rank " << w.rank() << " of " << w.size();
  EXPECT_EQ(barrier.epoch(), 2u * static_cast<unsigned>(steps));
  w.barrier("all have read");
}

TEST_F(StreamBarrier, OrdersKernelsOfAllRanks) {
  for (int n = 1; n <= 8; ++n) on_ranks(n, [](const world& w) { check_steps(w, 50, false); });
}

TEST_F(StreamBarrier, IsCapturedAndReplayed) {
  on_ranks(3, [](const world& w) { check_steps(w, 100, true); });
}

// A stream that has run nothing may have to be set up when the kernels of the device have ended:
// see platform::prepare_stream. Eight ranks share the devices, all with a stream of that minute.
TEST_F(StreamBarrier, OnFreshStreams) {
  on_ranks(8, [](const world& w) {
    for (int round = 0; round < 20; ++round) check_steps(w, 1, false);
  });
}

TEST_F(StreamBarrier, AcrossProcesses) {
  test::on_processes({.processes = 2, .threads = 1},
                     [](const world& w) { check_steps(w, 50, false); });
}

TEST_F(StreamBarrier, OfTeams) {
  on_ranks(5, [](const world& w) {
    symmetric_heap heap(w, small);
    const world team = w.split(w.rank() % 2, w.rank());
    const platform::device_guard guard(w.device());
    load_kernels<bump_kernel, sum_kernel>(w);
    const auto words = heap.allocate<int>(2);
    test::to_device(words.data(), std::vector<int>{0, 0});
    stream_barrier barrier(heap, team);
    const platform::owned_stream stream;
    stepper me{heap.device_context(team), words.data(), barrier, stream};
    w.barrier("all words are zero");
    const int steps = w.rank() % 2 == 0 ? 7 : 20;  // teams do not wait for each other
    for (int i = 0; i < steps; ++i) me.step();
    heap.synchronize(stream);
    EXPECT_EQ(test::to_host(words.data(), 2),
              (std::vector<int>{steps, team.size() * steps * (steps + 1) / 2}));
    w.barrier("all have read");
  });
}

TEST_F(StreamBarrier, ARankThatDoesNotComeIsNamed) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(
        w, {.data_bytes = 1 << 16, .signals = 64, .wait_budget = std::chrono::milliseconds(50)});
    stream_barrier barrier(heap);
    const platform::owned_stream stream;
    w.barrier("all are ready");
    if (w.rank() != 1) {
      barrier.enqueue(stream);
      test::expect_error(errc::timed_out, test::any_rank, {"peer 1"},
                         [&] { heap.synchronize(stream); });
      EXPECT_EQ(barrier.epoch(), 1u) << "this rank's arrivals have been sent";
    }
    w.barrier("all have timed out");
    // the late rank finds the others' arrivals; after that all are at the same epoch again
    if (w.rank() == 1) barrier.enqueue(stream);
    EXPECT_NO_THROW(w.rank() == 1 ? heap.synchronize(stream) : void());
    heap.reset_fault();
    barrier.enqueue(stream);
    EXPECT_NO_THROW(heap.synchronize(stream));
    EXPECT_EQ(barrier.epoch(), 2u);
    w.barrier("end");
  });
}

}  // namespace
