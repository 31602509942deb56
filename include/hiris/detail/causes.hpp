// SPDX-License-Identifier: MIT
/// @file
/// How waits end on all ranks when one has failed, with the first cause.
///
/// Who claims its rank's fault record with a cause of its own writes the cause into the control
/// line of every peer (context.hpp), which they look at now and then. A rank that was told notes
/// that, and tells nobody: there is one message a peer and fault. A line is claimed before it is
/// written, so that of two causes at once each rank keeps one, whole.
///
///     if (late || must_end(ctx)) {
///       end_waits(ctx, cause);
///       return false;
///     }
///
/// All of this is inlined into every wait, and its registers and branches with it: hence one loop
/// for the own record and the peers' lines, and few branches.
#pragma once

#include <cstdint>

#include "hiris/detail/fault_record.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"

namespace hiris::detail {

/// The control line of `rank`, where this rank sees it.
template <class Context>
HIRIS_DEVICE fault_record* control_line(const Context& ctx, int rank) {
  return (fault_record*)(ctx.windows[rank].signals - control_bytes);
}

HIRIS_DEVICE fault_state state_of(const fault_record* r) {
  return platform::atomic_load<order::relaxed, scope::system>(&r->state);
}
/// Moves a record on. @return Whether it was this call that did.
template <order Order>
HIRIS_DEVICE bool claim(fault_record* r, fault_state from, fault_state to) {
  return platform::atomic_compare_exchange<Order, scope::system>(&r->state, from, to) == from;
}

/// Whether a peer has told this rank to end its waits.
template <class Context>
HIRIS_DEVICE bool is_told(const Context& ctx) {
  return state_of(control_line(ctx, ctx.rank)) > fault_state::writing;
}

/// Whether a wait of this rank has failed, its host has aborted, or a peer has told it to end.
template <class Context>
HIRIS_DEVICE bool must_end(const Context& ctx) {
  return ctx.fault != nullptr && (is_told(ctx) || state_of(ctx.fault) != fault_state::none);
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
/// @param write Called with a record of this rank or of a peer: writes the cause by peer_store.
template <class Context, class Write>
HIRIS_DEVICE void end_waits(const Context& ctx, cause_kind kind, Write write) {
  if (ctx.fault == nullptr) return;
  const bool told = kind == cause_kind::waited && is_told(ctx);
  platform::acquire_after<scope::system>(&control_line(ctx, ctx.rank)->state);
  const fault_state was = state_of(ctx.fault);
  const fault_state now = told                          ? fault_state::told
                          : was == fault_state::aborted ? fault_state::abort_told
                                                        : fault_state::writing;
  if (was != fault_state::none && now != fault_state::abort_told) return;
  if (!claim<order::release>(ctx.fault, was, now) || told) return;
  const bool aborts = now == fault_state::abort_told;
  for (int rank = 0; rank < ctx.size; ++rank) {
    fault_record* const r = rank == ctx.rank ? ctx.fault : control_line(ctx, rank);
    // of the own record, none but a cause is still to be written
    const fault_state from = rank == ctx.rank ? fault_state::writing : fault_state::none;
    if (!claim<order::relaxed>(r, from, fault_state::writing)) continue;
    write(r);
    platform::atomic_store<order::release, scope::system>(
        &r->state, aborts ? fault_state::aborted : fault_state::complete);
  }
}

/// As above for a wait that ran out, or that found must_end(): then `cause` may be no cause.
template <class Context>
HIRIS_DEVICE void end_waits(const Context& ctx, const fault_cause& cause) {
  end_waits(ctx, cause_kind::waited, [&cause](fault_record* to) {
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
