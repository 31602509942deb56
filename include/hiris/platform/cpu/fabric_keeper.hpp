// SPDX-License-Identifier: MIT
/// @file
/// What the hostile fabric keeps: memory, the workgroups that run with their stores that have not
/// landed, what is known to have happened before what. The lanes' side is fabric.hpp.
///
///     fabric.enter(group, before);          // a workgroup starts
///     fabric.drift();                       // a turn goes by: some store lands, perhaps
///     if (fabric.has_landed(group)) after = fabric.leave(group);
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "hiris/order.hpp"
#include "hiris/platform/cpu/access.hpp"
#include "hiris/platform/cpu/fabric_choice.hpp"
#include "hiris/platform/cpu/fabric_memory.hpp"
#include "hiris/platform/cpu/host_order.hpp"
#include "hiris/platform/cpu/races.hpp"
#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

/// A store, or an addition without reply, that has not landed.
struct queued_store {
  std::byte* at;
  std::size_t bytes;
  scope reach;            ///< Workgroup: a plain store. System: written through.
  bool addition = false;  ///< Of an unsigned number, at system scope.
  int thread;             ///< Rank in the workgroup.
  std::byte value[grain_bytes];
  shared_clock given;     ///< Of an atomic operation: what it releases.
  bool replaces = false;  ///< An atomic store.
};

/// What the fabric knows of a workgroup.
struct fabric_group {
  fabric_observer sees;
  std::vector<queued_store> queue;  ///< In the order in which they were issued.
  group_knowledge knows;
  std::unordered_map<std::uintptr_t, int> queued;  ///< How many of them lie in a grain.
};

/// Everything is called on the thread that runs all devices, which holds the lock for a turn; what
/// is marked as the host's may be called by others.
class fabric_keeper {
 public:
  static constexpr std::size_t most_queued = 512;  ///< Of a workgroup; then the oldest lands.

  explicit fabric_keeper(std::uint64_t seed) : choose_(seed), temper_(make_temper(choose_)) {}

  std::mutex& mutex() { return mutex_; }
  fabric_choices& choices() { return choose_; }
  const fabric_temper& temper() const { return temper_; }

