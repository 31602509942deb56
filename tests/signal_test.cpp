// SPDX-License-Identifier: MIT
// Signals: every form of notify carries its data, counts never need a reset and wrap, waits are
// bounded and say what they waited for.
#include "hiris/signal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "hiris/rma.hpp"
#include "support/plain_team.hpp"

namespace {

using namespace hiris;
using test::plain_team;

// ------------------------------------------------------- data travels around the ring, round by
// round

enum class form {
  notify,                   // one thread, plain store into its own memory, the peer reads it there
  notify_peer_stores,       // one thread, store
  wave_notify_peer_stores,  // one wave, wave_put
  block_notify,             // the workgroup, plain stores into its own memory, the peer gets them
  block_notify_peer_stores  // the workgroup, block_put
};

constexpr int n_elems = 301;

/// Rank r sends n_elems integers to rank r + 1 in each round and checks what it received. Data of a
/// rank: inbox, outbox, count of errors.
struct ring_kernel {
  static constexpr int block_threads = 128;  // 8 ranks fit one device of the thread sanitizer
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;  // 0: data has arrived; 1: the inbox may be written again
    std::uint64_t first;      // arrivals before the first round
    int rounds;
    form how;
  };
  struct shared {};

  static HIRIS_DEVICE int value(int rank, int round, int i) {
    return rank * 1'000'000 + round * 1000 + i;
  }

  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    int* const inbox = p.contexts[0].on(ctx.rank, p.base);
    int* const outbox = inbox + n_elems;
    int* const errors = outbox + n_elems;
    signal_counter* const data = p.contexts[0].on(ctx.rank, p.signals);
    signal_counter* const taken = data + 1;
    const int next = (ctx.rank + 1) % ctx.size;
    const int previous = (ctx.rank + ctx.size - 1) % ctx.size;
    const int t = platform::thread_rank();
    const bool pulled = p.how == form::notify || p.how == form::block_notify;

    for (int round = 0; round < p.rounds; ++round) {
      const std::uint64_t epoch = p.first + static_cast<std::uint64_t>(round);
      // the peer is done with what went before
      if (block_wait_until(ctx, taken, epoch, next) != wait_status::ok) return;
      const auto fill = [&](int begin, int step) {
        for (int i = begin; i < n_elems; i += step) outbox[i] = value(ctx.rank, round, i);
      };
      switch (p.how) {
        case form::notify:
          if (t == 100) {
            fill(0, 1);
            notify(ctx, data, next);
          }
          break;
        case form::notify_peer_stores:
          if (t == 100) {
            for (int i = 0; i < n_elems; ++i)
              store(ctx, inbox + i, value(ctx.rank, round, i), next);
            notify_peer_stores(ctx, data, next);
          }
          break;
        case form::wave_notify_peer_stores:
          if (platform::wave_rank() == 1) {
            fill(platform::lane_rank(), platform::wave_size);
            platform::wave_sync();
            wave_put(ctx, inbox, outbox, next, n_elems);
            wave_notify_peer_stores(ctx, data, next);
          }
          break;
        case form::block_notify:
          fill(t, block_threads);
          block_notify(ctx, data, next);
          break;
        case form::block_notify_peer_stores:
          fill(t, block_threads);
          platform::block_sync();
          block_put(ctx, inbox, outbox, next, n_elems);
          block_notify_peer_stores(ctx, data, next);
          break;
      }
      if (block_wait_until(ctx, data, epoch + 1, previous) != wait_status::ok) return;
      const int* const received = pulled ? ctx.on(previous, outbox) : inbox;
      for (int i = t; i < n_elems; i += block_threads)
        if (platform::load_global(received + i) != value(previous, round, i))
          platform::atomic_fetch_add<order::relaxed, scope::agent>(errors, 1);
      block_notify(ctx, taken, previous);  // all threads have read
    }
    if (t == 0) platform::atomic_fetch_add<order::relaxed, scope::agent>(errors + 1, p.rounds);
  }
};

