// SPDX-License-Identifier: MIT
/// @file
/// Message passing with one order missing: an outcome is allowed that the correct programs forbid.
/// How often it is seen tells how much a clean run of those says. Do not learn from these.
#pragma once

#include <cstdint>

#include "litmus/program.hpp"

namespace hiris::litmus {

/// What both do alike: rank 0 sends to rank 1, which counts the rounds in which any of its threads
/// saw an old value.
struct weak_passing : one_block {
  static constexpr int each = 16;  ///< Elements a thread.
  static int elems(int /*ranks*/) { return each * block_threads; }

  static HIRIS_DEVICE void count_round(const program& p, bool old) {
    const bool any = platform::block_any(old);
    if (platform::thread_rank() == 0) forbid(p, any);
  }
};

/// MP whose signal has no release and follows no drain: rank 1 may be told before all data are
/// there. All accesses are relaxed atomics, so that nothing else is wrong.
struct passing_unreleased : weak_passing {
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    constexpr auto relaxed = order::relaxed;
    constexpr auto system = scope::system;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      if (ctx.rank == 0) {
        int* const at = ctx.on(1, p.data);
        for (int i = t; i < p.elems; i += block_threads)
          platform::atomic_store<relaxed, system>(at + i, payload(round, i));
        platform::block_sync();
        if (t == 0) atomic_xchg<relaxed>(ctx, p.word(0), value, 1);
      } else if (ctx.rank == 1) {
        if (t == 5) poll_word<order::acquire, system>(p, p.word(0), value);
        platform::block_sync();
        bool old = false;
        for (int i = p.elems - 1 - t; i >= 0; i -= block_threads)  // what was sent last comes first
          old |= platform::atomic_load<relaxed, system>(p.data + i) != payload(round, i);
        count_round(p, old);
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

/// MP whose wait has no acquire: rank 1 has read the data of the round before, and may go on to see
/// that copy after it was told.
struct passing_unacquired : weak_passing {
  static HIRIS_DEVICE bool is_old(const program& p, const int* at, int round) {
    bool old = false;
    for (int i = platform::thread_rank(); i < p.elems; i += block_threads)
      old |= platform::load_global(at + i) != payload(round, i);
    return old;
  }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    constexpr auto relaxed = order::relaxed;
    constexpr auto system = scope::system;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      if (ctx.rank == 0) {
        if (t == 0) poll_word<order::acquire, system>(p, p.word(1), value);  // rank 1 has its copy
        platform::block_sync();
        for (int i = t; i < p.elems; i += block_threads)
          platform::store_global(p.data + i, payload(round, i));
        platform::drain_stores();
        platform::block_sync();
        if (t == 0) atomic_xchg<order::release>(ctx, p.word(0), value, 1);
      } else if (ctx.rank == 1) {
        const int* const at = ctx.on(0, p.data);
        const bool begun = platform::block_any(is_old(p, at, round));
        if (t == 5 && begun) atomic_xchg<relaxed>(ctx, p.word(1), value, 0);
        if (t == 5) poll_word<relaxed, system>(p, p.word(0), value);
        platform::block_sync();
        count_round(p, is_old(p, at, round));
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

}  // namespace hiris::litmus
