// SPDX-License-Identifier: MIT
#include "hiris/comm/arrivals.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

/// Waits for a list of tiles, and between them takes the signals back: what has been seen is not
/// looked at again.
struct wait_kernel {
  static constexpr int block_threads = 128;
  struct params {
    context ctx;
    signal_counter* signals;
    const int* tiles;
    int n;
    int* status;  ///< [n]
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    comm::arrivals seen;
    for (int i = 0; i < p.n; ++i) {
      const int tile = p.tiles[i];
      const wait_status status = seen.wait(p.ctx, p.signals, tile, 1, 0);
      platform::block_sync();
      if (platform::thread_rank() == 0) {
        p.status[i] = status == wait_status::ok ? 0 : 1;
        platform::atomic_store<order::relaxed, scope::system>(&p.signals[tile].arrivals,
                                                              std::uint64_t{0});
      }
      platform::block_sync();
    }
  }
};

using Arrivals = test::device_test;

TEST_F(Arrivals, AreRememberedByTheWholeWorkgroup) {
  test::on_ranks(1, [&](const world& w) {
    const platform::device_guard guard(w.device());
    constexpr int tiles = comm::max_tiles;
    symmetric_heap heap(
        w,
        {.data_bytes = 1 << 16, .signals = tiles, .wait_budget = std::chrono::milliseconds(100)});
    auto signals = heap.allocate_signals(tiles);
    std::vector<signal_counter> counts(tiles);
    for (auto& c : counts) c.arrivals = 1;
    counts[77].arrivals = 0;
    const platform::owned_stream stream;
    platform::copy(signals.data(), counts.data(), counts.size() * sizeof counts[0], stream);
    // Each of these twice, not in a row; the last tile of all; then one that has not arrived.
    const std::vector<int> order{0,         1,  31, 32, 63, 64,        0, 1,
                                 tiles - 1, 31, 32, 63, 64, tiles - 1, 77};
    platform::device_buffer<int> list(order.size()), status(order.size());
    list.copy_from(order);
    platform::launch<wait_kernel>(stream, 1,
                                  {heap.device_context(), signals.data(), list.data(),
                                   static_cast<int>(order.size()), status.data()});
    stream.synchronize();
    const std::vector<int> got = status.to_host();
    for (std::size_t i = 0; i + 1 < got.size(); ++i) EXPECT_EQ(got[i], 0) << "tile " << order[i];
    EXPECT_EQ(got.back(), 1) << "a tile that never arrived";
    EXPECT_THROW(heap.check(), error);
    heap.reset_fault();
  });
}

}  // namespace
