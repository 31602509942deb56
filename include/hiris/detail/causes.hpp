// SPDX-License-Identifier: MIT
/// @file
/// How waits end on all ranks when one has failed, with the first cause.
///
/// Who fails first on its rank writes the cause into the rank's fault record, and into the control
/// line of every peer (fault_record.hpp), which they look at now and then. A rank that was told
/// notes that, and tells nobody: there is one message a peer and fault. A line is claimed before it
/// is written, so that of two causes at once each rank keeps one, whole.
///
///     if (late || must_end(ctx)) {
///       end_waits(ctx, cause);
///       return false;
///     }
///
/// All of this is inlined into every wait, and its registers and branches with it: hence the cause
/// is written once, and copied in loops that are not unrolled. (Plain stores would do, since a
/// release follows; with them the compiler reserves private memory for a kernel on gfx950.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/detail/fault_record.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris::detail {

/// Of a control line's `ended`: a workgroup is writing the rank's record; it is written.
inline constexpr std::uint32_t claimed = 1, recorded = 2;

/// The control line of `rank`, where this rank sees it.
template <class Context>
HIRIS_DEVICE fault_record* control_line(const Context& ctx, int rank) {
  return (fault_record*)(ctx.windows[rank].signals - control_bytes);
}

/// A word of a record that others write.
template <class T>
HIRIS_DEVICE T look_at(const T& word) {
  return platform::atomic_load<order::relaxed, scope::system>(&word);
}
/// Moves a word of a control line on. @return Whether it was this call that did.
template <class T>
HIRIS_DEVICE bool claim(T& word, T from, T to) {
  return platform::atomic_compare_exchange<order::relaxed, scope::system>(&word, from, to) == from;
}

/// Whether a peer has told this rank to end its waits.
template <class Context>
HIRIS_DEVICE bool is_told(const Context& ctx) {
  return look_at(control_line(ctx, ctx.rank)->state) > fault_state::writing;
}

/// Whether a wait of this rank has failed, and its host can know. One load of this rank's memory.
template <class Context>
HIRIS_DEVICE bool has_failed(const Context& ctx) {
  return ctx.fault != nullptr && look_at(control_line(ctx, ctx.rank)->ended) == recorded;
}
/// Whether a wait of this rank has failed, its host has aborted, or a peer has told it to end.
template <class Context>
HIRIS_DEVICE bool must_end(const Context& ctx) {
  return ctx.fault != nullptr &&
         (is_told(ctx) || look_at(control_line(ctx, ctx.rank)->ended) != 0 ||
          look_at(ctx.fault->ended) != 0);
}

/// What a failure knows of its cause.
enum class cause_kind : std::uint8_t {
  waited,     ///< It waited in vain: what a peer has told comes before that.
  first_hand  ///< It is at fault itself.
};

/// What a failure does: notes in the fault record that a peer has told why, or else leaves its own
/// cause there and tells it; or tells of the host's abort. Nothing if another has.
///
/// Caller   thread.
/// Order    acquires what was told, and releases to the host.
/// Cost     a few microseconds a peer, for the one that tells.
///
/// @param write Called with the record of this rank: writes the cause by peer_store.
template <class Context, class Write>
HIRIS_DEVICE void end_waits(const Context& ctx, cause_kind kind, Write write) {
  if (ctx.fault == nullptr) return;
  fault_record* const line = control_line(ctx, ctx.rank);
  // before the look: if a way out dropped what it had loaded, nvcc would have the kernel wait for
  // all its loads in flight where the ways meet, whichever it took
  if (!claim(line->ended, 0u, claimed)) return;
  const bool told = kind == cause_kind::waited && is_told(ctx);
  platform::acquire_after<scope::system>(&line->state);
  const fault_state now = told                             ? fault_state::told
                          : look_at(ctx.fault->ended) != 0 ? fault_state::aborted
                                                           : fault_state::complete;
  if (!told) write(ctx.fault);
  platform::atomic_store<order::release, scope::system>(&ctx.fault->state, now);
  platform::atomic_store<order::release, scope::system>(&line->ended, recorded);
  HIRIS_NO_UNROLL
  for (int rank = 0; !told && rank < ctx.size; ++rank) {
    fault_record* const r = control_line(ctx, rank);
    if (rank == ctx.rank || !claim(r->state, fault_state::none, fault_state::writing)) continue;
    // read back, since a kernel has no registers to spare for a cause while it tells
    HIRIS_NO_UNROLL
    for (std::size_t at = offsetof(fault_record, cause); at < offsetof(fault_record, ended);
         at += 8)
      platform::peer_store((std::uint64_t*)((char*)r + at),
                           platform::peer_load((const std::uint64_t*)((char*)ctx.fault + at)));
    platform::atomic_store<order::release, scope::system>(&r->state, now);
  }
}

/// As above for a wait that ran out, or that found must_end(): then `cause` may be no cause.
template <class Context>
HIRIS_DEVICE void end_waits(const Context& ctx, fault_cause cause) {
  // by value: a reference would cost gfx90a scratch
  end_waits(ctx, cause_kind::waited, [cause](fault_record* to) {
    platform::peer_store(&to->cause.rank, cause.rank);
    platform::peer_store(&to->cause.peer, cause.peer);
    platform::peer_store(&to->cause.block, cause.block);
    platform::peer_store(&to->cause.signal, cause.signal);
    platform::peer_store(&to->cause.expected, cause.expected);
    platform::peer_store(&to->cause.seen, cause.seen);
    platform::peer_store(&to->cause.elapsed_ns, cause.elapsed_ns);
  });
}

}  // namespace hiris::detail
