// SPDX-License-Identifier: MIT
// A debug build refuses each kind of misuse in each primitive: nothing is touched, waits of the
// rank end, and the host throws what was wrong.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hiris/atomic.hpp"
#include "hiris/barrier.hpp"
#include "hiris/heap.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using detail::misuse;
using detail::primitive;
using test::expect_error;
using test::on_ranks;

static_assert(platform::debug_build, "this test is of the debug build");

using Misuse = test::device_test;

constexpr int window_elems = 1000, window_signals = 4;

/// One call of one primitive, as the host says.
struct call {
  primitive by;
  const char* name;
  int peer;
  int* at;
  signal_counter* signal;
  std::int64_t count;
  int* local;

  /// Ranks of a copy: from the peer, or to it where `local` is null.
  HIRIS_DEVICE int from(const context& ctx) const { return local != nullptr ? peer : ctx.rank; }
  HIRIS_DEVICE int to(const context& ctx) const { return local != nullptr ? ctx.rank : peer; }
};

struct call_kernel {
  static constexpr int block_threads = 2 * platform::wave_size;
  struct params {
    context ctx;
    call what;
    int* outcome;  ///< What the call returned, if anything.
  };
  struct shared {};

  static HIRIS_DEVICE int value_of(wait_status s) { return s == wait_status::ok ? 0 : 1; }

  static HIRIS_DEVICE int atomic(const context& ctx, const call& c) {
    constexpr auto relaxed = order::relaxed;
    switch (c.by) {
      case primitive::atomic_add:
        return atomic_add<relaxed>(ctx, c.at, 7, c.peer);
      case primitive::atomic_sub:
        return atomic_sub<relaxed>(ctx, c.at, 7, c.peer);
      case primitive::atomic_inc:
        return atomic_inc<relaxed>(ctx, c.at, c.peer);
      case primitive::atomic_min:
        return atomic_min<relaxed>(ctx, c.at, -7, c.peer);
      case primitive::atomic_max:
        return atomic_max<relaxed>(ctx, c.at, 1 << 30, c.peer);
      case primitive::atomic_and:
        return atomic_and<relaxed>(ctx, c.at, 0, c.peer);
      case primitive::atomic_or:
        return atomic_or<relaxed>(ctx, c.at, -1, c.peer);
      case primitive::atomic_xor:
        return atomic_xor<relaxed>(ctx, c.at, -1, c.peer);
      case primitive::atomic_xchg:
        return atomic_xchg<relaxed>(ctx, c.at, 7, c.peer);
      default:
        return atomic_cas<relaxed>(ctx, c.at, 5, 7, c.peer);
    }
  }
  /// What one thread calls.
  static HIRIS_DEVICE int of_thread(const context& ctx, const call& c) {
    const auto n = static_cast<std::uint64_t>(c.count);
    switch (c.by) {
      case primitive::on:
        return ctx.on(c.peer, c.at) == c.at ? 0 : 1;
      case primitive::load:
        return load(ctx, c.at, c.peer);
      case primitive::store:
        return store(ctx, c.at, 7, c.peer), 0;
      case primitive::get:
        return get(ctx, c.local, c.at, c.peer, n), 0;
      case primitive::put:
        return put(ctx, c.at, c.local, c.peer, n), 0;
      case primitive::copy:
        return copy(ctx, c.at, c.at, c.to(ctx), c.from(ctx), n), 0;
      case primitive::notify:
        return notify(ctx, c.signal, c.peer, n), 0;
      case primitive::notify_peer_stores:
        return notify_peer_stores(ctx, c.signal, c.peer, n), 0;
      case primitive::wait_until:
        return value_of(wait_until(ctx, c.signal, 0, c.peer));
      default:
        return atomic(ctx, c);
    }
  }
  static HIRIS_DEVICE void of_wave(const context& ctx, const call& c) {
    const auto n = static_cast<std::uint64_t>(c.count);
    if (c.by == primitive::wave_get) wave_get(ctx, c.local, c.at, c.peer, n);
    if (c.by == primitive::wave_put) wave_put(ctx, c.at, c.local, c.peer, n);
    if (c.by == primitive::wave_copy) wave_copy(ctx, c.at, c.at, c.to(ctx), c.from(ctx), n);
    if (c.by == primitive::wave_notify_peer_stores)
      wave_notify_peer_stores(ctx, c.signal, c.peer, n);
  }
  static HIRIS_DEVICE int of_block(const context& ctx, const call& c) {
    const auto n = static_cast<std::uint64_t>(c.count);
    if (c.by == primitive::block_get) block_get(ctx, c.local, c.at, c.peer, n);
    if (c.by == primitive::block_put) block_put(ctx, c.at, c.local, c.peer, n);
    if (c.by == primitive::block_copy) block_copy(ctx, c.at, c.at, c.to(ctx), c.from(ctx), n);
    if (c.by == primitive::block_notify) block_notify(ctx, c.signal, c.peer, n);
    if (c.by == primitive::block_notify_peer_stores)
      block_notify_peer_stores(ctx, c.signal, c.peer, n);
    if (c.by == primitive::block_wait_until)
      return value_of(block_wait_until(ctx, c.signal, 0, c.peer));
    if (c.by == primitive::block_barrier) return value_of(block_barrier(ctx, c.signal, 1));
    return 0;
  }

  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int t = platform::thread_rank();
    if (t == 0) *p.outcome = of_thread_or_none(p.ctx, p.what);
    if (platform::wave_rank() == 0) of_wave(p.ctx, p.what);
    const int outcome = of_block(p.ctx, p.what);
    if (t == 0 && p.what.by >= primitive::block_wait_until) *p.outcome = outcome;
  }
  static HIRIS_DEVICE int of_thread_or_none(const context& ctx, const call& c) {
    switch (c.by) {
      case primitive::wave_get:
      case primitive::wave_put:
      case primitive::wave_copy:
      case primitive::wave_notify_peer_stores:
      case primitive::block_get:
      case primitive::block_put:
      case primitive::block_copy:
      case primitive::block_notify:
      case primitive::block_notify_peer_stores:
      case primitive::block_wait_until:
      case primitive::block_barrier:
        return 0;
      default:
        return of_thread(ctx, c);
    }
  }
};