void check_ring(int size, form how, std::uint64_t first, int rounds) {
  plain_team team(size, (2 * n_elems + 2) * sizeof(int), 2);
  team.set_arrivals(first);
  team.launch<ring_kernel>(
      {team.contexts(), team.data<int>(0), team.signals(0), first, rounds, how});
  for (int r = 0; r < size; ++r) {
    const auto outcome = team.read<int>(r, 2 * n_elems, 2);
    EXPECT_EQ(outcome[0], 0) << "wrong elements at rank " << r << " of " << size;
    EXPECT_EQ(outcome[1], rounds) << "rounds of rank " << r << " of " << size;
    EXPECT_EQ(team.arrivals(r, 0), first + static_cast<std::uint64_t>(rounds));
    EXPECT_EQ(team.fault(r).state, fault_state::none);
  }
}

class SignalRing : public testing::TestWithParam<form> {};
TEST_P(SignalRing, DataIsThereBeforeTheSignal) {
  for (int size = 1; size <= 8; ++size) check_ring(size, GetParam(), 0, 20);
}
TEST_P(SignalRing, CountsWrap) { check_ring(3, GetParam(), ~std::uint64_t{0} - 4, 10); }
INSTANTIATE_TEST_SUITE_P(Forms, SignalRing,
                         testing::Values(form::notify, form::notify_peer_stores,
                                         form::wave_notify_peer_stores, form::block_notify,
                                         form::block_notify_peer_stores));

// ------------------------------------------------------------------------- counting and comparing

TEST(Signal, ReachedComparesAcrossTheWrap) {
  const std::uint64_t top = ~std::uint64_t{0};
  EXPECT_TRUE(detail::reached(0, 0));
  EXPECT_TRUE(detail::reached(7, 7));
  EXPECT_TRUE(detail::reached(8, 7));
  EXPECT_FALSE(detail::reached(6, 7));
  EXPECT_FALSE(detail::reached(top, 0));
  EXPECT_TRUE(detail::reached(0, top));
  EXPECT_TRUE(detail::reached(3, top - 3));
  EXPECT_FALSE(detail::reached(top - 3, 3));
}

/// All ranks but 0 add their rank to rank 0's signal, in all forms; rank 0 waits for the sum.
struct count_kernel {
  static constexpr int block_threads = 128;
  struct params {
    const context* contexts;
    signal_counter* signals;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    signal_counter* const s = p.contexts[0].on(ctx.rank, p.signals);
    const auto n = static_cast<std::uint64_t>(ctx.rank);
    if (ctx.rank != 0) {
      if (platform::thread_rank() == 0) notify(ctx, s, 0, n);
      if (platform::thread_rank() == 0) notify_peer_stores(ctx, s, 0, n);
      if (platform::wave_rank() == 0) wave_notify_peer_stores(ctx, s, 0, n);
      block_notify(ctx, s, 0, n);
      block_notify_peer_stores(ctx, s, 0, n);
    } else {
      const std::uint64_t sum =
          5u * static_cast<std::uint64_t>(ctx.size) * static_cast<std::uint64_t>(ctx.size - 1) / 2;
      if (block_wait_until(ctx, s, sum, any_rank) != wait_status::ok) return;
      if (platform::thread_rank() == 5) notify(ctx, s + 1, 0, 77);  // to itself
    }
  }
};

TEST(Signal, CountsOfSeveralProducersAddUp) {
  const int size = 5;
  plain_team team(size, 64, 2);
  team.launch<count_kernel>({team.contexts(), team.signals(0)});
  EXPECT_EQ(team.arrivals(0, 0), 5u * 10u);
  EXPECT_EQ(team.arrivals(0, 1), 77u);
  for (int r = 1; r < size; ++r)
    EXPECT_EQ(team.arrivals(r, 0), 0u) << "notify changed its own copy";
}

// ---------------------------------------------------------------------------- fences and quiet

