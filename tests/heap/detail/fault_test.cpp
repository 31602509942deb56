// SPDX-License-Identifier: MIT
#include "hiris/heap/detail/fault.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/signal.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::fault_record;
using hiris::symmetric_heap;
using hiris::world;
using hiris::test::expect_error;

using Fault = hiris::test::device_test;

/// Leaves the record that a wait leaves.
struct fail_kernel {
  static constexpr int block_threads = 64;
  struct params {
    hiris::context ctx;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    using namespace hiris;
    if (platform::thread_rank() != 0) return;
    fault_record* f = p.ctx.fault;
    if (platform::atomic_compare_exchange<order::relaxed, scope::system>(&f->state, 0u, 1u) != 0u)
      return;
    f->rank = p.ctx.rank;
    f->peer = 3;
    f->block = static_cast<std::uint32_t>(platform::block_rank());
    f->signal = 17;
    f->expected = 42;
    f->seen = 41;
    f->elapsed_ns = 2'000'999'999;
    platform::atomic_store<order::release, scope::system>(&f->state, 2u);
  }
};

TEST(FaultRecord, NothingIsThrownWithoutAFault) {
  fault_record f{};
  EXPECT_NO_THROW(hiris::detail::throw_if_faulted(f));
}

TEST(FaultRecord, AnyPeerHasNoNumber) {
  fault_record f{2, 1, -1, 0, 5, 9, 8, 1000000};
  expect_error(errc::timed_out, 1,
               {"rank 1", "any peer", "signal 5", "9 arrivals", "saw 8", "1 ms"},
               [&] { hiris::detail::throw_if_faulted(f); });
}

TEST(FaultRecord, AnUnfinishedRecordIsWaitedForButNotForever) {
  fault_record f{1, 1, 2, 0, 5, 9, 8, 1000000};
  expect_error(errc::timed_out, -1, {"not complete"}, [&] { hiris::detail::throw_if_faulted(f); });
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::atomic_ref<std::uint32_t>(f.state).store(2, std::memory_order_release);
  });
  expect_error(errc::timed_out, 1, {"signal 5"}, [&] { hiris::detail::throw_if_faulted(f); });
  writer.join();
}

TEST_F(Fault, StaysUntilReset) {
  hiris::test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 100, .signals = 1});
    const hiris::platform::owned_stream stream;
    hiris::platform::launch<fail_kernel>(stream, 4, {heap.device_context()});
    const std::vector<std::string> words = {"rank " + std::to_string(w.rank()),
                                            "peer 3",
                                            "signal 17",
                                            "42 arrivals",
                                            "saw 41",
                                            "2000 ms"};
    expect_error(errc::timed_out, w.rank(), words, [&] { heap.synchronize(stream); });
    expect_error(errc::timed_out, w.rank(), words, [&] { heap.check(); });
    heap.reset_fault();
    EXPECT_NO_THROW(heap.check());
    EXPECT_NO_THROW(heap.synchronize(stream));
  });
}

/// Waits for a signal that nobody sends enough of.
struct wait_kernel {
  static constexpr int block_threads = 64;
  struct params {
    hiris::context ctx;
    hiris::signal_counter* signal;
    std::uint64_t target;
    int from;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    static_cast<void>(hiris::block_wait_until(p.ctx, p.signal, p.target, p.from));
  }
};

TEST_F(Fault, AWaitThatRunsOutIsThrownOnTheHost) {
  hiris::test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(
        w, {.data_bytes = 100, .signals = 10, .wait_budget = std::chrono::milliseconds(30)});
    const auto signals = heap.allocate_signals(10);
    const hiris::platform::owned_stream stream;
    hiris::platform::launch<wait_kernel>(
        stream, 1, {heap.device_context(), signals.data() + 7, 42, 1 - w.rank()});
    expect_error(errc::timed_out, w.rank(),
                 {"rank " + std::to_string(w.rank()), "peer " + std::to_string(1 - w.rank()),
                  "signal 7 ", "42 arrivals", "saw 0 ", " ms"},
                 [&] { heap.synchronize(stream); });
    heap.reset_fault();
    hiris::platform::launch<wait_kernel>(stream, 1,
                                         {heap.device_context(), signals.data(), 0, 1 - w.rank()});
    EXPECT_NO_THROW(heap.synchronize(stream));
  });
}

}  // namespace
