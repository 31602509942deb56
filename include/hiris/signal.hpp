// SPDX-License-Identifier: MIT
/// @file
/// Signals: how one rank tells another that data has landed.
///
/// A signal is a 64-bit count of arrivals in the symmetric heap's signal memory. Producers add to
/// it, consumers wait for it to reach a target. It never goes down, so nobody resets it between
/// launches: round `r` of a loop with `n` producers waits for `(r + 1) * n`. Counts are compared
/// across the wrap.
///
///     // rank 0, the producer                 // rank 1, the consumer
///     store(ctx, inbox, value, 1);            if (wait_until(ctx, ready, 1, 0) != wait_status::ok)
///     notify(ctx, ready, 1);                    return;  // recorded; the host throws it
///                                             use(*inbox);
///
/// What a notify covers is part of its name: `notify` everything stored, plain stores to this
/// rank's own memory included (amd writes the L2 back for it); `..._peer_stores` what `store`,
/// `put` and `copy` wrote, which is written through already and needs only to be waited for.
#pragma once

#include <cstdint>

#include "hiris/context.hpp"
#include "hiris/detail/causes.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

/// Names no rank in particular, where several may send a signal.
inline constexpr int any_rank = -1;

/// How a wait ended.
enum class [[nodiscard]] wait_status : std::uint8_t{
    ok,        ///< The target was reached; all that was sent before those arrivals is visible.
    timed_out  ///< The budget ran out: assume nothing of the data. The fault record says who.
};

// ---------------------------------------------------------------------------------------- ordering

/// Orders this thread's memory operations as the C++ fence of the same order does, among the
/// threads of `Scope`.
///
/// Caller   thread.
/// Order    Order, Scope: both written at the call.
/// Cost     at system scope amd writes its L2 back (release) or invalidates it (acquire), which
///          serialises over the device: once a workgroup, not once a thread.
template <order Order, scope Scope>
HIRIS_DEVICE void fence() {
  platform::fence<Order, Scope>();
}

/// Returns when all that this thread has written with `store`, `put` and `copy` is complete at its
/// destination. Says nothing to the peer: that is what notify is for. Does not cover plain stores.
///
/// Caller   thread (on amd the whole wave waits).
/// Cost     one drain a wave.
HIRIS_DEVICE void quiet() { platform::complete_stores(); }

/// `quiet` for the stores of all lanes of the wave, known to all lanes.
///
/// Caller   all lanes of the wave, converged.
HIRIS_DEVICE void wave_quiet() {
  platform::complete_stores();
  platform::wave_sync();
}

/// `quiet` for the stores of all threads of the workgroup, known to all threads. A workgroup
/// barrier alone does not wait for other waves' stores in flight; this does.
///
/// Caller   all threads of the workgroup, converged.
HIRIS_DEVICE void block_quiet() {
  platform::complete_stores();
  platform::block_sync();
}

// --------------------------------------------------------------------------------------- notifying

/// Adds `count` arrivals to signal `at` on rank `to`, after everything that this thread has stored.
///
/// Caller   thread.
/// Order    release, system scope, for all stores of this thread (and what it has itself acquired).
/// Cost     one drain, one L2 write-back (amd), one remote atomic without reply.
///
/// @param at    This rank's address of the signal; the copy on `to` is the one that changes.
/// @param to    Rank to tell; may be the caller's own.
/// @param count Arrivals to add, at least 1.
HIRIS_DEVICE void notify(const context& ctx, signal_counter* at, int to, std::uint64_t count = 1) {
  if (!detail::admits_notify(ctx, detail::primitive::notify, to, at, count)) return;
  platform::atomic_fetch_add<order::release, scope::system>(&ctx.on(to, at)->arrivals, count);
  platform::count(platform::counter::signals, 1);
}

/// As `notify`, but covers only what this thread has written with `store`, `put` and `copy`.
///
/// Cost     one drain, one remote atomic without reply; no L2 write-back.
HIRIS_DEVICE void notify_peer_stores(const context& ctx, signal_counter* at, int to,
                                     std::uint64_t count = 1) {
  if (!detail::admits_notify(ctx, detail::primitive::notify_peer_stores, to, at, count)) return;
  signal_counter* const theirs = ctx.on(to, at);
  platform::drain_stores();
  platform::publish_add<scope::system>(&theirs->arrivals, count);
  platform::count(platform::counter::signals, 1);
}

