// SPDX-License-Identifier: MIT
/// @file
/// Several waits fail at once: each rank is left with one cause, whole, of a rank that failed.
#pragma once

#include <cstdint>

#include "hiris/detail/causes.hpp"
#include "litmus/program.hpp"

namespace hiris::litmus {

/// Two waves of all ranks but the last fail, and one of them tells; the last is told. Nothing is
/// mixed from two causes or two rounds, neither in a record nor in a control line.
struct causes_are_whole : one_block {
  static constexpr bool one_instance = true;  // of a record and a line
  static HIRIS_DEVICE fault_cause cause_of(int rank, int round, int wave) {
    const int number = payload(round, 2 * rank + wave);
    const auto n = static_cast<std::uint32_t>(number);
    return {rank, number, n, n, n, n, n};
  }
  static HIRIS_DEVICE bool is_cause(const fault_record* r, const fault_cause& whole) {
    return platform::peer_load(&r->cause.peer) == whole.peer &&
           platform::peer_load(&r->cause.block) == whole.block &&
           platform::peer_load(&r->cause.signal) == whole.signal &&
           platform::peer_load(&r->cause.expected) == whole.expected &&
           platform::peer_load(&r->cause.seen) == whole.seen &&
           platform::peer_load(&r->cause.elapsed_ns) == whole.elapsed_ns;
  }
  static HIRIS_DEVICE bool is_whole(const program& p, const fault_record* r, int round) {
    const int rank = platform::peer_load(&r->cause.rank);
    return rank >= 0 && rank < p.ctx.size - 1 &&
           (is_cause(r, cause_of(rank, round, 0)) || is_cause(r, cause_of(rank, round, 1)));
  }

  /// A thread of `wave` fails. @return Whether it was told in time, if it has to be.
  static HIRIS_DEVICE bool fail(const program& p, int round, int wave) {
    const context& ctx = p.ctx;
    const std::uint64_t start_ns = platform::clock_ns();
    while (ctx.rank == ctx.size - 1 && !detail::must_end(ctx)) {
      if (platform::clock_ns() - start_ns > ctx.budget_ns) return false;
      platform::pause();
    }
    detail::end_waits(ctx, cause_of(ctx.rank, round, wave));
    return true;
  }
  /// Whether what a rank is left with is allowed. @param own Its fault record.
  static HIRIS_DEVICE bool is_allowed(const program& p, int rank, const fault_record* own,
                                      int round) {
    const fault_record* const line = detail::control_line(p.ctx, rank);
    const fault_state mine = detail::look_at(own->state);
    if (mine == fault_state::told)
      return is_whole(p, line, round) && platform::peer_load(&line->cause.rank) != rank;
    return mine == fault_state::complete && rank != p.ctx.size - 1 &&
           platform::peer_load(&own->cause.rank) == rank && is_whole(p, own, round);
  }
  /// A rank's record and line are as new. Caller: a thread.
  static HIRIS_DEVICE void forget(const context& ctx) {
    constexpr auto relaxed = order::relaxed;
    fault_record* const line = detail::control_line(ctx, ctx.rank);
    platform::atomic_store<relaxed, scope::system>(&line->state, fault_state::none);
    platform::atomic_store<relaxed, scope::system>(&line->ended, 0u);
    platform::atomic_store<relaxed, scope::system>(&ctx.fault->state, fault_state::none);
  }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    program meeting = p;
    meeting.ctx.fault = nullptr;  // so that the barriers do not end with the waits
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const int t = platform::thread_rank();
      if (t == 0 || t == 64) forbid(p, !fail(p, round, t / 64));
      platform::block_sync();
      if (t == 0) forbid(p, !is_allowed(p, p.ctx.rank, p.ctx.fault, round));
      if (!next_round(meeting, epoch)) return;
      if (t == 0) forget(p.ctx);
      if (!next_round(meeting, epoch)) return;
    }
    finish(p);
  }
};

/// The same, looked at by a second workgroup of another rank, as the host does: it waits for the
/// state of the record in host memory, and reads the rest. Ranks of one process.
struct causes_reach_the_host : causes_are_whole {
  static constexpr int blocks = 2;

  /// What workgroup 1 does in a round: it plays the host of the next rank.
  static HIRIS_DEVICE bool look(const program& p, const context& ctx, signal_counter* begun,
                                int round) {
    const int rank = (ctx.rank + 1) % ctx.size;
    if (wait_until(ctx, begun, static_cast<std::uint64_t>(round), rank) != wait_status::ok)
      return false;
    const auto* const record = (const fault_record*)platform::load_global(p.word(0));
    const std::uint64_t start_ns = platform::clock_ns();
    while (platform::atomic_load<order::acquire, scope::system>(&record->state) ==
           fault_state::none) {
      if (platform::clock_ns() - start_ns > ctx.budget_ns) return false;
      platform::pause();
    }
    return is_allowed(p, rank, record, round);
  }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    program meeting = p;
    meeting.ctx.fault = nullptr;
    const context& ctx = meeting.ctx;
    const int observer = (ctx.rank + ctx.size - 1) % ctx.size;
    signal_counter* const begun = p.signals + ctx.size;
    signal_counter* const looked = begun + 1;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      if (p.block == 1) {
        if (t != 0) continue;
        forbid(p, !look(p, ctx, begun, round));
        notify(ctx, looked, (ctx.rank + 1) % ctx.size);
        continue;
      }
      if (t == 0) {
        store(ctx, p.word(0), (std::uint64_t)p.ctx.fault, observer);
        notify(ctx, begun, observer);
      }
      platform::block_sync();
      if (t == 0 || t == 64) forbid(p, !fail(p, round, t / 64));
      if (t == 0)
        forbid(p, wait_until(ctx, looked, static_cast<std::uint64_t>(round), observer) !=
                      wait_status::ok);
      if (!next_round(meeting, epoch)) return;
      if (t == 0) forget(p.ctx);
      if (!next_round(meeting, epoch)) return;
    }
    finish(p);
  }
};

}  // namespace hiris::litmus