  /// Begins anew with a seed. Host, with the lock held; no kernel runs.
  void restart(std::uint64_t seed) {
    memory_.forget();
    races_.forget();
    host_.restart(races_.next_number());
    choose_ = fabric_choices(seed);
    temper_ = make_temper(choose_);
    accesses_ = 0;
    started_ = memory_.now();
  }
  /// Memory is given back. Host.
  void forget(const void* at, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes == 0) return;
    memory_.forget(static_cast<const std::byte*>(at), bytes);
    races_.forget(static_cast<const std::byte*>(at), bytes);
  }
  /// Another process takes part, whose accesses and signals order ours and are not seen: nobody
  /// looks for races from now on. Host.
  void stop_seeking_races() {
    const std::lock_guard lock(mutex_);
    seeks_races_ = false;
  }
  /// Races found since the last call, each with both places. Host.
  std::vector<std::string> take_races() {
    const std::lock_guard lock(mutex_);
    return races_.take_found();
  }
  /// What the host knows. From any thread.
  host_order& host() { return host_; }
  /// The time is of when a device last gave all that it held to memory: no earlier than what the
  /// host has waited for. From any thread.
  host_view view_of_host() const { return {host_.known(), given_to_host_.load()}; }
  /// What the host enqueues now begins on a device, which is to see what the host saw.
  void take_from_host(int device, const host_view& from) {
    memory_.acquire_until(device, from.given);
  }

  /// A number of all that was decided and done since `restart`: runs that are alike have the same.
  /// Host; no kernel runs.
  std::uint64_t fingerprint() {
    const std::lock_guard lock(mutex_);
    return choose_.state() ^ (memory_.now() - started_) << 32 ^ accesses_;
  }

  std::uint64_t clock_ns() const { return clock_ns_; }
  void pass_time(std::uint64_t ns) { clock_ns_ += ns; }

  // ---- workgroups and devices ----------------------------------------------------------------

  /// @param rank Of whom launched it, or -1.
  void enter(workgroup& group, const shared_clock& before, int rank) {
    group.view = std::make_shared<fabric_group>();
    fabric_group& g = *group.view;
    g.sees.device = group.device;
    memory_.enter(g.sees);
    if (seeks_races_)
      races_.enter(g.knows, group.device, group.type->block_threads, before,
                   {group.type->name, group.rank, rank});
    groups_.push_back(&g);
  }
  void met(fabric_group& g, int wave) {
    if (g.knows.lanes.empty()) return;
    if (wave < 0)
      races_.meet_all(g.knows);
    else
      races_.meet_wave(g.knows, wave);
  }
  /// Whether all that a workgroup has stored has landed: only then has it ended.
  static bool has_landed(const workgroup& group) { return group.view->queue.empty(); }
  /// Lets one of its stores land.
  void land_one_of(workgroup& group) {
    fabric_group& g = *group.view;
    if (!g.queue.empty()) land_grain(g, grain_of(g.queue[choose_.below(g.queue.size())].at));
  }
  /// A kernel's end releases to the device. @return What happened before it.
  shared_clock leave(workgroup& group) {
    fabric_group& g = *group.view;
    land_if(g, [](const queued_store&) { return true; });
    memory_.release(g.sees, scope::agent);
    std::erase(groups_, &g);
    const shared_clock all = g.knows.lanes.empty() ? nullptr : races_.leave(g.knows);
    group.view.reset();
    return all;
  }
  /// A copy, or another function of the host, in a stream that knows `before`.
  void begin_copy(int device, const shared_clock& before, int rank) {
    host_boundary(device);
    copying_.lanes.clear();
    if (seeks_races_) races_.enter(copying_, device, 1, before, {"a copy or fill", -1, rank});
  }
  void note_copy(const void* p, std::size_t bytes, access_kind kind) {
    if (copying_.lanes.empty() || !is_on_device(owner_of(p))) return;
    const auto* at = static_cast<const std::byte*>(p);
    while (bytes > 0) {
      const std::size_t part =
          std::min(bytes, grain_bytes - reinterpret_cast<std::uintptr_t>(at) % grain_bytes);
      races_.access(copying_, 0, at, part, kind, scope::system);
      at += part;
      bytes -= part;
    }
  }
  /// @return What has happened when it is over.
  shared_clock end_copy(int device) {
    host_boundary(device);
    return copying_.lanes.empty() ? nullptr : races_.leave(copying_);
  }
  void host_boundary(int device) {
    memory_.host_boundary(device);
    given_to_host_ = memory_.now();
  }

  /// What happens of itself between turns.
  void drift() {
    if (choose_.chance(temper_.land))
      for (int i = 0; i < 4 && land_one(); ++i) {
      }
    if (!groups_.empty() && choose_.chance(temper_.evict)) {
      fabric_group& g = *groups_[choose_.below(groups_.size())];
      memory_.release(g.sees, choose_.chance(128) ? scope::system : scope::agent);
    }
  }
  /// Lets one store land. @return False if there is none.
  bool land_one() {
    std::size_t waiting = 0;
    for (const fabric_group* g : groups_) waiting += g->queue.size();
    if (waiting == 0) return false;
    std::size_t chosen = choose_.below(waiting);
    for (fabric_group* g : groups_) {
      if (chosen < g->queue.size()) {
        land_grain(*g, grain_of(g->queue[chosen].at));
        break;
      }
      chosen -= g->queue.size();
    }
    return true;
  }

 protected:
  /// Stores to one grain land in order, whatever thread of the workgroup issued them.
  void land_grain(fabric_group& g, std::uintptr_t grain) {
    if (!g.queued.contains(grain)) return;
    land_if(g, [grain](const queued_store& s) { return grain_of(s.at) == grain; });
  }
  void land_additions(fabric_group& g, const void* p) {
    if (!g.queued.contains(grain_of(p))) return;
    for (const queued_store& s : g.queue)
      if (s.addition && grain_of(s.at) == grain_of(p)) return land_grain(g, grain_of(p));
  }
  template <class F>
  void land_if(fabric_group& g, F lands) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < g.queue.size(); ++i) {
      if (lands(g.queue[i])) {
        land(g, g.queue[i]);
      } else {
        if (kept != i) g.queue[kept] = g.queue[i];
        ++kept;
      }
    }
    g.queue.resize(kept);
  }
  void land(fabric_group& g, const queued_store& s) {
    if (const auto found = g.queued.find(grain_of(s.at)); --found->second == 0)
      g.queued.erase(found);
    if (seeks_races_ && (s.given != nullptr || s.replaces))
      races_.carry(g.knows, s.at, s.reach, s.given, s.replaces);
    if (!s.addition) return memory_.write(g.sees, s.at, s.value, s.bytes, s.reach);
    std::uint64_t n = 0;
    std::memcpy(&n, s.value, sizeof n);
    memory_.write_back_grain(g.sees, grain_of(s.at));
    exchange(g, reinterpret_cast<std::uint64_t*>(s.at), [n](std::uint64_t old) { return old + n; });
  }
  /// Atomic also for other processes.
  template <class T, class F>
  T exchange(fabric_group& g, T* p, F change) {
    memory_.remember_write(g.sees, p);
    const std::atomic_ref<T> word(*p);
    T old = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(old, change(old), std::memory_order_seq_cst)) {
    }
    return old;
  }
  std::mutex mutex_;
  fabric_choices choose_;
  fabric_temper temper_;
  fabric_memory memory_;
  race_detector races_;
  bool seeks_races_ = true;
  host_order host_;
  std::atomic<std::uint64_t> given_to_host_{0};
  group_knowledge copying_;
  std::vector<fabric_group*> groups_;  // in the order in which they started
  std::uint64_t clock_ns_ = 1'000'000'000;
  std::uint64_t accesses_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace hiris::platform::cpu