/// As `notify_peer_stores`, for the stores of all lanes of the wave; one signal.
///
/// Caller   all lanes of the wave, converged, with the same arguments.
HIRIS_DEVICE void wave_notify_peer_stores(const context& ctx, signal_counter* at, int to,
                                          std::uint64_t count = 1) {
  const bool admitted =
      detail::admits_notify(ctx, detail::primitive::wave_notify_peer_stores, to, at, count);
  signal_counter* const theirs = ctx.on(to, at);
  platform::drain_stores();
  platform::wave_sync();
  if (admitted && platform::lane_rank() == 0) {
    platform::publish_add<scope::system>(&theirs->arrivals, count);
    platform::count(platform::counter::signals, 1);
  }
}

/// Adds `count` arrivals to signal `at` on rank `to`, after everything that the whole workgroup has
/// stored, plain stores to this rank's own memory included.
///
/// Caller   all threads of the workgroup, converged, with the same arguments.
/// Order    release, system scope, for all stores of every wave of the workgroup.
/// Cost     one drain a wave, one workgroup barrier, one L2 write-back (amd), one remote atomic
///          without reply. The workgroup's waves share one L2, so one write-back serves all of
///          them.
///
/// @param at    This rank's address of the signal; the copy on `to` is the one that changes.
/// @param to    Rank to tell; may be the caller's own.
/// @param count Arrivals to add, at least 1.
HIRIS_DEVICE void block_notify(const context& ctx, signal_counter* at, int to,
                               std::uint64_t count = 1) {
  const bool admitted = detail::admits_notify(ctx, detail::primitive::block_notify, to, at, count);
  signal_counter* const theirs = ctx.on(to, at);
  platform::drain_stores();  // every wave's stores have reached the L2 that thread 0 writes back
  platform::block_sync();
  if (admitted && platform::thread_rank() == 0) {
    platform::atomic_fetch_add<order::release, scope::system>(&theirs->arrivals, count);
    platform::count(platform::counter::signals, 1);
  }
}

/// As `block_notify`, but covers only what the workgroup has written with `store`, `put` and
/// `copy`.
///
/// Order    release, system scope, for the peer stores of every wave of the workgroup.
/// Cost     one drain a wave, one workgroup barrier, one remote atomic without reply; no L2
///          write-back.
HIRIS_DEVICE void block_notify_peer_stores(const context& ctx, signal_counter* at, int to,
                                           std::uint64_t count = 1) {
  const bool admitted =
      detail::admits_notify(ctx, detail::primitive::block_notify_peer_stores, to, at, count);
  signal_counter* const theirs = ctx.on(to, at);  // before the drain, which hides the look-up
  platform::drain_stores();  // a workgroup barrier alone leaves other waves' stores in flight
  platform::block_sync();
  if (admitted && platform::thread_rank() == 0) {
    // amd: relaxed, since the drained stores were written through
    platform::publish_add<scope::system>(&theirs->arrivals, count);
    platform::count(platform::counter::signals, 1);
  }
}

// ----------------------------------------------------------------------------------------- waiting

namespace detail {

/// Polls between two looks at what else may end a wait: a record in host memory, slow to read.
inline constexpr std::uint32_t polls_per_fault_look = 256;
/// Most pauses between two polls.
inline constexpr std::uint32_t most_pauses = 8;

/// Whether `seen` arrivals reach `target`, across the wrap of the count.
HIRIS_HOST_DEVICE bool reached(std::uint64_t seen, std::uint64_t target) {
  return static_cast<std::int64_t>(seen - target) >= 0;
}

/// Polls relaxed until the target is reached, the budget is spent, or another wait of this rank or
/// of a peer has failed. Acquires nothing: an acquire here would invalidate the L2 once a poll.
HIRIS_DEVICE bool poll(const context& ctx, const signal_counter* at, std::uint64_t target,
                       int from) {
  std::uint64_t seen = platform::atomic_load<order::relaxed, scope::system>(&at->arrivals);
  if (reached(seen, target)) return true;
  const std::uint64_t start_ns = platform::clock_ns();
  std::uint32_t pauses = 1;
  for (std::uint32_t polls = 1;; ++polls) {
    for (std::uint32_t i = 0; i < pauses; ++i) platform::pause();
    if (pauses < most_pauses) pauses *= 2;
    seen = platform::atomic_load<order::relaxed, scope::system>(&at->arrivals);
    if (reached(seen, target)) return true;
    const std::uint64_t elapsed_ns = platform::clock_ns() - start_ns;
    const bool late = elapsed_ns >= ctx.budget_ns;
    if (late || (polls % polls_per_fault_look == 0 && must_end(ctx))) {
      const auto offset_bytes = (const char*)at - ctx.windows[ctx.rank].signals;
      end_waits(ctx, {ctx.rank, from, static_cast<std::uint32_t>(platform::block_rank()),
                      static_cast<std::uint64_t>(offset_bytes) / sizeof(signal_counter), target,
                      seen, elapsed_ns});
      return false;
    }
  }
}

/// @tparam Reuses Whether a failure of this rank before it ends the wait, too.
template <bool Reuses>
HIRIS_DEVICE wait_status block_wait(const context& ctx, const signal_counter* at,
                                    std::uint64_t target, int from) {
  bool late = platform::thread_rank() == 0 &&
              !admits(ctx, primitive::block_wait_until, from, at, 1, any_rank);
  if (platform::thread_rank() == 0 && !late) {
    late = (Reuses && has_failed(ctx)) || !poll(ctx, at, target, from);
    platform::acquire_after<scope::system>(&at->arrivals);
  }
  return platform::block_any(late) ? wait_status::timed_out : wait_status::ok;
}

}  // namespace detail

