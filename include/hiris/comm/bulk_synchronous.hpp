// SPDX-License-Identifier: MIT
/// @file
/// The baseline: everything is shipped, all ranks meet, then everything may be read.
///
/// Three launches: a kernel that ships, a barrier of all ranks, the multiply. Readiness is left to
/// the barrier; the end of the kernel that ships waits for its stores. Reuse: an inbox has two
/// slots. The ship kernel of call e writes slot e while a slow peer may still read slot e-1; slot e
/// was last read in call e-2, and the barrier of call e-1, which this rank has passed, came after
/// that on every rank. Once a wait of this rank has failed, it ships nothing, does not come to the
/// barrier (guarded_barrier_kernel), and reads nothing.
#pragma once

#include "hiris/comm/exchange.hpp"
#include "hiris/comm/ship.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/signal.hpp"

namespace hiris::comm {

/// Ships without a word; readiness comes from a barrier between kernels.
template <class T>
class bulk_synchronous {
 public:
  using element = T;
  using params = exchange<T>;
  static constexpr bool ships_within = false;

  HIRIS_DEVICE explicit bulk_synchronous(const params& p) : p_(p), epoch_(next_epoch(p.words)) {}

  /// What a barrier that ran out has let through may still be written.
  HIRIS_DEVICE wait_status begin() {
    return block_has_failed(p_.ctx) ? wait_status::timed_out : wait_status::ok;
  }

  HIRIS_DEVICE int items() const { return shipments(p_); }
  HIRIS_DEVICE wait_status ship(int item) {
    if (!may_ship_) may_ship_ = !block_has_failed(p_.ctx);
    if (!may_ship_) return wait_status::timed_out;
    const shipment what = shipment_at(p_, item);
    ship_tile(p_, what.tile, what.peer, epoch_);
    return wait_status::ok;
  }

  HIRIS_DEVICE wait_status ready(const position& at) {
    if (at.source != here_.source) {
      if (at.source == p_.ctx.rank)
        here_.enter_own(p_);
      else
        here_.enter_inbox(p_, at.source, epoch_);
    }
    return wait_status::ok;
  }
  HIRIS_DEVICE tile::strip<T> tile(const position& at) const { return here_.strip(at); }

  HIRIS_DEVICE wait_status finish(int blocks) {
    if (block_is_last(p_.words, epoch_, blocks) && platform::thread_rank() == 0)
      finish_epoch(p_.words, epoch_);
    return wait_status::ok;
  }

 private:
  const params& p_;
  std::uint64_t epoch_;
  source_view<T> here_;
  bool may_ship_ = false;
};

}  // namespace hiris::comm
