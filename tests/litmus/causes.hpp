// SPDX-License-Identifier: MIT
/// @file
/// Several waits fail at once: each rank is left with one cause, whole, of a rank that failed.
#pragma once

#include <cstdint>

#include "hiris/detail/causes.hpp"
#include "litmus/program.hpp"

namespace hiris::litmus {

/// All ranks but the last fail, and tell; the last is told. Nothing is mixed from two causes or two
/// rounds, neither in a record nor in a control line.
struct causes_are_whole : one_block {
  static constexpr bool one_instance = true;  // of a record and a line
  static HIRIS_DEVICE fault_cause cause_of(int rank, int round) {
    const auto n = static_cast<std::uint32_t>(payload(round, rank));
    return {rank, payload(round, rank), n, n, n, n, n};
  }
  static HIRIS_DEVICE bool is_whole(const program& p, const fault_record* r, int round) {
    const int rank = platform::peer_load(&r->cause.rank);
    const fault_cause whole = cause_of(rank, round);
    return rank >= 0 && rank < p.ctx.size - 1 &&
           platform::peer_load(&r->cause.peer) == whole.peer &&
           platform::peer_load(&r->cause.block) == whole.block &&
           platform::peer_load(&r->cause.signal) == whole.signal &&
           platform::peer_load(&r->cause.expected) == whole.expected &&
           platform::peer_load(&r->cause.seen) == whole.seen &&
           platform::peer_load(&r->cause.elapsed_ns) == whole.elapsed_ns;
  }

  /// Thread 0's part of a round. @return Whether what it saw is allowed.
  static HIRIS_DEVICE bool fail(const program& p, int round) {
    const context& ctx = p.ctx;
    const std::uint64_t start_ns = platform::clock_ns();
    const bool is_last = ctx.rank == ctx.size - 1;
    while (is_last && !detail::must_end(ctx)) {
      if (platform::clock_ns() - start_ns > ctx.budget_ns) return false;
      platform::pause();
    }
    detail::end_waits(ctx, cause_of(ctx.rank, round));
    const fault_state mine = detail::look_at(ctx.fault->state);
    if (mine == fault_state::told)
      return is_whole(p, detail::control_line(ctx, ctx.rank), round) &&
             platform::peer_load(&detail::control_line(ctx, ctx.rank)->cause.rank) != ctx.rank;
    return mine == fault_state::complete && !is_last &&
           platform::peer_load(&ctx.fault->cause.rank) == ctx.rank && is_whole(p, ctx.fault, round);
  }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    program meeting = p;
    meeting.ctx.fault = nullptr;  // so that the barriers do not end with the waits
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      if (platform::thread_rank() == 0) forbid(p, !fail(p, round));
      if (!next_round(meeting, epoch)) return;
      if (platform::thread_rank() == 0) {
        fault_record* const line = detail::control_line(p.ctx, p.ctx.rank);
        platform::atomic_store<order::relaxed, scope::system>(&line->state, fault_state::none);
        platform::atomic_store<order::relaxed, scope::system>(&line->ended, 0u);
        platform::atomic_store<order::relaxed, scope::system>(&p.ctx.fault->state,
                                                              fault_state::none);
      }
      if (!next_round(meeting, epoch)) return;
    }
    finish(p);
  }
};

}  // namespace hiris::litmus
