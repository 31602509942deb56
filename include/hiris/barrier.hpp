// SPDX-License-Identifier: MIT
/// @file
/// All ranks of a context meet: inside a kernel, or as a kernel of its own on a stream.
///
/// Every rank has one signal for each rank; arriving adds one to the own signal on all peers,
/// leaving needs `epoch` arrivals from each. Nothing is ever reset: the first barrier over fresh
/// signals has epoch 1, the next 2, across the wrap. A rank can be one barrier ahead of another,
/// never two.
///
///     // signals: [size] of the heap, the same on all ranks
///     if (block_barrier(ctx, signals, 1) != wait_status::ok) return;
///
///     // epoch: a word of device memory
///     launch<barrier_kernel>(stream, 1, {ctx, signals, epoch});
#pragma once

#include <cstdint>

#include "hiris/context.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/signal.hpp"

namespace hiris {

/// Returns when one workgroup of every rank has called it with this epoch.
///
/// The first wave does the talking, a lane a peer, so that the latency is one round trip and not
/// one a peer; its release and its acquire serve the workgroup for the reasons given at
/// `block_notify` and `block_wait_until`.
///
/// Caller   all threads of one workgroup a rank, converged, with the same arguments.
/// Order    release, then acquire, system scope, of everything that the workgroups have stored.
/// Cost     size - 1 remote atomics, one L2 write-back and one invalidate (amd), two workgroup
///          barriers. Counted as one global barrier; its signals are not counted.
///
/// @param signals This rank's address of the barrier's signals. [size]
/// @param epoch   Number of this barrier over these signals: 1 the first time, then one more each
///                time.
/// @return        The same on all threads; timed_out names the first peer that did not come.
HIRIS_DEVICE wait_status block_barrier(const context& ctx, signal_counter* signals,
                                       std::uint64_t epoch) {
  platform::drain_stores();
  platform::block_sync();
  bool late =
      platform::wave_rank() == 0 && !detail::admits(ctx, detail::primitive::block_barrier, ctx.rank,
                                                    signals, static_cast<std::uint64_t>(ctx.size));
  if (platform::wave_rank() == 0 && !late) {
    const int lane = platform::lane_rank();
    for (int peer = lane; peer < ctx.size; peer += platform::wave_size)
      if (peer != ctx.rank)
        platform::atomic_fetch_add<order::release, scope::system>(
            &ctx.on(peer, signals + ctx.rank)->arrivals, std::uint64_t{1});
    for (int peer = lane; peer < ctx.size; peer += platform::wave_size)
      if (peer != ctx.rank) {
        late |= !detail::poll(ctx, signals + peer, epoch, peer);
        platform::acquire_after<scope::system>(&signals[peer].arrivals);
      }
    if (platform::thread_rank() == 0) platform::count(platform::counter::global_barriers, 1);
  }
  return platform::block_any(late) ? wait_status::timed_out : wait_status::ok;
}

/// A barrier as a kernel of one workgroup, in stream order: what a rank enqueued before it is done
/// and visible to all ranks when what any rank enqueued after it starts. Its epoch is a word of
/// device memory, so that a captured graph may be replayed.
///
/// After a time-out the arrivals of this epoch have been sent, so the epoch has advanced, too.
struct barrier_kernel {
  static constexpr int block_threads = platform::wave_size;
  struct params {
    context ctx;
    signal_counter* signals;  ///< This rank's address of the barrier's signals. [size]
    std::uint64_t* epoch;     ///< Barriers so far; this rank's own, in device memory.
  };
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    const std::uint64_t epoch = platform::atomic_load<order::relaxed, scope::agent>(p.epoch) + 1;
    const wait_status status = block_barrier(p.ctx, p.signals, epoch);
    static_cast<void>(status);  // recorded in the fault record, which the host looks at
    if (platform::thread_rank() == 0)
      platform::atomic_store<order::relaxed, scope::agent>(p.epoch, epoch);
  }
};

/// As `barrier_kernel`, but a rank of which a wait has failed does not come: for barriers that say
/// that what was enqueued before them is done, which it is not then. Not to be used again after
/// that: epochs no longer agree.
struct guarded_barrier_kernel : barrier_kernel {
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    if (!block_has_failed(p.ctx)) barrier_kernel::run(p, s);
  }
};

}  // namespace hiris
