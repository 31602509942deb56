// SPDX-License-Identifier: MIT
/// @file
/// Under a hostile fabric one thread runs all devices, a turn of a workgroup at a time, in the
/// order that the seed says. While it is held nothing runs: what the ranks have enqueued when it is
/// released runs alike whenever the seed is the same.
///
///     the_turns().hold();               // one rank, when all devices are idle
///     ... every rank enqueues ...
///     the_turns().release(seed);        // one rank, when all have
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "hiris/platform/cpu/executor.hpp"
#include "hiris/platform/cpu/fabric.hpp"

namespace hiris::platform::cpu {

class turn_taker {
 public:
  /// Adds a device; in the order of their ordinals, before anything runs.
  void add(executor* device) { devices_.push_back(device); }

  /// Something may have something to do.
  void ring() {
    const std::lock_guard lock(mutex_);
    ++bell_;
    if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { run(); });
    work_.notify_one();
  }

  /// Waits until the devices are idle; from then on nothing starts. Host.
  void hold() {
    for (executor* device : devices_) device->drain();
    const std::lock_guard lock(the_fabric().mutex());
    held_ = true;
  }
  /// Lets everything run, as `seed` says. Host.
  void release(std::uint64_t seed) {
    {
      const std::lock_guard lock(the_fabric().mutex());
      the_fabric().restart(seed);
      held_ = false;
      closed_ = true;
    }
    ring();
  }
  /// Whether nothing but what has been enqueued will come, until the host says otherwise: a wait
  /// that nobody can end then fails at once. `release` says so.
  void expect_more() {
    const std::lock_guard lock(the_fabric().mutex());
    closed_ = false;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ++bell_;
      work_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    ::prctl(PR_SET_TIMERSLACK, 1000UL);
    while (true) {
      std::uint64_t heard = 0;
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        heard = bell_;
      }
      const outcome found = turn();
      if (found == outcome::idle) {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] { return bell_ != heard; });
      } else if (found == outcome::stuck) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  enum class outcome { idle, moved, stuck };

  outcome turn() {
    fabric& fab = the_fabric();
    const std::lock_guard lock(fab.mutex());
    busy_.clear();
    for (executor* device : devices_)
      if (!held_ && device->has_work()) busy_.push_back(device);
    if (busy_.empty()) return outcome::idle;
    fab.pass_time(100);
    fab.drift();
    if (choose(fab)->turn())
      for (executor* device : devices_) device->end_quiet();
    if (!std::ranges::all_of(busy_, [](executor* d) { return d->is_quiet(); }))
      return outcome::moved;
    if (fab.land_one()) return outcome::moved;
    fab.pass_time(closed_ ? 1'000'000 : 50'000);  // nobody can go on
    return closed_ ? outcome::moved : outcome::stuck;
  }

  executor* choose(fabric& fab) const {
    for (;;) {
      executor* const device = busy_[fab.choices().below(busy_.size())];
      const bool slow = (fab.temper().slow_devices >> device->ordinal() & 1u) != 0;
      if (!slow || fab.choices().chance(16)) return device;
    }
  }

  // Guarded by the fabric's lock, which is held for a whole turn.
  std::vector<executor*> devices_, busy_;
  bool held_ = false, closed_ = false;

  std::mutex mutex_;
  std::condition_variable work_;
  std::uint64_t bell_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

/// The turns of this process.
inline turn_taker& the_turns() {
  static turn_taker* one = new turn_taker;
  return *one;
}

inline void ring_turns() { the_turns().ring(); }

}  // namespace hiris::platform::cpu
