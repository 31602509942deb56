// SPDX-License-Identifier: MIT
/// @file
/// The compute units of an emulated device: which workgroups are resident, and whose turn it is.
///
/// A compute unit holds workgroups while their threads and shared memory fit. A resident workgroup
/// keeps its place until it ends; workgroups of several kernels share the units. Workgroups run in
/// turn, each until it can only wait. If all only wait, the thread yields and then sleeps briefly.
///
///     units.start(stream, op);              // a kernel that the stream has come to
///     while (units.admit()) units.run_newest();   // as many of its workgroups as fit
///     while (!units.round()) {}             // until one has ended
///     units.reap([&](ihipStream_t& s, bool failed) { ... });   // kernels that are done
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hiris/platform/cpu/fabric.hpp"
#include "hiris/platform/cpu/options.hpp"
#include "hiris/platform/cpu/statistics.hpp"
#include "hiris/platform/cpu/stream.hpp"
#include "hiris/platform/cpu/workgroup.hpp"

namespace hiris::platform::cpu {

/// Threads that a workgroup takes of a compute unit: whole waves.
inline int unit_threads(int block_threads) {
  return (block_threads + lanes_per_wave - 1) / lanes_per_wave * lanes_per_wave;
}

/// Workgroups of a kernel that one compute unit holds; 0 if it holds none.
inline int workgroups_per_unit(int block_threads, std::size_t shared_bytes) {
  int n = threads_per_unit / unit_threads(block_threads);
  if (shared_bytes > 0) n = std::min(n, static_cast<int>(shared_bytes_per_unit / shared_bytes));
  return n;
}

/// Used by the device's thread only.
class compute_units {
 public:
  explicit compute_units(int device)
      : device_(device), loads_(static_cast<std::size_t>(the_options().compute_units)) {}
  ~compute_units() { drop(); }
  compute_units(const compute_units&) = delete;
  compute_units& operator=(const compute_units&) = delete;

  void start(ihipStream_t& stream, const operation& op) {
    kernels_.push_back(std::make_unique<running_kernel>());
    kernels_.back()->stream = &stream;
    kernels_.back()->op = op;
    kernels_.back()->launch = count_launch(device_);
    kernels_.back()->before = stream.known;
  }

  bool idle() const { return residents_.empty(); }
  std::size_t residents() const { return residents_.size(); }

  /// Gives a place to the next workgroup. @return False if there is none, or no place for it.
  bool admit() {
    if (residents_.empty()) next_ = 0;
    for (const auto& kernel : kernels_) {
      const kernel_type& type = *kernel->op.type;
      if (kernel->failed || kernel->started == kernel->op.blocks) continue;
      const std::size_t unit = find_room(type);
      if (unit == loads_.size()) continue;
      next_ = (unit + 1) % loads_.size();
      loads_[unit].threads += unit_threads(type.block_threads);
      loads_[unit].shared_bytes += type.shared_bytes;
      workgroup* group =
          pool_.start(type, kernel->op.params.get(), kernel->started, kernel->op.blocks, device_);
      group->launch = kernel->launch;
      if (fabric_enabled()) the_fabric().enter(*group, kernel->before, kernel->op.rank);
      ++kernel->started;
      residents_.push_back({group, kernel.get(), unit, step_result::progressed});
      return true;
    }
    return false;
  }

  /// Runs the workgroup that was admitted last: if it ends, the next one has its stacks while they
  /// are in the cache. @return True if it has ended.
  bool run_newest() {
    resident& r = residents_.back();
    r.state = step(*r.group, scheduler_);
    return r.state == step_result::ended || r.state == step_result::failed;
  }

  /// Runs every resident workgroup once. @return True if any ended.
  bool round() {
    bool ended = false;
    bool progressed = false;
    for (resident& r : residents_) {
      r.state = step(*r.group, scheduler_);
      ended |= r.state == step_result::ended || r.state == step_result::failed;
      progressed |= r.state != step_result::only_waits;
    }
    if (progressed) {
      idle_rounds_ = 0;
    } else if (++idle_rounds_ < 4) {
      ::sched_yield();
    } else {
      const int us = std::min(10 << std::min(idle_rounds_ - 4, 5), 200);
      std::this_thread::sleep_for(std::chrono::microseconds(us));
    }
    return ended;
  }

  /// Runs one resident workgroup, any of them. @return True if it did more than wait.
  bool run_any(fabric_choices& choose) {
    resident& r = residents_[choose.below(residents_.size())];
    if (r.state == step_result::ended) {
      the_fabric().land_one_of(*r.group);
      return true;
    }
    r.state = step(*r.group, scheduler_, static_cast<int>(choose.below(most_waves)));
    return r.state != step_result::only_waits;
  }

  /// Takes away workgroups that have ended, and everything of a kernel that failed.
  ///
  /// @param done  Called as done(stream, failed) for each kernel that is no more.
  /// @return Why a kernel failed; empty if none did.
  template <class F>
  std::string reap(F done) {
    std::string failure;
    for (const resident& r : residents_) {
      if (r.state != step_result::failed || r.kernel->failed) continue;
      r.kernel->failed = true;
      failure = r.group->failure;
      std::fprintf(stderr, "hiris emulator: %s\n", failure.c_str());
    }
    std::erase_if(residents_, [&](const resident& r) {
      if (r.state != step_result::ended && !r.kernel->failed) return false;
      if (fabric_enabled() && !r.kernel->failed && !fabric::has_landed(*r.group)) return false;
      loads_[r.unit].threads -= unit_threads(r.group->type->block_threads);
      loads_[r.unit].shared_bytes -= r.group->type->shared_bytes;
      ++r.kernel->ended;
      if (fabric_enabled()) {
        ihipStream_t& stream = *r.kernel->stream;
        stream.known = join(stream.known, the_fabric().leave(*r.group));
      }
      pool_.give_back(r.group);
      return true;
    });
    std::erase_if(kernels_, [&](const auto& kernel) {
      if (kernel->ended < (kernel->failed ? kernel->started : kernel->op.blocks)) return false;
      done(*kernel->stream, kernel->failed);
      return true;
    });
    return failure;
  }

  /// Forgets everything that runs.
  void drop() {
    for (const resident& r : residents_) pool_.give_back(r.group);
    residents_.clear();
    kernels_.clear();
  }

 private:
  struct running_kernel {
    ihipStream_t* stream = nullptr;
    operation op;
    std::uint16_t launch = 0;
    shared_clock before;  ///< What had happened before it, under a hostile fabric.
    int started = 0;
    int ended = 0;
    bool failed = false;
  };
  struct resident {
    workgroup* group = nullptr;
    running_kernel* kernel = nullptr;
    std::size_t unit = 0;
    step_result state = step_result::progressed;
  };
  struct load {
    int threads = 0;
    std::size_t shared_bytes = 0;
  };

  /// The next unit that can hold one more; loads_.size() if none can.
  std::size_t find_room(const kernel_type& type) const {
    for (std::size_t i = 0, at = next_; i < loads_.size(); ++i, at = (at + 1) % loads_.size())
      if (loads_[at].threads + unit_threads(type.block_threads) <= threads_per_unit &&
          loads_[at].shared_bytes + type.shared_bytes <= shared_bytes_per_unit)
        return at;
    return loads_.size();
  }

  int device_;
  std::vector<load> loads_;
  std::size_t next_ = 0;
  fiber scheduler_;
  workgroup_pool pool_;
  std::vector<std::unique_ptr<running_kernel>> kernels_;
  std::vector<resident> residents_;
  int idle_rounds_ = 0;
};

}  // namespace hiris::platform::cpu