/// Message passing written out with fences and relaxed atomics, and with quiet.
struct fence_kernel {
  static constexpr int block_threads = 128;
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;
    int flavour;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    int* const data = p.contexts[0].on(ctx.rank, p.base);
    signal_counter* const s = p.contexts[0].on(ctx.rank, p.signals);
    const int t = platform::thread_rank();
    if (ctx.rank == 0) {
      if (p.flavour == 0) {
        data[t] = 100 + t;
        fence<order::release, scope::system>();
        platform::atomic_fetch_add<order::relaxed, scope::system>(&s->arrivals, std::uint64_t{1});
      } else if (p.flavour == 1) {
        data[t] = 100 + t;
        fence<order::seq_cst, scope::system>();
        platform::atomic_fetch_add<order::relaxed, scope::system>(&s->arrivals, std::uint64_t{1});
      } else if (p.flavour == 2) {
        store(ctx, data + t, 100 + t, 1);
        quiet();
        platform::publish_add<scope::system>(&s->arrivals, 1);
      } else if (p.flavour == 3) {
        store(ctx, data + t, 100 + t, 1);
        wave_quiet();
        if (platform::lane_rank() == 0)
          platform::publish_add<scope::system>(&s->arrivals,
                                               static_cast<std::uint64_t>(platform::wave_size));
      } else {
        store(ctx, data + t, 100 + t, 1);
        block_quiet();
        if (t == 0) platform::publish_add<scope::system>(&s->arrivals, block_threads);
      }
    } else {
      signal_counter* const theirs = ctx.on(0, s);
      while (!detail::reached(
          platform::atomic_load<order::relaxed, scope::system>(&theirs->arrivals), block_threads))
        platform::pause();
      fence<order::acquire, scope::system>();
      platform::acquire_after<scope::system>(&theirs->arrivals);
      const int* const from = p.flavour < 2 ? ctx.on(0, data) : data;
      const int neighbour = (t + 65) % block_threads;
      data[block_threads + t] = platform::load_global(from + neighbour);
    }
  }
};

TEST(Signal, FencesAndQuietOrderWhatWasStored) {
  for (int flavour = 0; flavour < 5; ++flavour) {
    plain_team team(2, 256 * sizeof(int), 1);
    team.launch<fence_kernel>({team.contexts(), team.data<int>(0), team.signals(0), flavour});
    const auto seen = team.read<int>(1, 128, 128);
    for (int t = 0; t < 128; ++t)
      EXPECT_EQ(seen[static_cast<std::size_t>(t)], 100 + (t + 65) % 128) << "flavour " << flavour;
  }
}

// ------------------------------------------------------------------------------------ time-outs

/// Waits for something that never comes and stores what each thread was told.
struct late_kernel {
  static constexpr int block_threads = 128;
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;
    std::uint64_t target;
    bool by_thread = false;  // wait_until by one thread, instead of the whole workgroup
    bool no_record = false;
    int patient_but = -1;  // the only rank whose budget is not an hour; -1: none has an hour
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    context ctx = p.contexts[platform::block_rank()];
    if (p.no_record) ctx.fault = nullptr;
    if (p.patient_but >= 0 && p.patient_but != ctx.rank) ctx.budget_ns = 3'600'000'000'000;
    int* const told = p.contexts[0].on(ctx.rank, p.base);
    signal_counter* const s = p.contexts[0].on(ctx.rank, p.signals);
    const int from = (ctx.rank + 1) % ctx.size;
    wait_status status = wait_status::ok;
    if (!p.by_thread)
      status = block_wait_until(ctx, s + 5, p.target, from);
    else if (platform::thread_rank() == 17)
      status = wait_until(ctx, s + 5, p.target, from);
    told[platform::thread_rank()] = status == wait_status::ok ? 1 : 2;
  }
};