/// Waits until signal `at` of this rank has had `target` arrivals, for ctx.budget_ns at most.
///
/// Caller   thread. Workgroups use `block_wait_until`: each of them has to acquire, but only once.
/// Order    acquire, system scope, once, after the last poll.
/// Cost     one load if the target is reached already, then the acquire (amd: an L1 and L2
///          invalidate).
///
/// @param at     This rank's signal.
/// @param target Arrivals to wait for; compared as a signed difference, so counts may wrap.
/// @param from   Rank that is to signal, for the fault record; any_rank if several may.
/// @return timed_out when the budget ran out, or a wait of this rank or of a peer has failed.
HIRIS_DEVICE wait_status wait_until(const context& ctx, const signal_counter* at,
                                    std::uint64_t target, int from) {
  if (!detail::admits(ctx, detail::primitive::wait_until, from, at, 1, any_rank) ||
      !detail::poll(ctx, at, target, from))
    return wait_status::timed_out;
  platform::acquire_after<scope::system>(&at->arrivals);
  return wait_status::ok;
}

/// As `wait_until`, for the whole workgroup: one thread polls and acquires for all.
///
/// The acquire is thread 0's, before the workgroup barrier: on amd the waves of a workgroup share
/// one L1 (they run on one compute unit) and one L2, so one invalidate, issued before the barrier
/// that every later load of the workgroup stands behind, serves them all; a second one would only
/// queue for the device-wide turn that invalidates take. Another workgroup has to wait for itself.
///
/// Caller   all threads of the workgroup, converged, with the same arguments.
/// Order    acquire, system scope, for all threads of the workgroup.
/// Cost     as `wait_until`, and one workgroup barrier.
/// @return  The same on all threads.
HIRIS_DEVICE wait_status block_wait_until(const context& ctx, const signal_counter* at,
                                          std::uint64_t target, int from) {
  return detail::block_wait<false>(ctx, at, target, from);
}

/// As `block_wait_until`, before the workgroup overwrites what peers have read: fails also if a
/// wait of this rank has failed before. What is behind it on the stream runs all the same then, and
/// must not touch what a slow peer may still be reading: that peer need not wait for anything more,
/// and would not learn of the failure.
///
/// Cost     as `block_wait_until`, and one load of this rank's memory beside the poll.
HIRIS_DEVICE wait_status block_wait_to_reuse(const context& ctx, const signal_counter* at,
                                             std::uint64_t target, int from) {
  return detail::block_wait<true>(ctx, at, target, from);
}

/// Whether a wait of this rank has failed since its fault was reset, or a debug build has refused a
/// call; an abort, or what a peer has told, only once a wait has ended by it. For a kernel that
/// tells peers something before it waits: see `block_wait_to_reuse`.
///
/// Caller   all threads of the workgroup, converged.
/// Order    none.
/// Cost     one load of this rank's memory, one workgroup barrier.
/// @return  The same on all threads.
HIRIS_DEVICE bool block_has_failed(const context& ctx) {
  return platform::block_any(platform::thread_rank() == 0 && detail::has_failed(ctx));
}

}  // namespace hiris
