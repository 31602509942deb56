// SPDX-License-Identifier: MIT
/// @file
/// What the host knows to have happened on the devices: one clock for all of its threads.
///
/// Every wait of the host (for a stream, a device, an event; a query that says "ready") adds what
/// has completed; whatever the host puts on a stream comes after all that it knows then. Threads
/// order each other in ways that are not seen, so they have one clock: what one has waited for, all
/// know. That may hide a race between threads that did not tell each other, and never invents one.
///
///     const shared_clock before = order.known();     // goes with what is enqueued
///     order.learn(clock_of_a_stream);                // the host has waited for it
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "hiris/platform/cpu/clocks.hpp"

namespace hiris::platform::cpu {

/// What goes with something that the host enqueues.
struct host_view {
  shared_clock known;       ///< What has happened before it.
  std::uint64_t given = 0;  ///< The fabric's memory as the host has seen it, a time of that.
};

/// Calls may come from any thread.
class host_order {
 public:
  /// The host has waited for all that `more` knows.
  void learn(const shared_clock& more) {
    const std::lock_guard lock(mutex_);
    if (more == learnt_) return;
    learnt_ = more;
    known_ = join(known_, more);
  }
  /// What has happened before anything that the host does now.
  shared_clock known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }
  /// All that was done by workgroups before number `group` is known, and nothing else.
  void restart(std::uint32_t group) {
    clock_set all;
    all.learn_all_before(group);
    const std::lock_guard lock(mutex_);
    known_ = std::make_shared<const clock_set>(std::move(all));
    learnt_ = nullptr;
  }

 private:
  mutable std::mutex mutex_;
  shared_clock known_;
  shared_clock learnt_;  ///< The last that it learnt.
};

}  // namespace hiris::platform::cpu
