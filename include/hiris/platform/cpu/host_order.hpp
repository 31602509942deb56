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
///     order.began(group, time);  order.ended(group, time);
///     order.learn(clock_of_a_stream);                // the host has waited for it
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
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
  /// A workgroup, or a copy, begins: what it does has times after `time`. Numbers only grow.
  void began(std::uint32_t group, std::uint64_t time) {
    const std::lock_guard lock(mutex_);
    unknown_.emplace_hint(unknown_.end(), group, span{time, running});
  }
  void ended(std::uint32_t group, std::uint64_t time) {
    const std::lock_guard lock(mutex_);
    if (const auto found = unknown_.find(group); found != unknown_.end()) found->second.last = time;
  }

  /// The host has waited for all that `more` knows.
  void learn(const shared_clock& more) {
    if (more == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (more == learnt_) return;
    learnt_ = more;
    clock_set all = known_ == nullptr ? clock_set() : *known_;
    all.join(*more);
    std::erase_if(unknown_, [&](const auto& u) {
      return u.second.last != running && all.knows_group(u.first, u.second.last);
    });
    // Times before the first workgroup that is not wholly known are known of all: what keeps the
    // clocks short.
    all.learn_all(unknown_.empty() ? all.latest() : unknown_.begin()->second.first);
    known_ = std::make_shared<const clock_set>(std::move(all));
  }

  /// What has happened before anything that the host does now.
  shared_clock known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }

  /// All that was done up to `time` is known; nothing runs, and numbers begin anew.
  void restart(std::uint64_t time) {
    const std::lock_guard lock(mutex_);
    clock_set all;
    all.learn_all(time);
    known_ = std::make_shared<const clock_set>(std::move(all));
    learnt_ = nullptr;
    unknown_.clear();
  }

 private:
  struct span {
    std::uint64_t first;  ///< It does nothing up to then.
    std::uint64_t last;   ///< Its end, or `running`.
  };
  static constexpr std::uint64_t running = ~std::uint64_t{0};

  mutable std::mutex mutex_;
  shared_clock known_, learnt_;
  std::map<std::uint32_t, span> unknown_;  ///< By number, and so by begin, too.
};

}  // namespace hiris::platform::cpu
