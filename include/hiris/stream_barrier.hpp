// SPDX-License-Identifier: MIT
/// @file
/// All ranks meet in stream order, without the host waiting.
///
/// What any rank put on its stream after the barrier starts only when all ranks' work from before
/// it is done and visible. (Unless a wait has failed: kernels behind it run, and so does a barrier.
/// Ask `block_has_failed` where that matters.)
///
///     hiris::stream_barrier barrier(heap);            // collective, once
///     op.run(stream, ...);
///     barrier.enqueue(stream);                        // every rank, as often as the others
///     heap.synchronize(stream);                       // throws if a rank did not come
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/barrier.hpp"
#include "hiris/context.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris {

/// A barrier of the ranks of a heap, or of a team of them, on streams. It must not outlive the
/// heap.
///
/// Its kernels wait for those of the peers, and hold a place on the device while they do: ranks
/// that share a device must each have a stream of their own that has run something before: an
/// `owned_stream`, or one given to `prepare_stream`.
class stream_barrier {
 public:
  /// A barrier of all ranks of the heap. Collective.
  ///
  /// @throws as symmetric_heap::allocate_signals, and errc::out_of_memory, on every rank.
  explicit stream_barrier(symmetric_heap& heap)
      : stream_barrier(heap, heap.ranks(), heap.device_context()) {}

  /// A barrier of the ranks of `team`. Collective over all ranks of the *heap*, each with its team.
  ///
  /// @throws as symmetric_heap::allocate_signals and device_context, on every rank.
  stream_barrier(symmetric_heap& heap, const world& team)
      : stream_barrier(heap, team, heap.device_context(team)) {}

  /// Puts the barrier on a stream and returns. A time-out is recorded in the heap, whose `check` or
  /// `synchronize` throws it.
  ///
  /// Caller   host; may be captured. Every rank as often as the others; calls on different streams
  ///          are ordered by the caller.
  /// Cost     one kernel of one workgroup, one global barrier.
  ///
  /// @throws errc::runtime_failed if the launch fails.
  void enqueue(platform::stream stream) {
    const platform::device_guard guard(device_);
    platform::launch<barrier_kernel>(stream, 1, {context_, signals_.data(), epoch_.data()});
  }

  /// Barriers that have been carried out. Waits for the device's default stream only: synchronize
  /// the stream of the barrier first.
  std::uint64_t epoch() const {
    std::uint64_t value = 0;
    epoch_.copy_to(&value);
    return value;
  }

 private:
  stream_barrier(symmetric_heap& heap, const world& team, const context& ctx)
      : device_(team.device()),
        context_(ctx),
        signals_(heap.allocate_signals(heap.ranks().size())) {
    load_kernels<barrier_kernel>(heap.ranks());
    heap.ranks().collectively("epoch of a stream barrier", [&] {
      const platform::device_guard guard(device_);
      epoch_ = platform::device_buffer<std::uint64_t>(1);
      epoch_.fill_with(std::byte{0});
    });
  }

  int device_;
  context context_;
  symmetric_array<signal_counter> signals_;
  platform::device_buffer<std::uint64_t> epoch_;
};

}  // namespace hiris