/// Waits for an arrival that does not come.
struct wait_kernel {
  static constexpr int block_threads = platform::wave_size;
  struct params {
    context ctx;
    signal_counter* signal;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    static_cast<void>(block_wait_until(p.ctx, p.signal, 1, any_rank));
  }
};

/// A heap of two ranks whose window is known to the byte, and what one rank calls in it.
struct stage {
  explicit stage(const world& team)
      : w(team),
        heap(w, {.data_bytes = window_elems * 4, .signals = window_signals, .guard_blocks = false}),
        data(heap.allocate<int>(window_elems)),
        signals(heap.allocate_signals(window_signals)),
        local(64),
        outcome(1) {
    test::to_device(data.data(), std::vector<int>(window_elems, 5));
    local.fill_with(std::byte{3});
  }
  /// Calls on rank 1 and expects an error of all these words, and that nothing has changed.
  void refuse(errc code, const call& c, std::vector<std::string> words) {
    SCOPED_TRACE(c.name);
    w.barrier("before a call");
    if (w.rank() == 1) {
      platform::launch<call_kernel>(stream, 1, {heap.device_context(), c, outcome.data()});
      words.insert(words.end(), {"workgroup 0 of rank 1", "called " + std::string(c.name) + " ",
                                 "peer " + std::to_string(c.peer)});
      expect_error(code, 1, words, [&] { heap.synchronize(stream); });
      expect_error(code, 1, words, [&] { heap.check(); });
      const bool waits = c.by == primitive::wait_until || c.by >= primitive::block_wait_until;
      EXPECT_EQ(outcome.to_host()[0], waits ? 1 : 0);
      EXPECT_EQ(local.to_host(), std::vector<int>(64, 0x03030303));
    }
    heap.reset_fault();
    EXPECT_EQ(test::to_host(data.data(), window_elems), std::vector<int>(window_elems, 5));
    for (const signal_counter& s : test::to_host(signals.data(), window_signals))
      EXPECT_EQ(s.arrivals, 0u);
    EXPECT_NO_THROW(heap.check());
  }

  const world& w;
  symmetric_heap heap;
  symmetric_array<int> data;
  symmetric_array<signal_counter> signals;
  platform::device_buffer<int> local;
  platform::device_buffer<int> outcome;
  platform::owned_stream stream;
};

struct named {
  primitive by;
  const char* name;
};
constexpr named of_one_element[] = {
    {primitive::on, "context::on"},        {primitive::load, "load"},
    {primitive::store, "store"},           {primitive::atomic_add, "atomic_add"},
    {primitive::atomic_sub, "atomic_sub"}, {primitive::atomic_inc, "atomic_inc"},
    {primitive::atomic_min, "atomic_min"}, {primitive::atomic_max, "atomic_max"},
    {primitive::atomic_and, "atomic_and"}, {primitive::atomic_or, "atomic_or"},
    {primitive::atomic_xor, "atomic_xor"}, {primitive::atomic_xchg, "atomic_xchg"},
    {primitive::atomic_cas, "atomic_cas"}};
