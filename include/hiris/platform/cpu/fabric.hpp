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
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hiris/order.hpp"
#include "hiris/platform/cpu/access.hpp"
#include "hiris/platform/cpu/fabric_keeper.hpp"
#include "hiris/platform/cpu/guard.hpp"
#include "hiris/platform/cpu/options.hpp"
#include "hiris/platform/cpu/races.hpp"
#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

/// Whether this process has a hostile fabric. It is decided with the first device.
inline bool fabric_enabled() { return fabric_decided.load(std::memory_order_relaxed); }

constexpr bool acquires(order o) { return o != order::relaxed && o != order::release; }
constexpr bool releases(order o) { return o != order::relaxed && o != order::acquire; }

/// The lanes' side. Called on the thread that runs all devices.
class fabric : public fabric_keeper {
 public:
  using fabric_keeper::fabric_keeper;

  /// A load or store that is not atomic. Workgroup: a plain one. System: past the caches.
  template <class T>
  T load(const T* p, scope reach) {
    get_on();
    note(p, sizeof(T), access_kind::read, reach);
    return look(past_guard(p), reach);
  }
  template <class T>
  void store(T* p, const T& value, scope reach) {
    get_on();
    note(p, sizeof(T), access_kind::write, reach);
    push(past_guard(p), &value, sizeof(T), reach);
    step_aside(false);
  }

  template <class T>
  T atomic_load(const T* p, order o, scope reach) {
    note(p, sizeof(T), access_kind::atomic_read, reach);
    if (o == order::seq_cst) drain();
    const T value = look(past_guard(p), reach);
    if (acquires(o))
      acquire_at(p, reach);
    else if (lane_knowledge* me = here_knowledge())
      me->polled = join(me->polled, races_.carried_by(here_group().knows, past_guard(p), reach));
    return value;
  }
  template <class T>
  void atomic_store(T* p, const T& value, order o, scope reach) {
    note(p, sizeof(T), access_kind::atomic_write, reach);
    const shared_clock given = release_with(o, reach);
    queued_store& s = push(past_guard(p), &value, sizeof(T), reach);
    s.given = given;
    s.replaces = true;
    if (o == order::seq_cst) drain();
    step_aside(false);
  }

  /// An addition that may be late, and releases nothing to memory.
  void add_without_reply(std::uint64_t* p, std::uint64_t n) {
    note(p, sizeof n, access_kind::atomic_write, scope::system);
    p = past_guard(p);
    queued_store& s = push(p, &n, sizeof n, scope::system);
    s.addition = true;
    if (here_knowledge() != nullptr) s.given = races_.release(here_group().knows, here_thread());
    if (choose_.chance(128)) land_grain(here_group(), grain_of(p));  // overtakes stores
    if (choose_.chance(128)) give_way(*here.current);                // for others to see
  }

  /// Replaces *p by change(*p) at once, past the queues of all others. @return The old value.
  template <class T, class F>
  T update(T* p, F change, order o, scope reach) {
    return update(p, change, o, reach, [](T) { return true; });
  }
  /// As above, where `writes(*p)` says whether it is more than a load.
  template <class T, class F, class W>
  T update(T* const named, F change, order o, scope reach, W writes) {
    get_on();
    fabric_group& g = here_group();
    T* const p = past_guard(named);
    land_grain(g, grain_of(p));
    T old;
    bool is_write = true;
    if (reach == scope::system) {
      memory_.write_back_grain(g.sees, grain_of(p));
      is_write = writes(std::atomic_ref<T>(*p).load(std::memory_order_relaxed));
    } else {
      memory_.publish_grain(g.sees, grain_of(p));
    }
    note(named, sizeof(T), is_write ? access_kind::atomic_write : access_kind::atomic_read, reach);
    const shared_clock given = release_with(o, reach);
    if (reach == scope::system) {
      old = exchange(g, p, change);
    } else {
      memory_.read(g.sees, p, reinterpret_cast<std::byte*>(&old), sizeof(T), scope::agent, choose_,
                   temper_.stale);
      const T changed = change(old);
      memory_.write(g.sees, p, reinterpret_cast<const std::byte*>(&changed), sizeof(T),
                    scope::agent);
    }
    if (seeks_races_ && is_write) races_.carry(g.knows, p, carried_to(o, reach), given, false);
    if (acquires(o)) acquire_at(p, reach);
    step_aside(false);
    return old;
  }

  /// Waits until what this thread has stored has landed.
  void drain() {
    const int thread = here.current->rank;
    land_if(here_group(), [thread](const queued_store& s) { return s.thread == thread; });
  }
  /// Waits until what this thread has stored to peers is complete; goes with its relaxed atomics,
  /// and those of whom it then meets.
  void complete() {
    drain();
    if (lane_knowledge* me = here_knowledge()) {
      me->released = races_.release(here_group().knows, here_thread());
      me->released_to = scope::system;
    }
  }
  void fence(order o, scope reach) {
    lane_knowledge* const me = here_knowledge();
    if (releases(o)) {
      release(reach);
      if (me != nullptr) {
        me->released = races_.release(here_group().knows, here_thread());
        me->released_to = reach;
      }
    }
    if (acquires(o)) {
      memory_.acquire(here_group().sees, reach);
      if (me != nullptr) me->known = join(me->known, me->polled);
    }
  }
  /// Acquires what was released with the operations on *p.
  void acquire_at(const void* p, scope reach) {
    fabric_group& g = here_group();
    memory_.acquire(g.sees, reach);
    if (lane_knowledge* me = here_knowledge())
      me->known = join(me->known, races_.carried_by(g.knows, past_guard(p), reach));
  }

