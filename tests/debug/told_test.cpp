// SPDX-License-Identifier: MIT
// What a debug build refuses on one rank ends the waits of all, whose hosts throw the same.
#include <gtest/gtest.h>

#include <chrono>

#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using test::expect_error;

static_assert(platform::debug_build, "this test is of the debug build");

using Told = test::device_test;

/// Rank 1 stores to a rank that is not there; the others wait for it.
struct step_kernel {
  static constexpr int block_threads = platform::wave_size;
  struct params {
    context ctx;
    int* data;
    signal_counter* signal;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (p.ctx.rank != 1)
      static_cast<void>(block_wait_until(p.ctx, p.signal, 1, 1));
    else if (platform::thread_rank() == 0)
      store(p.ctx, p.data, 7, 5);
  }
};

TEST_F(Told, AMisuseIsTheCauseOnAllRanks) {
  test::on_ranks(3, [](const world& w) {
    symmetric_heap heap(w,
                        {.data_bytes = 64, .signals = 1, .wait_budget = std::chrono::seconds(120)});
    const platform::owned_stream stream;
    load_kernels<step_kernel>(w);
    const auto data = heap.allocate<int>(1);
    const auto signal = heap.allocate_signals(1);
    for (int round = 0; round < 3; ++round) {
      const auto start = std::chrono::steady_clock::now();
      platform::launch<step_kernel>(stream, 1, {heap.device_context(), data.data(), signal.data()});
      expect_error(errc::invalid_argument, 1,
                   {w.rank() == 1 ? ": workgroup 0 of rank 1 called store "
                                  : "rank 1 failed first and told this rank: workgroup 0 of rank 1",
                    "peer 5", "there is no rank 5; allowed are 0 to 2"},
                   [&] { heap.synchronize(stream); });
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
      heap.reset_fault();
      EXPECT_NO_THROW(heap.check());
    }
  });
}

}  // namespace
