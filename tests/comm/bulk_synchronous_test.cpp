// SPDX-License-Identifier: MIT
#include "hiris/comm/bulk_synchronous.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/policy_conformance.hpp"
#include "hiris/platform/float16.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"
#include "support/patience.hpp"

namespace {

using namespace hiris;
using BulkSynchronous = test::device_test;

TEST_F(BulkSynchronous, GathersEveryElementOfEveryCall) {
  test::expect_conformance<comm::bulk_synchronous<float16>>(strategy::bulk_synchronous);
}

/// Rank 1 still reads what came for call 1 when rank 0's barrier of call 2 runs out. Rank 0's third
/// call, which is behind that, has the same slot. Rank 0 gathers nothing either.
TEST_F(BulkSynchronous, AfterATimeOutNobodyWritesWhatIsBeingRead) {
  using policy = comm::bulk_synchronous<float16>;
  using kernel = test::gather_kernel<policy>;
  test::on_ranks(2, [](const world& w) {
    const platform::device_guard guard(w.device());
    symmetric_heap heap(w, {.data_bytes = 1 << 16,
                            .signals = 64,
                            .wait_budget = test::patiently(std::chrono::milliseconds(50))});
    const all_gather_gemm_problem p{4, 1, {64, 64}};
    all_gather_gemm_state state(heap, p, strategy::bulk_synchronous, {}, "float16");
    const platform::owned_stream stream;
    platform::device_buffer<std::uint16_t> to(static_cast<std::size_t>(p.m * p.k()));
    const platform::device_buffer<float16> a(static_cast<std::size_t>(p.m * state.own_k()));
    kernel::params params{state.comm_params<policy>(a.data(), nullptr),
                          state.shards(),
                          to.data(),
                          static_cast<int>(p.m),
                          static_cast<int>(p.k()),
                          w.size(),
                          w.rank(),
                          false};
    const auto launch = [&](bool ships) {
      params.ship = ships;
      platform::launch<kernel>(stream, 1, params);
    };
    for (int call = 1; call <= (w.rank() == 0 ? 3 : 1); ++call) {
      platform::fill(a.data(), static_cast<std::byte>(call), a.size_bytes(), stream);
      launch(true);
      platform::launch<guarded_barrier_kernel>(stream, 1, state.barrier_params());
      if (w.rank() == 0) launch(false);
    }
    if (w.rank() == 0)
      test::expect_error(errc::timed_out, 0, {"peer 1"}, [&] { heap.synchronize(stream); });
    w.barrier("rank 0 has failed");
    if (w.rank() == 1) {
      launch(false);
      heap.synchronize(stream);
    }
    for (const std::uint16_t element : to.to_host()) ASSERT_EQ(element, 0x0101);
    w.barrier("end of the test");
  });
}

}  // namespace
