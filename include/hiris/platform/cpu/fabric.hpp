// SPDX-License-Identifier: MIT
/// @file
/// The hostile fabric: what the accesses of kernels do when a seed asks for it.
///
/// Off, memory is strong, and an access costs one predictable branch more. On, stores wait in a
/// queue of their workgroup and land in any order, the sooner of their own thread's drain and a
/// chance; atomics overtake them; loads may be served from old copies (fabric_memory.hpp). What a
/// run does follows from the seed and from what is launched: docs/decisions/0007 has the rules.
///
///     if (fabric_enabled()) return the_fabric().load(p, reach);
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hiris/order.hpp"
#include "hiris/platform/cpu/access.hpp"
#include "hiris/platform/cpu/fabric_choice.hpp"
#include "hiris/platform/cpu/fabric_memory.hpp"
#include "hiris/platform/cpu/options.hpp"
#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

/// Whether this process has a hostile fabric. It is decided with the first device.
inline constinit std::atomic<bool> fabric_decided{false};
inline bool fabric_enabled() { return fabric_decided.load(std::memory_order_relaxed); }

constexpr bool acquires(order o) { return o != order::relaxed && o != order::release; }
constexpr bool releases(order o) { return o != order::relaxed && o != order::acquire; }

/// A store, or an addition without reply, that has not landed.
struct queued_store {
  std::byte* at;
  std::size_t bytes;
  scope reach;    ///< Workgroup: a plain store. System: written through.
  bool addition;  ///< Of an unsigned number, at system scope.
  int thread;     ///< Rank in the workgroup.
  std::byte value[grain_bytes];
};

/// What the fabric knows of a workgroup.
struct fabric_group {
  fabric_observer sees;
  std::vector<queued_store> queue;                 ///< In the order in which they were issued.
  std::unordered_map<std::uintptr_t, int> queued;  ///< How many of them lie in a grain.
};

/// Everything is called on the thread that runs all devices, which holds the lock for a turn; what
/// is marked as the host's may be called by others.
class fabric {
 public:
  static constexpr std::size_t most_queued = 512;  ///< Of a workgroup; then the oldest lands.

  explicit fabric(std::uint64_t seed) : choose_(seed), temper_(make_temper(choose_)) {}

  std::mutex& mutex() { return mutex_; }
  fabric_choices& choices() { return choose_; }
  const fabric_temper& temper() const { return temper_; }

  /// Begins anew with a seed. Host, with the lock held; no kernel runs.
  void restart(std::uint64_t seed) {
    memory_.forget();
    choose_ = fabric_choices(seed);
    temper_ = make_temper(choose_);
    accesses_ = 0;
    started_ = memory_.now();
  }
  /// Memory is given back. Host.
  void forget(const void* at, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > 0) memory_.forget(static_cast<const std::byte*>(at), bytes);
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

  void enter(workgroup& group) {
    group.view = std::make_shared<fabric_group>();
    group.view->sees.device = group.device;
    memory_.enter(group.view->sees);
    groups_.push_back(group.view.get());
  }
  /// Whether all that a workgroup has stored has landed: only then has it ended.
  static bool has_landed(const workgroup& group) { return group.view->queue.empty(); }
  /// Lets one of its stores land.
  void land_one_of(workgroup& group) {
    fabric_group& g = *group.view;
    if (!g.queue.empty()) land_grain(g, grain_of(g.queue[choose_.below(g.queue.size())].at));
  }
  /// A kernel's end releases to the device.
  void leave(workgroup& group) {
    fabric_group& g = *group.view;
    land_if(g, [](const queued_store&) { return true; });
    memory_.release(g.sees, scope::agent);
    std::erase(groups_, &g);
    group.view.reset();
  }
  void host_boundary(int device) { memory_.host_boundary(device); }

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

  // ---- what a lane does ----------------------------------------------------------------------

  template <class T>
  T load(const T* p, scope reach) {
    fabric_group& g = here_group();
    land_additions(g, p);
    T value;
    auto* to = reinterpret_cast<std::byte*>(&value);
    memory_.read(g.sees, p, to, sizeof(T), reach, choose_, temper_.stale);
    if (g.queued.contains(grain_of(p))) add_queued(g, p, to, sizeof(T));
    return value;
  }

