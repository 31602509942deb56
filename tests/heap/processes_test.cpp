// SPDX-License-Identifier: MIT
// The heap over ranks that are processes, and over ranks that are partly threads of one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
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
#include "support/processes.hpp"

namespace {

using hiris::errc;
using hiris::symmetric_heap;
using hiris::world;
using hiris::platform::device_buffer;
using hiris::test::expect_error;
using hiris::test::on_processes;
using hiris::test::to_host;

using Processes = hiris::test::device_test;

constexpr hiris::heap_options small{.data_bytes = 1 << 20, .signals = 64};

/// Tells every member 100 * from + to, and adds to its signal.
struct greet_kernel {
  static constexpr int block_threads = 64;
  struct params {
    hiris::context ctx;
    std::int32_t* greetings;         // [size]
    hiris::signal_counter* signals;  // [size]
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    using namespace hiris;
    const int to = platform::thread_rank();
    if (to >= p.ctx.size) return;
    platform::peer_store(p.ctx.on(to, p.greetings + p.ctx.rank),
                         std::int32_t{100 * p.ctx.rank + to});
    platform::atomic_fetch_add<order::relaxed, scope::system>(
        &p.ctx.on(to, p.signals + p.ctx.rank)->arrivals, std::uint64_t{5});
  }
};

/// Runs greet_kernel on all ranks of `team` and checks what came.
void greet(const world& team, hiris::context ctx, std::int32_t* greetings,
           hiris::signal_counter* signals) {
  const hiris::platform::owned_stream stream;
  hiris::platform::launch<greet_kernel>(stream, 1, {ctx, greetings, signals});
  stream.synchronize();
  team.barrier("greetings are sent");
  const auto told = to_host(greetings, team.size());
  const auto arrived = to_host(signals, team.size());
  for (int from = 0; from < team.size(); ++from) {
    EXPECT_EQ(told[static_cast<std::size_t>(from)], 100 * from + team.rank());
    EXPECT_EQ(arrived[static_cast<std::size_t>(from)].arrivals, 5u);
  }
  team.barrier("greetings are read");
}

/// All that a heap does, on whatever ranks there are.
void use_heap(const world& w) {
  symmetric_heap heap(w, small);
  const auto before = heap.allocate<char>(777);
  const auto greetings = heap.allocate<std::int32_t>(w.size());
  for (int round = 0; round < 3; ++round) {
    const auto signals = heap.allocate_signals(w.size());
    EXPECT_EQ(signals.offset(), 0u);  // used again, and zero again
    greet(w, heap.device_context(), greetings.data(), signals.data());
  }
  const world halves = w.split(w.rank() % 2, -w.rank());
  const auto signals = heap.allocate_signals(w.size());
  greet(halves, heap.device_context(halves), greetings.data(), signals.data());
  w.barrier("teams are done");

  device_buffer<std::int32_t> memory(100);
  std::int32_t* mine = memory.data() + w.rank();  // another base and offset on every rank
  auto region = heap.attach(mine, w.size());
  const auto fresh = heap.allocate_signals(w.size());
  greet(w, heap.device_context(region), mine, fresh.data());
  heap.detach(std::move(region));

  expect_error(errc::mismatch, 1, {"3 elements", "4 elements"},
               [&] { heap.allocate<int>(w.rank() == 1 ? 3 : 4); });
  expect_error(errc::out_of_memory, 0, {"needs 2097152 bytes"},
               [&] { heap.allocate<char>(2 << 20); });
}

TEST_F(Processes, TwoProcesses) { on_processes({.processes = 2}, use_heap); }
TEST_F(Processes, FiveProcesses) { on_processes({.processes = 5}, use_heap); }
TEST_F(Processes, TwoProcessesOfThreeThreads) {
  on_processes({.processes = 2, .threads = 3}, use_heap);
}

TEST_F(Processes, ASwappedHandleIsFoundOut) {
  on_processes({.processes = 3}, [](const world& w) {
    using namespace hiris::detail;
    const hiris::platform::owned_stream stream;
    const auto mine =
        std::make_shared<memory_segment>(w.device(), 5000, hiris::platform::memory_kind::data);
    const auto proof = write_proof(mine->base(), 5000, stream);
    const own_offer offer(w, mine->base(), 5000, proof, mine);
    auto offers = exchange_offers(w, offer.told(), "segment");
    const auto right = offers;
    if (w.rank() == 2) std::swap(offers[0].handle, offers[1].handle);
    expect_error(errc::mapping_failed, 2, {"segment of rank 0", "nonce"},
                 [&] { peer_map(w, offers, stream, "segment"); });
    EXPECT_EQ(ipc_cache::of_process().size(), 0u);
    offers = right;
    if (w.rank() == 1) offers[2].handle.offset += 8;
    expect_error(errc::mapping_failed, 1, {"segment of rank 2", "nonce"},
                 [&] { peer_map(w, offers, stream, "segment"); });
    for (const std::uint64_t far : {std::uint64_t{1} << 30, ~std::uint64_t{4999}}) {  // one wraps
      offers = right;
      if (w.rank() == 1) offers[2].handle.offset = far;
      expect_error(
          errc::mapping_failed, 1,
          {"segment of rank 2", "5000 bytes at offset " + std::to_string(far), "allowed is what"},
          [&] { peer_map(w, offers, stream, "segment"); });
      EXPECT_EQ(ipc_cache::of_process().size(), 0u);
    }
    offers = right;
    if (w.rank() == 1) offers[0].handle.bytes.fill(std::byte{0x5a});
    expect_error(errc::mapping_failed, 1, {"segment of rank 0"},
                 [&] { peer_map(w, offers, stream, "segment"); });
    EXPECT_EQ(ipc_cache::of_process().size(), 0u);
    EXPECT_NO_THROW(peer_map(w, right, stream, "segment"));
    w.barrier("unmapped");
    EXPECT_FALSE(hiris::platform::has_last_error());
  });
}

// It has told no handle then, and no rank takes its word for the process that it is in.
TEST_F(Processes, APeerThatPassesForOneOfThisProcessIsNotMapped) {
  hiris::test::in_processes({.processes = 2}, [](const hiris::tcp_options& o) {
    const auto boot = hiris::connect_tcp(o);
    const int other = 1 - o.rank;
    const auto liars = hiris::test::altered<hiris::peer_info>(
        boot, "exchange of hosts and devices", other, [](hiris::peer_info& p) {
          p.process = getpid();
          p.process_nonce = hiris::detail::process_nonce();
        });
    const world w(liars);
    EXPECT_TRUE(w.peer(other).same_process(w.peer(o.rank)));
    expect_error(errc::mapping_failed, 0, {"data segment of rank 1", "hipIpcOpenMemHandle"},
                 [&] { symmetric_heap heap(w, small); });
    EXPECT_FALSE(hiris::platform::has_last_error());
    boot->barrier("the end");
  });
}

TEST_F(Processes, RegionsOfOneAllocationShareItsMapping) {
  on_processes({.processes = 2}, [](const world& w) {
    symmetric_heap heap(w, small);
    const std::size_t segments = hiris::detail::ipc_cache::of_process().size();
    EXPECT_EQ(segments, 2u);
    device_buffer<std::int32_t> memory(100);
    auto whole = heap.attach(memory.data(), 100);
    auto part = heap.attach(memory.data() + 40, 10);
    EXPECT_EQ(hiris::detail::ipc_cache::of_process().size(), segments + 1);
    whole = {};
    const auto signals = heap.allocate_signals(2);
    greet(w, heap.device_context(part), part.data(), signals.data());
    heap.detach(std::move(part));
    EXPECT_EQ(hiris::detail::ipc_cache::of_process().size(), segments);
    heap.close();
    EXPECT_EQ(hiris::detail::ipc_cache::of_process().size(), 0u);
  });
}

TEST_F(Processes, AKilledProcessIsNamedAndNobodyHangs) {
  const auto start = std::chrono::steady_clock::now();
  on_processes({.processes = 3, .exit_codes = {0, 128 + 9, 0}}, [](const world& w) {
    auto heap = std::make_unique<symmetric_heap>(w, small);
    if (w.rank() == 1) raise(SIGKILL);
    expect_error(errc::bootstrap_failed, hiris::test::any_rank, {"rank 1"},
                 [&] { heap->allocate<int>(1); });
    heap.reset();  // does not wait for rank 1
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
