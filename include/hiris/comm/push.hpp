// SPDX-License-Identifier: MIT
/// @file
/// Producers store tiles into every inbox and signal each; the multiply waits tile by tile.
///
/// `push` ships in a kernel of its own before the multiply; `push_fused` is the same in one launch,
/// the first workgroups set apart for shipping. No barrier of all ranks.
/// Reuse: an inbox has two slots. A rank that has finished reading call e acknowledges it to all
/// peers; slot e of a peer is written only when that peer has acknowledged call e-2, and never once
/// a wait of this rank has failed.
/// Residency: a workgroup that waits holds its place, so every workgroup of a launch is resident.
#pragma once

#include <cstdint>

#include "hiris/comm/arrivals.hpp"
#include "hiris/comm/exchange.hpp"
#include "hiris/comm/ship.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/signal.hpp"

namespace hiris::comm {

/// Ships and signals tile by tile.
template <class T>
class push {
 public:
  using element = T;
  using params = exchange<T>;
  static constexpr bool ships_within = false;

  HIRIS_DEVICE explicit push(const params& p) : p_(p), epoch_(next_epoch(p.words)), free_(-1) {}

  HIRIS_DEVICE wait_status begin() { return wait_status::ok; }

  HIRIS_DEVICE int items() const { return shipments(p_); }
  HIRIS_DEVICE wait_status ship(int item) {
    const shipment what = shipment_at(p_, item);
    if (what.peer != free_) {
      const wait_status status =
          block_wait_to_reuse(p_.ctx, p_.acknowledged + what.peer, epoch_ - 2, what.peer);
      if (status != wait_status::ok) return status;
      free_ = what.peer;
    }
    ship_tile(p_, what.tile, what.peer, epoch_);
    block_notify_peer_stores(p_.ctx, p_.arrived + p_.shards[p_.ctx.rank].first_tile + what.tile,
                             what.peer);
    return wait_status::ok;
  }

  HIRIS_DEVICE wait_status ready(const position& at) {
    const bool own = at.source == p_.ctx.rank;
    if (at.source != here_.source) {
      if (own)
        here_.enter_own(p_);
      else
        here_.enter_inbox(p_, at.source, epoch_);
    }
    if (own) return wait_status::ok;
    return seen_.wait(p_.ctx, p_.arrived, here_.tile_of(p_, at), epoch_, at.source);
  }
  HIRIS_DEVICE tile::strip<T> tile(const position& at) const { return here_.strip(at); }

  HIRIS_DEVICE wait_status finish(int blocks) {
    if (!block_is_last(p_.words, epoch_, blocks)) return wait_status::ok;
    block_acknowledge(p_.ctx, p_.acknowledged);
    if (platform::thread_rank() == 0) finish_epoch(p_.words, epoch_);
    return wait_status::ok;
  }

 private:
  const params& p_;
  std::uint64_t epoch_;
  arrivals seen_;
  source_view<T> here_;
  int free_;  ///< Peer whose slot this workgroup knows to be free.
};

/// As `push`, but a workgroup of the multiply's own launch ships.
template <class T>
class push_fused : public push<T> {
 public:
  static constexpr bool ships_within = true;
  using push<T>::push;
};

}  // namespace hiris::comm