  /// Lets others go first, now and then. @param polls Waits, perhaps, in a loop without a pause:
  /// that is no progress.
  void step_aside(bool polls) {
    ++accesses_;
    if (!polls && choose_.chance(temper_.preempt)) {
      get_on();
      give_way(*here.current);
    } else if (accesses_ % 512 == 0) {
      give_way(*here.current);
    }
  }

 private:
  /// Polling is waiting, everything else is progress.
  static void get_on() { ++here.current->owner->group->steps; }
  static fabric_group& here_group() { return *here.current->owner->group->view; }

  static std::uint32_t here_thread() { return static_cast<std::uint32_t>(here.current->rank); }
  /// What the calling thread knows; null if nobody looks for races.
  lane_knowledge* here_knowledge() const {
    group_knowledge& knows = here_group().knows;
    return seeks_races_ && !knows.lanes.empty() ? &knows.lanes[here_thread()] : nullptr;
  }
  void note(const void* p, std::size_t bytes, access_kind kind, scope reach) {
    if (here_knowledge() != nullptr)
      races_.access(here_group().knows, here_thread(), p, bytes, kind, reach);
  }

  void release(scope reach) {
    if (reach == scope::workgroup) return;
    drain();
    memory_.release(here_group().sees, reach);
  }
  /// Releases if the order says so. @return What an atomic of that order carries.
  shared_clock release_with(order o, scope reach) {
    lane_knowledge* const me = here_knowledge();
    if (!releases(o)) return me != nullptr ? me->released : nullptr;
    release(reach);
    return me != nullptr ? races_.release(here_group().knows, here_thread()) : nullptr;
  }
  /// To whom: a fence before a relaxed operation may have had a narrower scope.
  scope carried_to(order o, scope reach) const {
    const lane_knowledge* const me = here_knowledge();
    return releases(o) || me == nullptr ? reach : std::min(reach, me->released_to);
  }

  template <class T>
  T look(const T* p, scope reach) {
    fabric_group& g = here_group();
    land_additions(g, p);
    T value;
    auto* to = reinterpret_cast<std::byte*>(&value);
    memory_.read(g.sees, p, to, sizeof(T), reach, choose_, temper_.stale);
    if (g.queued.contains(grain_of(p))) add_queued(g, p, to, sizeof(T));
    return value;
  }

  queued_store& push(void* p, const void* value, std::size_t bytes, scope reach) {
    fabric_group& g = here_group();
    if (g.queue.size() >= most_queued) land_grain(g, grain_of(g.queue.front().at));
    ++g.queued[grain_of(p)];
    queued_store& s = g.queue.emplace_back();
    s.at = static_cast<std::byte*>(p);
    s.bytes = bytes;
    s.reach = reach;
    s.thread = here.current->rank;
    std::memcpy(s.value, value, bytes);
    return s;
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
};

/// The fabric of this process; only where fabric_enabled().
inline fabric& the_fabric() {
  static fabric* one = new fabric(the_options().fabric_seed);
  return *one;
}

inline void note_meeting(workgroup& group, int wave) { the_fabric().met(*group.view, wave); }

/// A copy of the host reads and writes these bytes. @param from Null: not device memory.
inline void note_copy(const void* to, const void* from, std::size_t bytes) {
  if (!fabric_enabled()) return;
  if (from != nullptr) the_fabric().note_copy(from, bytes, access_kind::read);
  the_fabric().note_copy(to, bytes, access_kind::write);
}

/// Whether the calling lane's access to `p` is the fabric's to carry out.
///
/// @param polls It may be one of many that wait for a change.
[[gnu::noinline, gnu::cold]] inline bool fabric_takes(const void* p, bool polls) {
  if (here.current == nullptr || owner_of(p) == owned_by_nobody) return false;
  the_fabric().step_aside(polls);
  return true;
}
inline bool goes_through_fabric(const void* p, bool polls = false) {
  return fabric_enabled() && fabric_takes(p, polls);
}

/// Accesses that are not atomic, where somebody watches them.
template <scope Reach, class T>
[[gnu::noinline, gnu::cold]] T watched_load(const T* p) {
  note_read(p, sizeof(T));
  return goes_through_fabric(p) ? the_fabric().load(p, Reach) : load_plain(p);
}
template <scope Reach, class T>
[[gnu::noinline, gnu::cold]] void watched_store(T* p, const T& value) {
  note_write(p, sizeof(T));
  if (goes_through_fabric(p)) return the_fabric().store(p, value, Reach);
  store_plain(p, value);
}

}  // namespace hiris::platform::cpu
