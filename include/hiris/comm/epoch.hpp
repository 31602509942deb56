// SPDX-License-Identifier: MIT
/// @file
/// Which call of an op this is, known on the device, so that a captured graph can be replayed.
///
/// Every kernel of a call reads the epoch of the call before and works for the next one. The last
/// workgroup of the call's last kernel to arrive stores it. Nothing is ever reset: arrivals count
/// on from call to call, and all comparisons wrap.
///
///     const std::uint64_t epoch = next_epoch(words);
///     ...
///     if (block_is_last(words, epoch, block_count())) {
///       ...                            // tell the peers
///       finish_epoch(words, epoch);
///     }
#pragma once

#include <cstdint>

#include "hiris/context.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/signal.hpp"

namespace hiris::comm {

/// Where an op counts its calls: words in this rank's device memory.
struct epoch_words {
  std::uint64_t* epoch;     ///< Calls completed, counted from `first`.
  std::uint64_t* arrivals;  ///< Workgroups that have finished, over all calls, from 0.
  std::uint64_t first;      ///< Epoch before the first call.
};

/// Epoch of the call that runs.
///
/// Caller   thread, before its workgroup arrives at `block_is_last`.
HIRIS_DEVICE std::uint64_t next_epoch(const epoch_words& words) {
  return platform::wave_uniform(platform::atomic_load<order::relaxed, scope::agent>(words.epoch)) +
         1;
}

/// Counts an arrival of this workgroup. True in the one that brings the count to `target`; what
/// those before it had completed is then visible to it. Data for it needs drain_stores() by all
/// waves first.
///
/// Caller   all threads of the workgroup, converged.
/// Order    acq_rel, this device.
/// Cost     one atomic with reply and two workgroup barriers.
///
/// @param count  Arrivals so far, in device memory; never reset, it may wrap.
HIRIS_DEVICE bool block_completes(std::uint64_t* count, std::uint64_t target) {
  platform::block_sync();
  bool last = false;
  if (platform::thread_rank() == 0)
    last = platform::atomic_fetch_add<order::acq_rel, scope::agent>(count, std::uint64_t{1}) + 1 ==
           target;
  return platform::block_any(last);
}

/// Counts this workgroup as finished. True in the one that is the last of the call; what all others
/// did before is then visible to it.
///
/// Caller   all threads of the workgroup, converged; once a workgroup and call.
/// Order    acq_rel, this device.
/// Cost     one atomic with reply and two workgroup barriers.
///
/// @param blocks Workgroups that arrive in a call, the same in every call.
HIRIS_DEVICE bool block_is_last(const epoch_words& words, std::uint64_t epoch, int blocks) {
  return block_completes(words.arrivals,
                         (epoch - words.first) * static_cast<std::uint64_t>(blocks));
}

/// Ends the call. The next kernel in stream order sees it.
///
/// Caller   one thread of the last workgroup.
HIRIS_DEVICE void finish_epoch(const epoch_words& words, std::uint64_t epoch) {
  platform::atomic_store<order::relaxed, scope::agent>(words.epoch, epoch);
}

/// Tells every peer that this rank has finished reading what they sent for this call.
///
/// Caller   all threads of the last workgroup of the call.
/// Cost     one remote atomic a peer.
///
/// @param acknowledged This rank's address of the counts. [world], symmetric
HIRIS_DEVICE void block_acknowledge(const context& ctx, signal_counter* acknowledged) {
  for (int peer = platform::thread_rank(); peer < ctx.size; peer += platform::block_threads())
    if (peer != ctx.rank) notify(ctx, acknowledged + ctx.rank, peer);
}

}  // namespace hiris::comm
