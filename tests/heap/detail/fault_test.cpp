// SPDX-License-Identifier: MIT
#include "hiris/heap/detail/fault.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
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
using hiris::fault_cause;
using hiris::fault_record;
using hiris::fault_state;
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
    const auto block = static_cast<std::uint32_t>(platform::block_rank());
    detail::end_waits(p.ctx, {p.ctx.rank, 3, block, 17, 42, 41, 2'000'999'999});
  }
};

void throw_own(fault_record& f, int rank) {
  hiris::detail::throw_if_faulted(f, rank, []() -> fault_record {
    ADD_FAILURE() << "the control line is not asked";
    return {};
  });
}

constexpr fault_cause example{1, -1, 0, 5, 9, 8, 1000000};

TEST(FaultRecord, NothingIsThrownWithoutAFault) {
  fault_record f{};
  EXPECT_NO_THROW(throw_own(f, 0));
}

TEST(FaultRecord, AnyPeerHasNoNumber) {
  fault_record f{fault_state::complete, example};
  expect_error(errc::timed_out, 1,
               {": in a kernel, workgroup 0 of rank 1", "any peer", "signal 5", "9 arrivals",
                "saw 8", "1 ms"},
               [&] { throw_own(f, 1); });
}

TEST(FaultRecord, APeersCauseIsThePeers) {
  fault_record f{fault_state::told, {}};
  fault_record line{fault_state::complete, example};
  expect_error(errc::timed_out, 1,
               {"rank 1 failed first and told this rank: in a kernel, workgroup 0 of rank 1"},
               [&] { hiris::detail::throw_if_faulted(f, 0, [&] { return line; }); });
  line.state = fault_state::aborted;
  expect_error(errc::aborted, 1, {"the host of rank 1"},
               [&] { hiris::detail::throw_if_faulted(f, 0, [&] { return line; }); });
}

TEST(FaultRecord, AnAbortHasNoCause) {
  fault_record f{};
  hiris::detail::record_abort(f);
  expect_error(errc::aborted, 2, {"the host"}, [&] { throw_own(f, 2); });
  f.state = fault_state::aborted;  // a wait has found it
  expect_error(errc::aborted, 2, {"the host"}, [&] { throw_own(f, 2); });
  hiris::detail::clear_fault(f);
  EXPECT_NO_THROW(throw_own(f, 2));
}

TEST(FaultRecord, AnAbortComesAfterACause) {
  fault_record f{fault_state::complete, example};
  hiris::detail::record_abort(f);
  expect_error(errc::timed_out, 1, {"signal 5"}, [&] { throw_own(f, 1); });
}

TEST_F(Fault, StaysUntilReset) {
  hiris::test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 100, .signals = 1});
    const hiris::platform::owned_stream stream;
    if (w.rank() == 1) hiris::platform::launch<fail_kernel>(stream, 4, {heap.device_context()});
    const std::vector<std::string> words = {"rank 1",      "peer 3", "signal 17",
                                            "42 arrivals", "saw 41", "2000 ms"};
    if (w.rank() == 1) {
      expect_error(errc::timed_out, 1, words, [&] { heap.synchronize(stream); });
      expect_error(errc::timed_out, 1, words, [&] { heap.check(); });
    }
    w.barrier("rank 1 has failed");
    if (w.rank() == 0) {
      EXPECT_NO_THROW(heap.check()) << "no wait of rank 0 has failed";
    }
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

TEST_F(Fault, AWaitThatRunsOutIsThrownOnTheHostOfEveryRank) {
  hiris::test::on_ranks(3, [](const world& w) {
    symmetric_heap heap(
        w, {.data_bytes = 100, .signals = 10, .wait_budget = std::chrono::seconds(60)});
    const auto signals = heap.allocate_signals(10);
    const hiris::platform::owned_stream stream;
    hiris::context ctx = heap.device_context();
    if (w.rank() == 1) ctx.budget_ns = 30'000'000;
    const int from = (w.rank() + 1) % 3;
    hiris::platform::launch<wait_kernel>(stream, 1, {ctx, signals.data() + 7, 42, from});
    expect_error(errc::timed_out, 1,
                 {w.rank() == 1 ? ": in a kernel, workgroup 0 of rank 1"
                                : "told this rank: in a kernel, workgroup 0 of rank 1",
                  "peer 2", "signal 7 ", "42 arrivals", "saw 0 ", " ms"},
                 [&] { heap.synchronize(stream); });
    heap.reset_fault();
    hiris::platform::launch<wait_kernel>(stream, 1, {ctx, signals.data(), 0, from});
    EXPECT_NO_THROW(heap.synchronize(stream));
  });
}

}  // namespace
