// SPDX-License-Identifier: MIT
#include "hiris/comm/pull.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

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
  static HIRIS_DEVICE void run(const params& p, shared&) { policy(p).begin(); }
};

/// A wait of rank 0 runs out. The call behind it has its shard elsewhere; rank 1, which is slow,
/// may be about to ask where that of the call before lies.
TEST_F(Pull, AfterATimeOutWhatIsOpenStaysWhereItIs) {
  test::on_ranks(2, [](const world& w) {
    const platform::device_guard guard(w.device());
    symmetric_heap heap(w, {.data_bytes = 1 << 16,
                            .signals = 64,
                            .wait_budget = test::patiently(std::chrono::milliseconds(50))});
    const std::int64_t elems = 4 * 64;
    all_gather_gemm_state state(heap, {4, 1, {64, 64}}, strategy::pull, {}, "float16");
    const auto a = heap.allocate<float16>(2 * elems);
    const window* const windows = heap.device_context().windows;
    const auto open = state.comm_params<policy>(a.data(), windows);
    const platform::owned_stream stream;
    if (w.rank() == 0) {
      platform::launch<begin_kernel>(stream, 1, open);
      platform::launch<guarded_barrier_kernel>(stream, 1, state.barrier_params());
      platform::launch<begin_kernel>(stream, 1,
                                     state.comm_params<policy>(a.data() + elems, windows));
      test::expect_error(errc::timed_out, 0, {"peer 1"}, [&] { heap.synchronize(stream); });
    }
    w.barrier("rank 0 has failed");
    if (w.rank() == 1) {
      std::int64_t offset = -1;
      signal_counter opened{};
      platform::copy_now(&offset, open.offsets, sizeof offset);
      platform::copy_now(&opened, open.x.arrived, sizeof opened);
      EXPECT_EQ(static_cast<std::uint64_t>(offset), heap.offset_of(a.data()));
      EXPECT_EQ(opened.arrivals, 1u);
    }
    w.barrier("end of the test");
  });
}

}  // namespace