  template <class T>
  void store(T* p, const T& value, scope reach) {
    push(p, &value, sizeof(T), reach, false);
  }

  void add_without_reply(std::uint64_t* p, std::uint64_t n) {
    push(p, &n, sizeof n, scope::system, true);
  }

  /// Replaces *p by change(*p) at once, past the queues of all others. @return The old value.
  template <class T, class F>
  T update(T* p, F change, order o, scope reach) {
    fabric_group& g = here_group();
    if (releases(o)) release(reach);
    land_grain(g, grain_of(p));
    T old;
    if (reach == scope::system) {
      memory_.write_back_grain(g.sees, grain_of(p));
      old = exchange(g, p, change);
    } else {
      memory_.publish_grain(g.sees, grain_of(p));
      memory_.read(g.sees, p, reinterpret_cast<std::byte*>(&old), sizeof(T), scope::agent, choose_,
                   temper_.stale);
      const T changed = change(old);
      memory_.write(g.sees, p, reinterpret_cast<const std::byte*>(&changed), sizeof(T),
                    scope::agent);
    }
    if (acquires(o)) acquire(reach);
    return old;
  }

  /// Waits until what this thread has stored has landed.
  void drain() {
    const int thread = here.current->rank;
    land_if(here_group(), [thread](const queued_store& s) { return s.thread == thread; });
  }
  void release(scope reach) {
    if (reach == scope::workgroup) return;
    drain();
    memory_.release(here_group().sees, reach);
  }
  void acquire(scope reach) { memory_.acquire(here_group().sees, reach); }

  /// Lets others go first, now and then: at every access, so that a spin without a pause ends.
  void step_aside() {
    ++accesses_;
    if (choose_.chance(temper_.preempt) || accesses_ % 512 == 0) give_way(*here.current);
  }

 private:
  static fabric_group& here_group() { return *here.current->owner->group->view; }

  void push(void* p, const void* value, std::size_t bytes, scope reach, bool addition) {
    fabric_group& g = here_group();
    if (g.queue.size() >= most_queued) land_grain(g, grain_of(g.queue.front().at));
    queued_store& s = g.queue.emplace_back();
    s.at = static_cast<std::byte*>(p);
    s.bytes = bytes;
    s.reach = reach;
    s.addition = addition;
    s.thread = here.current->rank;
    std::memcpy(s.value, value, bytes);
    ++g.queued[grain_of(p)];
    if (addition && choose_.chance(128)) land_grain(g, grain_of(p));  // overtakes stores
  }

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
  /// A workgroup sees what its own waves have stored.
  static void add_queued(const fabric_group& g, const void* p, std::byte* to, std::size_t n) {
    const auto* from = static_cast<const std::byte*>(p);
    for (const queued_store& s : g.queue) {
      const std::byte* const first = std::max<const std::byte*>(s.at, from);
      const std::byte* const last = std::min<const std::byte*>(s.at + s.bytes, from + n);
      if (first < last)
        std::memcpy(to + (first - from), s.value + (first - s.at),
                    static_cast<std::size_t>(last - first));
    }
  }

  std::mutex mutex_;
  fabric_choices choose_;
  fabric_temper temper_;
  fabric_memory memory_;
  std::vector<fabric_group*> groups_;  // in the order in which they started
  std::uint64_t clock_ns_ = 1'000'000'000;
  std::uint64_t accesses_ = 0;
  std::uint64_t started_ = 0;
};

/// The fabric of this process; only where fabric_enabled().
inline fabric& the_fabric() {
  static fabric* one = new fabric(the_options().fabric_seed);
  return *one;
}

/// Whether the calling lane's access to `p` is the fabric's to carry out.
inline bool goes_through_fabric(const void* p) {
  if (!fabric_enabled() || here.current == nullptr || owner_of(p) == -1) [[likely]]
    return false;
  the_fabric().step_aside();
  return true;
}

}  // namespace hiris::platform::cpu
