// SPDX-License-Identifier: MIT
/// @file
/// The ways in which partial results travel, from everybody waiting for everybody to nobody waiting
/// for more than the record that it reads. Contract and reuse: partials.hpp.
///
///     comm::partials_awaited comm(exchange);
///     if (comm.ready(source, group) == wait_status::ok) use(comm.record(source, group));
#pragma once

#include <cstdint>

#include "hiris/comm/partials.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/signal.hpp"
#include "hiris/tile/schedule.hpp"

namespace hiris::comm {

/// For a kernel that only makes records: they stay where they are, another kernel ships them.
class partials_kept : public partials_base {
 public:
  static constexpr bool ships_within = false;
  using partials_base::partials_base;

  /// A record is complete.
  HIRIS_DEVICE wait_status publish(int) { return wait_status::ok; }
};

/// Ships without a word; readiness comes from a barrier of all ranks between the kernels, the end
/// of which waits for their stores.
///
/// Reuse: slot e was last read in call e-2, and the barrier of call e-1, which this rank has
/// passed, came after that on every rank. Once a wait of this rank has failed, it ships nothing,
/// and does not come to the barrier (guarded_barrier_kernel).
class partials_bulk : public partials_base {
 public:
  static constexpr bool ships_within = false;
  static constexpr bool awaits = false;
  using partials_base::partials_base;

  HIRIS_DEVICE wait_status ship(int item) {
    if (!may_ship()) return wait_status::timed_out;
    send(peer_of(item), group_of(item));
    return wait_status::ok;
  }
  HIRIS_DEVICE wait_status settle() { return wait_status::ok; }
  HIRIS_DEVICE wait_status ready(int, int) { return wait_status::ok; }
};

/// For records that a library's all-gather puts side by side in one slot, ordered by the stream:
/// no kernel of ours ships or waits.
///
/// Reuse: a library writes into a rank's memory within that rank's own call only, which comes, in
/// stream order, after everything that read what was there.
class partials_collected : public partials_base {
 public:
  static constexpr bool ships_within = false;
  static constexpr bool awaits = false;
  using partials_base::partials_base;

  HIRIS_DEVICE wait_status ready(int, int) { return wait_status::ok; }
  /// Where the record of any rank lies, this one's too: [world, groups, record_floats].
  HIRIS_DEVICE const float* record(int source, int group) const {
    return x_.inbox + (std::int64_t{source} * x_.groups + group) * x_.record_floats;
  }
};

/// An all-gather within one kernel: it ends when the records of every rank are here. One signal a
/// rank; a rank waits for its peers and for no barrier.
class partials_gathered : public partials_signalled {
 public:
  static constexpr bool ships_within = false;
  static constexpr bool awaits = false;
  using partials_signalled::partials_signalled;

  HIRIS_DEVICE wait_status settle() {
    for (int source = platform::block_rank(); source < x_.ctx.size;
         source += platform::block_count()) {
      if (source == x_.ctx.rank) continue;
      for (int signal = 0; signal < x_.signals_a_source; ++signal) {
        const wait_status status = wait_for(source, signal);
        if (status != wait_status::ok) return status;
      }
    }
    return wait_status::ok;
  }
  HIRIS_DEVICE wait_status ready(int, int) { return wait_status::ok; }
};

/// Each record is signalled, and waited for only by who reads it.
class partials_awaited : public partials_signalled {
 public:
  static constexpr bool ships_within = false;
  static constexpr bool awaits = true;
  using partials_signalled::partials_signalled;

  HIRIS_DEVICE wait_status settle() { return wait_status::ok; }
  HIRIS_DEVICE wait_status ready(int source, int group) {
    return source == x_.ctx.rank ? wait_status::ok : wait_for(source, group / x_.groups_a_signal);
  }
  /// A source of `pending` whose record has come, or one that has not: after half the budget, or if
  /// waits must end.
  /// Acquires nothing: ready() is still to be called.
  ///
  /// Caller   one thread.
  ///
  /// @param pending One bit a source, at least one; sources below 64.
  HIRIS_DEVICE int first_come(int group, std::uint64_t pending) const {
    const std::uint64_t target = target_of(group / x_.groups_a_signal);
    const std::uint64_t start_ns = platform::clock_ns();
    for (std::uint32_t rounds = 1;; ++rounds) {
      int any = -1;
      for (int turn = 1; turn < x_.ctx.size; ++turn) {
        const int source = tile::source_at(turn, x_.ctx.rank, x_.ctx.size);
        if ((pending >> source & 1) == 0) continue;
        any = source;
        const std::uint64_t seen = platform::atomic_load<order::relaxed, scope::system>(
            &signal_of(source, group)->arrivals);
        if (hiris::detail::reached(seen, target)) return source;
      }
      if (platform::clock_ns() - start_ns >= x_.ctx.budget_ns / 2 ||
          (rounds % hiris::detail::polls_per_fault_look == 0 && hiris::detail::must_end(x_.ctx)))
        return any;
      platform::pause();
    }
  }
};

/// As `partials_awaited`, but the workgroup that completes a record sends it to every peer, and
/// tells the other workgroups of its own rank, one of which may be the one that reads it.
class partials_fused : public partials_awaited {
 public:
  static constexpr bool ships_within = true;
  using partials_awaited::partials_awaited;

  /// A record is complete, and all threads of the workgroup may read it.
  HIRIS_DEVICE wait_status publish(int group) {
    const int peers = x_.ctx.size - 1;
    HIRIS_NO_UNROLL
    for (int i = 0; i < peers; ++i) {
      const wait_status status = ship(group * peers + i);
      if (status != wait_status::ok) return status;
    }
    block_notify(x_.ctx, signal_of(x_.ctx.rank, group), x_.ctx.rank);
    return wait_status::ok;
  }
  HIRIS_DEVICE wait_status ready(int source, int group) {
    return wait_for(source, group / x_.groups_a_signal);
  }
};

}  // namespace hiris::comm
