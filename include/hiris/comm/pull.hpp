// SPDX-License-Identifier: MIT
/// @file
/// The main loop loads the peers' shards where they lie. Nothing is staged.
///
/// One launch. Its first workgroup tells every peer where this rank's shard of this call begins,
/// and that it may be read; a reader waits once a source. Every output tile reads its rows of A
/// again over the link, so this pays where there are few column blocks. Reuse: the caller may
/// overwrite A in stream order, so a rank's call ends only when every peer has acknowledged that it
/// has finished reading. After a wait that failed that may come too early: such a rank acknowledges
/// nothing, and a rank that is told of one when it has read all fails, too. Residency: a workgroup
/// that waits holds its place, so every workgroup of a launch is resident.
#pragma once

#include <cstdint>

#include "hiris/comm/arrivals.hpp"
#include "hiris/comm/exchange.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"

namespace hiris::comm {

/// Reads in place.
template <class T>
class pull {
 public:
  using element = T;
  struct params {
    exchange<T> x;            ///< One communication tile a source: its whole shard.
    const window* a_windows;  ///< [world], where the memory that holds A is mapped.
    std::int64_t* offsets;    ///< [world], symmetric: bytes from a source's window to its shard.
  };
  static constexpr bool ships_within = false;

  HIRIS_DEVICE explicit pull(const params& p) : p_(p), epoch_(next_epoch(p.x.words)) {}

  HIRIS_DEVICE wait_status begin() {
    if (platform::block_rank() == 0) open();
    return wait_status::ok;
  }

  HIRIS_DEVICE int items() const { return 0; }
  HIRIS_DEVICE wait_status ship(int) { return wait_status::ok; }

  HIRIS_DEVICE wait_status ready(const position& at) {
    if (at.source == here_.source) return wait_status::ok;
    if (at.source == p_.x.ctx.rank) {
      here_.enter_own(p_.x);
      return wait_status::ok;
    }
    here_.enter_peer(p_.x, at.source, nullptr);
    const wait_status status =
        seen_.wait(p_.x.ctx, p_.x.arrived, here_.first_tile, epoch_, at.source);
    if (status != wait_status::ok) return status;
    // The wait has acquired it. Atomic, so that amd does not load it by the scalar cache.
    const std::int64_t offset_bytes = platform::wave_uniform(
        platform::atomic_load<order::relaxed, scope::workgroup>(p_.offsets + at.source));
    here_.base = (const T*)(p_.a_windows[at.source].data + offset_bytes);
    return status;
  }
  HIRIS_DEVICE tile::strip<T> tile(const position& at) const { return here_.strip(at); }

  HIRIS_DEVICE wait_status finish(int blocks) {
    if (!block_is_last(p_.x.words, epoch_, blocks)) return wait_status::ok;
    const context& ctx = p_.x.ctx;
    if (block_has_failed(ctx)) return wait_status::timed_out;
    bool late = false;
    block_acknowledge(ctx, p_.x.acknowledged);
    for (int peer = platform::thread_rank(); peer < ctx.size; peer += platform::block_threads())
      if (peer != ctx.rank)
        late |= wait_until(ctx, p_.x.acknowledged + peer, epoch_, peer) != wait_status::ok;
    if (platform::thread_rank() == 0 && hiris::detail::is_told(ctx)) {
      hiris::detail::end_waits(ctx, fault_cause{});  // for its host; the cause is the peer's
      late = true;
    }
    if (platform::block_any(late)) return wait_status::timed_out;
    if (platform::thread_rank() == 0) finish_epoch(p_.x.words, epoch_);
    return wait_status::ok;
  }

 private:
  /// Says to every peer where this rank's shard lies, and that it may be read.
  HIRIS_DEVICE void open() {
    const context& ctx = p_.x.ctx;
    if (hiris::detail::has_failed(ctx)) return;  // what is open stays where it is
    const std::int64_t mine = (const char*)p_.x.a - p_.a_windows[ctx.rank].data;
    signal_counter* const opened = p_.x.arrived + p_.x.shards[ctx.rank].first_tile;
    for (int peer = platform::thread_rank(); peer < ctx.size; peer += platform::block_threads()) {
      if (peer == ctx.rank || p_.x.shards[ctx.rank].k_count == 0) continue;
      store(ctx, p_.offsets + ctx.rank, mine, peer);
      notify(ctx, opened, peer);
    }
  }

  const params& p_;
  std::uint64_t epoch_;
  arrivals seen_;
  source_view<T> here_;
};

}  // namespace hiris::comm
