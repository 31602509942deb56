// SPDX-License-Identifier: MIT
#include "hiris/comm/pull.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/policy_conformance.hpp"
#include "hiris/platform/float16.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"
#include "support/patience.hpp"

namespace {

using namespace hiris;
using policy = comm::pull<float16>;
using Pull = test::device_test;

TEST_F(Pull, GathersEveryElementOfEveryCall) { test::expect_conformance<policy>(strategy::pull); }

/// Says where this rank's shard lies, and no more.
struct begin_kernel {
  static constexpr int block_threads = 64;
  using params = policy::params;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) { static_cast<void>(policy(p).begin()); }
};

/// One of two ranks, whose waits run out soon.
class pull_rank {
 public:
  explicit pull_rank(const world& w)
      : heap_(w, {.data_bytes = 1 << 16,
                  .signals = 64,
                  .wait_budget = test::patiently(std::chrono::milliseconds(50))}),
        state_(heap_, {m, 1, {k, k}}, strategy::pull, {}, "float16"),
        a_(heap_.allocate<float16>(2 * m * k)),
        to_(std::size_t{2 * m * k}) {
    platform::fill(a_.data(), std::byte{0}, 2 * m * k * sizeof(float16), stream_);
  }

  symmetric_heap& heap() { return heap_; }
  /// Of a call with the shard in one of two places.
  policy::params params(int place = 0) const {
    return state_.comm_params<policy>(a_.data() + place * m * k, heap_.device_context().windows);
  }
  /// A whole call, or what it begins with.
  void call() {
    platform::launch<test::gather_kernel<policy>>(
        stream_, 1,
        {params(), state_.shards(), to_.data(), m, 2 * k, 2, heap_.ranks().rank(), false});
  }
  void begin(int place = 0) { platform::launch<begin_kernel>(stream_, 1, params(place)); }
  /// A wait for a peer that does not come.
  void fail() {
    platform::launch<guarded_barrier_kernel>(stream_, 1, state_.barrier_params());
    expect_time_out("peer 1");
  }
  void expect_time_out(const std::string& text) {
    test::expect_error(errc::timed_out, 0, {text}, [&] { heap_.synchronize(stream_); });
  }
  std::uint64_t arrivals(const signal_counter* at) {
    signal_counter seen{};
    platform::synchronize(stream_);
    platform::copy_now(&seen, at, sizeof seen);
    return seen.arrivals;
  }

 private:
  static constexpr int m = 4, k = 64;

  platform::owned_stream stream_;
  symmetric_heap heap_;
  all_gather_gemm_state state_;
  symmetric_array<float16> a_;
  platform::device_buffer<std::uint16_t> to_;
};

/// The call behind a wait of rank 0 that ran out has its shard elsewhere. Rank 1, which is slow,
/// may be about to ask where that of the call before lies.
TEST_F(Pull, AfterATimeOutWhatIsOpenStaysWhereItIs) {
  test::on_ranks(2, [](const world& w) {
    const platform::device_guard guard(w.device());
    pull_rank mine(w);
    if (w.rank() == 0) {
      mine.begin(0);
      mine.fail();
      mine.begin(1);
    }
    w.barrier("rank 0 has failed");
    if (w.rank() == 1) {
      const auto x = mine.params();
      std::int64_t offset = -1;
      platform::copy_now(&offset, x.offsets, sizeof offset);
      EXPECT_EQ(static_cast<std::uint64_t>(offset), mine.heap().offset_of(x.x.a));
      EXPECT_EQ(mine.arrivals(x.x.arrived), 1u);
    }
    w.barrier("end of the test");
  });
}

/// Behind a wait of rank 0 that ran out, its caller overwrites A. Rank 1, which reads that, must
/// not take it for the call's.
TEST_F(Pull, AfterATimeOutNobodySaysThatItHasRead) {
  test::on_ranks(2, [](const world& w) {
    const platform::device_guard guard(w.device());
    pull_rank mine(w);
    if (w.rank() == 1) mine.begin();
    if (w.rank() == 0) {
      mine.begin();
      mine.fail();
    }
    w.barrier("both are open, rank 0 has failed");
    if (w.rank() == 0) mine.call();
    w.barrier("rank 0's call has been launched");
    if (w.rank() == 0) mine.expect_time_out("peer 1");
    w.barrier("rank 0's call is over");
    if (w.rank() == 1) {
      EXPECT_EQ(mine.arrivals(mine.params().x.acknowledged), 0u);
    }
    w.barrier("end of the test");
  });
}

/// Rank 0 has read all, and its wait for rank 1 to say so runs out; its caller overwrites A.
TEST_F(Pull, AfterATimeOutAtTheEndTheSlowRankFailsToo) {
  test::on_ranks(2, [](const world& w) {
    const platform::device_guard guard(w.device());
    pull_rank mine(w);
    if (w.rank() == 1) mine.begin();
    w.barrier("rank 1 is open");
    if (w.rank() == 0) {
      mine.call();
      mine.expect_time_out("peer 1");
    }
    w.barrier("rank 0 has failed");
    if (w.rank() == 1) {
      mine.call();
      mine.expect_time_out("rank 0 failed first");
    }
    w.barrier("end of the test");
  });
}

}  // namespace