constexpr named of_many_elements[] = {{primitive::get, "get"},
                                      {primitive::wave_get, "wave_get"},
                                      {primitive::block_get, "block_get"},
                                      {primitive::put, "put"},
                                      {primitive::wave_put, "wave_put"},
                                      {primitive::block_put, "block_put"},
                                      {primitive::copy, "copy"},
                                      {primitive::wave_copy, "wave_copy"},
                                      {primitive::block_copy, "block_copy"}};
constexpr named of_a_signal[] = {{primitive::notify, "notify"},
                                 {primitive::notify_peer_stores, "notify_peer_stores"},
                                 {primitive::wave_notify_peer_stores, "wave_notify_peer_stores"},
                                 {primitive::block_notify, "block_notify"},
                                 {primitive::block_notify_peer_stores, "block_notify_peer_stores"}};
constexpr named of_a_wait[] = {{primitive::wait_until, "wait_until"},
                               {primitive::block_wait_until, "block_wait_until"}};

/// `at`, moved by bytes.
template <class T>
T* moved(T* at, std::int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(at) + bytes);
}

TEST_F(Misuse, OfPrimitivesForOneElement) {
  on_ranks(2, [](const world& w) {
    stage s(w);
    int* const data = s.data.data();
    for (const named& n : of_one_element) {
      const auto at = [&](int* p, int peer = 0) {
        return call{n.by, n.name, peer, p, nullptr, 1, s.local.data()};
      };
      s.refuse(errc::invalid_argument, at(data + 3, 2),
               {"no rank 2", "allowed are 0 to 1", "offset 12 ", "data window of 4000 bytes"});
      s.refuse(errc::invalid_argument, at(data, -1), {"no rank -1"});
      s.refuse(errc::invalid_argument, at(moved(data, 6)),
               {"offset 6 ", "not a multiple of 4, the alignment"});
      s.refuse(errc::not_symmetric, at(nullptr), {"null is not symmetric"});
      s.refuse(errc::not_symmetric, at(data - 1), {"offset -4 ", "allowed are offsets 0 to 4000"});
      // `on` may name the end, where nothing is accessed.
      const int beyond = n.by == primitive::on ? 1001 : 1000;
      s.refuse(errc::not_symmetric, at(data + beyond), {"offset " + std::to_string(4 * beyond)});
    }
    s.heap.close();
  });
}

TEST_F(Misuse, OfTransfers) {
  on_ranks(2, [](const world& w) {
    stage s(w);
    int* const data = s.data.data();
    for (const named& n : of_many_elements) {
      const auto at = [&](int* p, std::int64_t count, int peer = 0) {
        return call{n.by, n.name, peer, p, nullptr, count, s.local.data()};
      };
      s.refuse(errc::invalid_argument, at(data, 5, 2), {"no rank 2", "5 x 4 bytes"});
      s.refuse(errc::invalid_argument, at(data, -5), {"count is -5", "0 or more"});
      s.refuse(errc::not_symmetric, at(data + 990, 11), {"11 x 4 bytes at offset 3960", "not all"});
      s.refuse(errc::not_symmetric, at(data, std::int64_t{1} << 62), {"4611686018427387904 x 4"});
      s.refuse(errc::not_symmetric, at(nullptr, 0), {"null is not symmetric"});
      s.refuse(errc::not_symmetric, at(s.local.data(), 5), {"5 x 4 bytes", "not all in it"});
      s.refuse(errc::invalid_argument, at(moved(data, 1), 5), {"not a multiple of 4"});
      call c = at(data, 5, n.by >= primitive::copy ? 2 : 0);
      c.local = nullptr;
      if (n.by >= primitive::copy) {
        s.refuse(errc::invalid_argument, c, {"no rank 2"});
        continue;
      }
      s.refuse(errc::invalid_argument, c, {"pointer to local memory is null"});
      c.local = moved(s.local.data(), 2);
      s.refuse(errc::invalid_argument, c, {"pointer to local memory", "not a multiple of 4"});
    }
    s.heap.close();
  });
}

