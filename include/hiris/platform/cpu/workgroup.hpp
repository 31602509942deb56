// SPDX-License-Identifier: MIT
/// @file
/// Starting a workgroup, running it until it can only wait, and saying why it is stuck.
///
///     workgroup_pool pool;
///     workgroup* g = pool.start(type, params, rank, count, device);
///     while (step(*g) != step_result::ended) {}     // other workgroups run in between
///     pool.give_back(g);
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

inline std::string describe_lanes(std::uint64_t set) {
  if (set == 0) return "none";
  if (std::popcount(set) == 1) return "lane " + std::to_string(std::countr_zero(set));
  std::string text = std::to_string(std::popcount(set)) + " lanes (first " +
                     std::to_string(std::countr_zero(set)) + ")";
  return text;
}

inline std::string describe_place(const workgroup& group) {
  return std::string("kernel ") + group.type->name + ", block " + std::to_string(group.rank) +
         " of " + std::to_string(group.count) + ", device " + std::to_string(group.device);
}

[[noreturn]] inline void fail_divergent(lane& self, operation_kind kind) {
  const wave& w = *self.owner;
  w.group->failure = describe_place(*w.group) + ": divergent wave operation in wave " +
                     std::to_string(w.rank) + ": lane " + std::to_string(self.index) + " calls " +
                     to_string(kind) + " while " + describe_lanes(w.arrived) + " wait in " +
                     to_string(w.kind);
  fail(self);
}

/// Why nobody in the workgroup can run.
inline std::string describe_deadlock(const workgroup& group) {
  std::string text = describe_place(group) + ": nobody can go on:";
  int told = 0;
  for (int i = 0; i < group.n_waves; ++i) {
    const wave* w = group.waves[i];
    if (w->alive == 0 || ++told > 4) continue;
    text += " wave " + std::to_string(w->rank) + " has";
    if (w->arrived != 0) text += " " + describe_lanes(w->arrived) + " in " + to_string(w->kind);
    if (w->in_barrier != 0) text += " " + describe_lanes(w->in_barrier) + " in block_sync";
    text += " of " + std::to_string(std::popcount(w->alive)) + " alive;";
  }
  if (told > 4) text += " and " + std::to_string(told - 4) + " more waves;";
  return text + " all lanes of a wave or workgroup must take part";
}

/// First function of every lane.
inline void lane_entry(transfer_t from) {
  fiber::arrived(from);
  lane& self = *here.current;
  self.sanitizer.enter();
  happens_after(&self.owner->group->start);
  workgroup& group = *self.owner->group;
  bool threw = true;
  try {
    group.type->run(group.params, group.shared);
    threw = false;
  } catch (const std::exception& e) {
    group.failure = describe_place(group) + ", thread " + std::to_string(self.rank) +
                    ": exception: " + e.what();
  } catch (...) {
    group.failure = describe_place(group) + ", thread " + std::to_string(self.rank) + ": exception";
  }
  if (threw) fail(self);
  end_lane(self);
}

enum class step_result { progressed, only_waits, ended, failed };

/// Runs the lanes of a workgroup until each has ended, paused or waits for another.
///
/// @param start Wave that runs first, if it can.
HIRIS_CPU_UNWATCHED inline step_result step(workgroup& group, fiber& scheduler, int start = 0) {
  wave* first = nullptr;
  for (int i = 0; i < group.n_waves; ++i) {
    wave& w = *group.waves[(start + i) % group.n_waves];
    w.ready |= w.paused;
    w.paused = 0;
    if (first == nullptr && w.ready != 0) first = &w;
  }
  if (first == nullptr) {
    happens_after(&group.end);
    group.failed = true;
    group.failure = describe_deadlock(group);
    return step_result::failed;
  }
  const std::uint64_t steps_before = group.steps;
  here.scheduler = &scheduler;
  lane* next = take_ready(*first);
  here.current = next;
  scheduler.switch_to(*next);
  if (group.failed || group.alive_waves == 0) {
    happens_after(&group.end);
    return group.failed ? step_result::failed : step_result::ended;
  }
  return group.steps == steps_before ? step_result::only_waits : step_result::progressed;
}

/// Workgroups with their stacks and shared memory, kept for the next kernel. One an executor.
class workgroup_pool {
 public:
  workgroup* start(const kernel_type& type, const void* params, int rank, int count, int device) {
    auto group = std::make_unique<workgroup>();
    group->type = &type;
    group->params = params;
    group->rank = rank;
    group->count = count;
    group->device = device;
    group->n_waves = (type.block_threads + lanes_per_wave - 1) / lanes_per_wave;
    group->alive_waves = group->n_waves;
    for (int i = 0; i < group->n_waves; ++i) {
      wave* w = take_wave();
      group->waves[i] = w;
      const int n_lanes = std::min(lanes_per_wave, type.block_threads - i * lanes_per_wave);
      prepare(*w, *group, i, n_lanes);
    }
    group->shared = take_shared(type.shared_bytes);
    happens_before(&group->start);
    return group.release();
  }

  void give_back(workgroup* group) {
    for (int i = 0; i < group->n_waves; ++i) free_waves_.push_back(group->waves[i]);
    if (group->shared != nullptr)
      free_shared_.push_back({group->type->shared_bytes, group->shared});
    delete group;
  }

  ~workgroup_pool() {
    for (wave* w : free_waves_) delete w;
    for (auto& [bytes, memory] : free_shared_) std::free(memory);
  }
  workgroup_pool() = default;
  workgroup_pool(const workgroup_pool&) = delete;
  workgroup_pool& operator=(const workgroup_pool&) = delete;

 private:
  wave* take_wave() {
    if (free_waves_.empty()) return new wave;
    wave* w = free_waves_.back();
    free_waves_.pop_back();
    return w;
  }

  HIRIS_CPU_UNWATCHED static void prepare(wave& w, workgroup& group, int rank, int n_lanes) {
    w.alive = n_lanes == lanes_per_wave ? ~std::uint64_t{0} : (std::uint64_t{1} << n_lanes) - 1;
    w.ready = w.alive;
    w.arrived = w.in_barrier = w.paused = 0;
    w.kind = operation_kind::none;
    w.parity = 0;
    w.votes[0] = w.votes[1] = 0;
    w.rank = rank;
    w.group = &group;
    for (int i = 0; i < n_lanes; ++i) {
      lane& l = w.lanes[i];
      l.owner = &w;
      l.index = i;
      l.rank = rank * lanes_per_wave + i;
      const auto n = static_cast<std::size_t>(i);
      l.start(w.stacks.top(n), w.stacks.usable_bytes(n), lane_entry);
    }
  }

  /// Memory filled with NaN, so that a read of what nobody wrote shows.
  void* take_shared(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    for (std::size_t i = 0; i < free_shared_.size() && memory == nullptr; ++i) {
      if (free_shared_[i].first != bytes) continue;
      memory = free_shared_[i].second;
      free_shared_[i] = free_shared_.back();
      free_shared_.pop_back();
    }
    if (memory == nullptr) {
      memory = std::aligned_alloc(1024, (bytes + 1023) / 1024 * 1024);
      if (memory == nullptr) throw std::bad_alloc();
    }
    std::memset(memory, 0xff, bytes);
    return memory;
  }

  std::vector<wave*> free_waves_;
  std::vector<std::pair<std::size_t, void*>> free_shared_;
};

}  // namespace hiris::platform::cpu
