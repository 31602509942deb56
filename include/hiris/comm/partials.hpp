// SPDX-License-Identifier: MIT
/// @file
/// How partial results travel: each rank has one of every group, and each rank reads all of them.
///
/// A *group* is what is reduced over the ranks on its own; its *record* has the same number of
/// floats on every rank. A rank keeps its own records where they were made, and has an inbox of
/// [2, world, groups] records for those of its peers. Where there are more groups than signals,
/// several share one, which counts them all.
///
/// A policy is a type with these members; kernels are written against them and know no policy.
///
///     policy(const partial_exchange&);             // all threads of a workgroup
///     static constexpr bool ships_within;          // whether what makes a record ships it at once
///     static constexpr bool awaits;                // whether ready() may have to wait
///     int items();  wait_status ship(int item);    // (peer, group) pairs of this rank
///     wait_status settle();                        // once a workgroup, after its last ship()
///     wait_status ready(int source, int group);    // may this record be read?
///     const float* record(int source, int group);  // where it lies
///     void finish(int blocks);                     // once a workgroup of the call's last kernel
///
/// All calls are for all threads of the workgroup, converged; a status is the same in all of them.
#pragma once

#include <cstdint>

#include "hiris/comm/arrivals.hpp"
#include "hiris/comm/epoch.hpp"
#include "hiris/comm/shard.hpp"
#include "hiris/context.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "hiris/tile/schedule.hpp"

namespace hiris::comm {

/// Parameters that all policies share. Trivially copyable.
struct partial_exchange {
  context ctx;
  float* own;               ///< [groups, record_floats], this rank's memory.
  float* inbox;             ///< [2, world, groups, record_floats], symmetric.
  signal_counter* arrived;  ///< [world, signals_a_source], symmetric.
  epoch_words words;
  int groups;
  int record_floats;     ///< A multiple of 4.
  int groups_a_signal;   ///< Consecutive groups that share a signal.
  int signals_a_source;  ///< groups / groups_a_signal, rounded up.
};

/// Groups that share a signal, so that no more than max_tiles signals are needed.
constexpr int groups_a_signal(int world, int groups) {
  const int most = max_tiles / world;
  return (groups + most - 1) / most;
}

/// What all policies do alike: number shipments, and know where records lie.
class partials_base {
 public:
  HIRIS_DEVICE explicit partials_base(const partial_exchange& x)
      : x_(x), epoch_(next_epoch(x.words)) {}

  /// Number of the call.
  HIRIS_DEVICE std::uint64_t epoch() const { return epoch_; }

  HIRIS_DEVICE int items() const { return (x_.ctx.size - 1) * x_.groups; }

  /// This rank's own record of a group, to be written.
  HIRIS_DEVICE float* own(int group) const {
    return x_.own + std::int64_t{group} * x_.record_floats;
  }
  HIRIS_DEVICE const float* record(int source, int group) const {
    return source == x_.ctx.rank ? own(group) : inbox(source, group);
  }

  /// Ends the call, with the last of the workgroups that call this; the next kernel sees it.
  ///
  /// @param blocks Workgroups of the launch; all of them call it, once.
  HIRIS_DEVICE void finish(int blocks) {
    if (block_is_last(x_.words, epoch_, blocks) && platform::thread_rank() == 0)
      finish_epoch(x_.words, epoch_);
  }

 protected:
  /// Whom a shipment goes to. The nearest neighbour above comes first.
  HIRIS_DEVICE int peer_of(int item) const {
    return tile::source_at(1 + item % (x_.ctx.size - 1), x_.ctx.rank, x_.ctx.size);
  }
  HIRIS_DEVICE int group_of(int item) const { return item / (x_.ctx.size - 1); }

  /// Stores this rank's record of a group into the inbox of a peer. Follow with a notify.
  HIRIS_DEVICE void send(int peer, int group) const {
    block_put(x_.ctx, inbox(x_.ctx.rank, group), own(group), peer,
              static_cast<std::uint64_t>(x_.record_floats));
  }
  /// Whether this rank may write into the inboxes of its peers. Asks once a workgroup.
  HIRIS_DEVICE bool may_ship() {
    if (!may_ship_) may_ship_ = !block_has_failed(x_.ctx);
    return may_ship_;
  }

  const partial_exchange& x_;
  const std::uint64_t epoch_;

 private:
  bool may_ship_ = false;

  HIRIS_DEVICE float* inbox(int source, int group) const {
    const auto slot = static_cast<std::int64_t>(epoch_ % 2) * x_.ctx.size + source;
    return x_.inbox + (slot * x_.groups + group) * x_.record_floats;
  }
};

/// What the policies with signals do alike.
///
/// Reuse: an inbox has two slots. Slot e of a peer was last read in its call e-2, and this rank has
/// waited for the peer's records of call e-1, which came after that. That holds only while no wait
/// of this rank fails. Once one has, it ships nothing: the kernels behind it on the stream run all
/// the same, and a peer that is slow, and waits for nothing more in its call, would neither learn
/// of it nor report it.
/// Residency: a workgroup that waits holds its place, so every workgroup of a launch is resident.
class partials_signalled : public partials_base {
 public:
  using partials_base::partials_base;

  HIRIS_DEVICE wait_status ship(int item) {
    if (!may_ship()) return wait_status::timed_out;
    const int peer = peer_of(item);
    const int group = group_of(item);
    send(peer, group);
    block_notify_peer_stores(x_.ctx, signal_of(x_.ctx.rank, group), peer);
    return wait_status::ok;
  }

 protected:
  HIRIS_DEVICE signal_counter* signal_of(int source, int group) const {
    return x_.arrived + number_of(source, group / x_.groups_a_signal);
  }
  /// Waits until all groups that share a signal have come.
  HIRIS_DEVICE wait_status wait_for(int source, int signal) {
    return seen_.wait(x_.ctx, x_.arrived, number_of(source, signal), target_of(signal), source);
  }
  HIRIS_DEVICE std::uint64_t target_of(int signal) const {
    const int left = x_.groups - signal * x_.groups_a_signal;
    return epoch_ *
           static_cast<std::uint64_t>(left < x_.groups_a_signal ? left : x_.groups_a_signal);
  }

 private:
  HIRIS_DEVICE int number_of(int source, int signal) const {
    return source * x_.signals_a_source + signal;
  }

  arrivals seen_;
};

}  // namespace hiris::comm