TEST_F(Misuse, OfSignals) {
  on_ranks(2, [](const world& w) {
    stage s(w);
    signal_counter* const first = s.signals.data();
    const auto refuse_all = [&](const named& n, int wrong_rank, const char* allowed) {
      const auto at = [&](signal_counter* p, int peer = 0, std::int64_t count = 1) {
        return call{n.by, n.name, peer, nullptr, p, count, nullptr};
      };
      s.refuse(errc::invalid_argument, at(first + 1, wrong_rank),
               {"no rank " + std::to_string(wrong_rank), allowed, "offset 128 ",
                "signal window of 512 bytes"});
      s.refuse(errc::not_symmetric, at(nullptr), {"null is not symmetric"});
      s.refuse(errc::not_symmetric, at(first + 4), {"offset 512 ", "allowed are offsets 0 to 512"});
      s.refuse(errc::not_symmetric, at(first - 1), {"offset -128 "});
      s.refuse(errc::not_symmetric, at(reinterpret_cast<signal_counter*>(s.data.data())),
               {"not all"});
      s.refuse(errc::invalid_argument, at(moved(first, 64)), {"not a multiple of 128"});
    };
    for (const named& n : of_a_signal) {
      refuse_all(n, -1, "allowed are 0 to 1");
      for (const std::int64_t count : {0, -1})
        s.refuse(errc::invalid_argument, {n.by, n.name, 0, nullptr, first, count, nullptr},
                 {"count is " + std::to_string(count), "1 or more"});
    }
    for (const named& n : of_a_wait) refuse_all(n, -2, "allowed are 0 to 1, and any_rank");
    const auto meet = [&](signal_counter* p) {
      return call{primitive::block_barrier, "block_barrier", 1, nullptr, p, 2, nullptr};
    };
    s.refuse(errc::not_symmetric, meet(first + 3), {"2 x 128 bytes at offset 384"});
    s.refuse(errc::not_symmetric, meet(nullptr), {"null"});
    s.refuse(errc::invalid_argument, meet(moved(first, 8)), {"not a multiple of 128"});
    s.heap.close();
  });
}

TEST_F(Misuse, OfTheWindowsOfRegionsAndTeams) {
  on_ranks(4, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 4096, .signals = 4, .guard_blocks = false});
    const auto block = heap.allocate<int>(8);
    const platform::device_buffer<int> mine(100);
    auto region = heap.attach(mine.data(), 50);
    const world team = w.split(w.rank() % 2, -w.rank());
    const platform::device_buffer<int> outcome(1);
    const platform::owned_stream stream;
    const auto call_in = [&](const context& ctx, int* at, int peer) {
      const call c{primitive::store, "store", peer, at, nullptr, 1, nullptr};
      platform::launch<call_kernel>(stream, 1, {ctx, c, outcome.data()});
    };
    const auto refuse = [&](const context& ctx, int* at, int peer, errc code, const char* word) {
      call_in(ctx, at, peer);
      expect_error(code, ctx.rank, {word}, [&] { heap.synchronize(stream); });
      heap.reset_fault();
    };
    const context in_region = heap.device_context(region);
    refuse(in_region, block.data(), 0, errc::not_symmetric, "data window of 200 bytes");
    refuse(in_region, mine.data() + 50, 0, errc::not_symmetric, "offset 200 ");
    refuse(heap.device_context(), mine.data(), 0, errc::not_symmetric, "data window of 4096 bytes");
    refuse(heap.device_context(team), block.data(), 2, errc::invalid_argument,
           "allowed are 0 to 1");
    refuse(heap.device_context(region, team), mine.data() + 50, 1, errc::not_symmetric,
           "200 bytes");
    for (const context& ctx : {in_region, heap.device_context(region, team)}) {
      call_in(ctx, mine.data() + 49, ctx.size - 1);
      EXPECT_NO_THROW(heap.synchronize(stream));
    }
    w.barrier("before the end");
    heap.detach(std::move(region));
    heap.close();
  });
}

TEST_F(Misuse, TheFirstCauseIsKeptAndWaitsEnd) {
  on_ranks(1, [](const world& w) {
    stage s(w);
    const auto launch = [&](primitive by, const char* name, int* at) {
      const call c{by, name, 0, at, nullptr, 1, nullptr};
      platform::launch<call_kernel>(s.stream, 3, {s.heap.device_context(), c, s.outcome.data()});
    };
    launch(primitive::load, "load", nullptr);
    launch(primitive::store, "store", s.data.data() + window_elems);
    expect_error(errc::not_symmetric, 0, {"called load "}, [&] { s.heap.synchronize(s.stream); });
    // Waits of the rank end, long before their budget.
    const auto start = std::chrono::steady_clock::now();
    platform::launch<wait_kernel>(s.stream, 1, {s.heap.device_context(), s.signals.data()});
    s.stream.synchronize();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    s.heap.reset_fault();
    EXPECT_NO_THROW(s.heap.check());
    launch(primitive::store, "store", s.data.data() + window_elems);
    expect_error(errc::not_symmetric, 0, {"called store "}, [&] { s.heap.synchronize(s.stream); });
  });
}

}  // namespace