TEST(SignalTimeout, IsRecordedWithAllThatIsKnownOnAllRanks) {
  const std::uint64_t budget_ns = 20'000'000;
  for (const bool by_thread : {false, true})
    for (int first = 0; first < 3; ++first) {
      plain_team team(3, 128 * sizeof(int), 8, budget_ns);
      team.set_arrivals(11);
      team.launch<late_kernel>(
          {team.contexts(), team.data<int>(0), team.signals(0), 13, by_thread, false, first});
      for (int r = 0; r < 3; ++r) {
        EXPECT_EQ(team.fault(r).state, r == first ? fault_state::complete : fault_state::told);
        const fault_record fault = r == first ? team.fault(r) : team.control_line(r);
        EXPECT_EQ(fault.state, fault_state::complete);
        EXPECT_EQ(fault.cause.rank, first);
        EXPECT_EQ(fault.cause.peer, (first + 1) % 3);
        EXPECT_EQ(fault.cause.block, static_cast<std::uint32_t>(first));
        EXPECT_EQ(fault.cause.signal, 5u);
        EXPECT_EQ(fault.cause.expected, 13u);
        EXPECT_EQ(fault.cause.seen, 11u);
        EXPECT_GE(fault.cause.elapsed_ns, budget_ns);
        EXPECT_LT(fault.cause.elapsed_ns, 10'000'000'000u);
        const auto told = team.read<int>(r, 0, 128);
        for (int t = 0; t < 128; ++t)
          EXPECT_EQ(told[static_cast<std::size_t>(t)], !by_thread || t == 17 ? 2 : 1) << t;
      }
    }
}

TEST(SignalTimeout, LooksAcrossTheWrap) {
  plain_team team(1, 128 * sizeof(int), 8, 5'000'000);
  team.set_arrivals(~std::uint64_t{0});
  team.launch<late_kernel>({team.contexts(), team.data<int>(0), team.signals(0), 1});
  EXPECT_EQ(team.fault(0).state, fault_state::complete);
  EXPECT_EQ(team.fault(0).cause.expected, 1u);
  EXPECT_EQ(team.fault(0).cause.seen, ~std::uint64_t{0});
}

TEST(SignalTimeout, NeedsNoRecord) {
  plain_team team(2, 128 * sizeof(int), 8, 5'000'000);
  team.launch<late_kernel>({team.contexts(), team.data<int>(0), team.signals(0), 1, false, true});
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(team.fault(r).state, fault_state::none);
    EXPECT_EQ(team.read<int>(r, 0, 1)[0], 2);
  }
}

TEST(SignalTimeout, AReachedTargetNeedsNoBudget) {
  plain_team team(2, 128 * sizeof(int), 8, 0);
  team.set_arrivals(4);
  team.launch<late_kernel>({team.contexts(), team.data<int>(0), team.signals(0), 4});
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(team.fault(r).state, fault_state::none);
    EXPECT_EQ(team.read<int>(r, 0, 1)[0], 1);
  }
}

/// Two waits that fail one after the other, without time to look at the record in between.
struct two_faults_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    context ctx = p.contexts[0];
    ctx.budget_ns = 0;
    if (platform::block_rank() != 0 || platform::thread_rank() != 0) return;
    p.base[0] = wait_until(ctx, p.signals, 7, 1) == wait_status::ok ? 1 : 2;
    p.base[1] = wait_until(ctx, p.signals + 1, 8, any_rank) == wait_status::ok ? 1 : 2;
  }
};

TEST(SignalTimeout, TheFirstIsKept) {
  plain_team team(2, 64, 2);
  team.launch<two_faults_kernel>({team.contexts(), team.data<int>(0), team.signals(0)});
  EXPECT_EQ(team.read<int>(0, 0, 2), (std::vector<int>{2, 2}));
  EXPECT_EQ(team.fault(0).state, fault_state::complete);
  EXPECT_EQ(team.fault(0).cause.signal, 0u);
  EXPECT_EQ(team.fault(0).cause.expected, 7u);
  EXPECT_EQ(team.fault(0).cause.peer, 1);
}

/// Two workgroups of one rank; the first has a short budget, the second an hour.
struct shared_fault_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    context ctx = p.contexts[0];
    const int block = platform::block_rank();
    ctx.budget_ns = block == 0 ? 10'000'000 : 3'600'000'000'000;
    const wait_status status = block_wait_until(ctx, p.signals + block, 1, 1);
    if (platform::thread_rank() == 0) p.base[block] = status == wait_status::ok ? 1 : 2;
  }
};

TEST(SignalTimeout, OfOneWorkgroupEndsTheOthers) {
  plain_team team(2, 64, 2);
  const auto start = std::chrono::steady_clock::now();
  team.launch<shared_fault_kernel>({team.contexts(), team.data<int>(0), team.signals(0)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(team.read<int>(0, 0, 2), (std::vector<int>{2, 2}));
  EXPECT_EQ(team.fault(0).state, fault_state::complete);
  EXPECT_EQ(team.fault(0).cause.block, 0u) << "the first time-out is the one that is recorded";
  EXPECT_EQ(team.fault(0).cause.signal, 0u);
}

}  // namespace
