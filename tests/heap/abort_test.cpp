// SPDX-License-Identifier: MIT
// The host ends waits on the device, and the heap serves again after that.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "hiris/heap.hpp"
#include "hiris/signal.hpp"
#include "hiris/stream_barrier.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using namespace std::chrono_literals;
using test::expect_error;
using test::on_ranks;

using Abort = test::device_test;

constexpr heap_options patient{.data_bytes = 1 << 16, .signals = 64, .wait_budget = 60s};

TEST_F(Abort, EndsAWaitLongBeforeItsBudget) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, patient);
    stream_barrier barrier(heap);
    const platform::owned_stream stream;
    w.barrier("all are ready");
    if (w.rank() == 0) {
      const auto start = std::chrono::steady_clock::now();
      barrier.enqueue(stream);
      std::thread other([&] {
        std::this_thread::sleep_for(50ms);
        heap.abort();
      });
      expect_error(errc::aborted, 0, {"host"}, [&] { heap.synchronize(stream); });
      other.join();
      EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
      expect_error(errc::aborted, 0, {"host"}, [&] { heap.check(); });
    }
    w.barrier("rank 0 has given up");
    EXPECT_NO_THROW(w.rank() == 1 ? heap.check() : void()) << "none of its waits has ended";
    heap.reset_fault();
    if (w.rank() == 1) barrier.enqueue(stream);  // rank 0's arrival is there already
    heap.synchronize(stream);
    barrier.enqueue(stream);
    EXPECT_NO_THROW(heap.synchronize(stream));
    EXPECT_EQ(barrier.epoch(), 2u);
    w.barrier("end");
  });
}

TEST_F(Abort, IsToldToThePeersThatWait) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, patient);
    stream_barrier barrier(heap);
    const platform::owned_stream stream;
    w.barrier("all are ready");
    if (w.rank() != 1) {
      const auto start = std::chrono::steady_clock::now();
      barrier.enqueue(stream);
      if (w.rank() == 2) {
        std::this_thread::sleep_for(50ms);
        heap.abort();
      }
      expect_error(errc::aborted, 2, {w.rank() == 2 ? "the host ended" : "the host of rank 2"},
                   [&] { heap.synchronize(stream); });
      EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
    }
    heap.reset_fault();
    if (w.rank() == 1) barrier.enqueue(stream);  // to be at the epoch of the others
    barrier.enqueue(stream);
    EXPECT_NO_THROW(heap.synchronize(stream));
    EXPECT_EQ(barrier.epoch(), 2u);
    w.barrier("end");
  });
}

TEST_F(Abort, OfAKernelThatStartsLaterEndsItAtOnce) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, patient);
    stream_barrier barrier(heap);
    const platform::owned_stream stream;
    w.barrier("all are ready");
    if (w.rank() == 0) {
      const auto start = std::chrono::steady_clock::now();
      heap.abort();
      heap.abort();  // once more changes nothing
      barrier.enqueue(stream);
      expect_error(errc::aborted, 0, {"host"}, [&] { heap.synchronize(stream); });
      EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
    }
    w.barrier("end");
  });
}

TEST_F(Abort, DoesNotHideATimeOutThatCameFirst) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64, .wait_budget = 50ms});
    stream_barrier barrier(heap);
    const platform::owned_stream stream;
    w.barrier("all are ready");
    if (w.rank() == 0) {
      barrier.enqueue(stream);
      stream.synchronize();
      heap.abort();
      expect_error(errc::timed_out, 0, {"peer 1"}, [&] { heap.check(); });
    }
    w.barrier("end");
    expect_error(errc::invalid_argument, w.rank(), {"closed"}, [&] {
      heap.close();
      heap.abort();
    });
  });
}

}  // namespace
