// SPDX-License-Identifier: MIT
// Contexts of sub-teams: the kernel counts ranks of the team, and reaches members only.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "support/altered_channel.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::symmetric_heap;
using hiris::world;
using hiris::test::expect_error;
using hiris::test::on_ranks;
using hiris::test::to_device;
using hiris::test::to_host;

using Teams = hiris::test::device_test;

constexpr hiris::heap_options small{.data_bytes = 4096, .signals = 8};

/// Adds a power of ten of this rank's number to a word and a signal of every member.
struct mark_kernel {
  static constexpr int block_threads = 64;
  struct params {
    hiris::context ctx;
    std::uint64_t* word;
    hiris::signal_counter* signal;
    std::uint64_t mark;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    using namespace hiris;
    if (platform::thread_rank() != 0) return;
    for (int r = 0; r < p.ctx.size; ++r) {
      platform::atomic_fetch_add<order::relaxed, scope::system>(p.ctx.on(r, p.word), p.mark);
      platform::atomic_fetch_add<order::relaxed, scope::system>(&p.ctx.on(r, p.signal)->arrivals,
                                                                p.mark);
    }
  }
};

TEST_F(Teams, AKernelReachesItsMembersOnly) {
  on_ranks(6, [](const world& w) {
    symmetric_heap heap(w, small);
    const auto word = heap.allocate<std::uint64_t>(1);
    const auto signal = heap.allocate_signals(1);
    to_device(word.data(), std::vector<std::uint64_t>{0});
    const world team = w.split(w.rank() % 3, -w.rank());
    const hiris::context ctx = heap.device_context(team);
    EXPECT_EQ(ctx.size, 2);
    EXPECT_EQ(ctx.rank, w.rank() < 3 ? 1 : 0);
    const hiris::context world_ctx = heap.device_context();
    EXPECT_EQ(ctx.fault, world_ctx.fault);
    std::uint64_t mark = 1;
    for (int i = 0; i < w.rank(); ++i) mark *= 10;
    w.barrier("words are zero");
    const hiris::platform::owned_stream stream;
    hiris::platform::launch<mark_kernel>(stream, 1, {ctx, word.data(), signal.data(), mark});
    stream.synchronize();
    w.barrier("marks are made");
    const std::uint64_t expected[] = {1001, 10010, 100100};
    EXPECT_EQ(to_host(word.data(), 1)[0], expected[w.rank() % 3]);
    EXPECT_EQ(to_host(signal.data(), 1)[0].arrivals, expected[w.rank() % 3]);
    w.barrier("marks are read");
  });
}

TEST_F(Teams, TheTableOfATeamIsMadeOnce) {
  on_ranks(4, [](const world& w) {
    symmetric_heap heap(w, small);
    const world pair = w.split(w.rank() / 2, w.rank());
    const hiris::window* first = heap.device_context(pair).windows;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(heap.device_context(pair).windows, first);
    EXPECT_NE(heap.device_context(w.split(0, -w.rank())).windows, first);
  });
}

TEST_F(Teams, AWorldOfOtherHeapsIsRefused) {
  on_ranks(4, [](const world& w) {
    const world half = w.split(w.rank() / 2, w.rank());
    symmetric_heap own(half, small);  // two heaps, one a half
    expect_error(errc::mismatch, 2, {"another heap", "share one symmetric heap"},
                 [&] { own.device_context(w); });
    EXPECT_EQ(own.device_context(half).size, 2);
  });
}

TEST_F(Teams, ARankThatTheHeapDoesNotHaveIsRefused) {
  struct told {  // as detail::members_of() tells it
    std::array<std::byte, 16> heap_id;
    std::int32_t heap_rank;
  };
  for (const std::int32_t wrong : {-1, 0, 3, 1 << 30})  // 0 is rank 0 of the team
    hiris::run_ranks(3, [&](std::shared_ptr<hiris::bootstrap> boot) {
      const world w(hiris::test::altered<told>(std::move(boot), "context of a team", 1,
                                               [&](told& t) { t.heap_rank = wrong; }));
      symmetric_heap heap(w, small);
      const world team = w.split(0, 0);
      expect_error(errc::mismatch, 1,
                   {"it is rank " + std::to_string(wrong) + " of the heap", "0 to 2, each once"},
                   [&] { heap.device_context(team); });
    });
}

}  // namespace
