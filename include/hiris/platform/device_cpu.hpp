// SPDX-License-Identifier: MIT
/// @file
/// What a thread can do, on the emulator. Include device.hpp, not this.
///
/// Everything that waits switches to another lane (cpu/wave.hpp). Atomics are the compiler's, with
/// the order that the call names, so that a thread sanitizer sees the library's own happens-before;
/// scope makes no difference here, unless the fabric is hostile (cpu/fabric.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "hiris/order.hpp"
#include "hiris/platform/cpu/access.hpp"
#include "hiris/platform/cpu/executor.hpp"
#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform {

inline constexpr int wave_size = cpu::lanes_per_wave;

// ---- ranks -------------------------------------------------------------------------------------

inline int thread_rank() { return cpu::here.current->rank; }
inline int lane_rank() { return cpu::here.current->index; }
inline int wave_rank() { return cpu::here.current->owner->rank; }
inline int block_rank() { return cpu::here.current->owner->group->rank; }
inline int block_count() { return cpu::here.current->owner->group->count; }
inline int block_threads() { return cpu::here.current->owner->group->type->block_threads; }

// ---- rendezvous --------------------------------------------------------------------------------

inline void block_sync() { cpu::meet_block(); }
inline void wave_sync() { cpu::meet(cpu::operation_kind::sync, nullptr); }

inline bool block_any(bool vote) { return cpu::meet_block_and_vote(vote); }

/// A lane that has ended gives bytes 0xff.
template <class T>
T wave_shuffle(T v, int from) {
  static_assert(std::is_trivially_copyable_v<T>, "hiris: only trivially copyable types shuffle");
  cpu::lane& self = *cpu::here.current;
  cpu::wave& w = *self.owner;
  const int source = from & (wave_size - 1);
  T result;
  const auto* in = reinterpret_cast<const std::byte*>(&v);
  auto* out = reinterpret_cast<std::byte*>(&result);
  for (std::size_t done = 0; done < sizeof(T); done += 16) {
    const std::size_t part = std::min<std::size_t>(16, sizeof(T) - done);
    const std::uint32_t parity = w.parity;
    std::memcpy(w.exchange[parity][self.index], in + done, part);
    cpu::meet(cpu::operation_kind::shuffle, nullptr);
    if ((w.took_part[parity] >> source & 1u) != 0) [[likely]] {
      std::memcpy(out + done, w.exchange[parity][source], part);
    } else {
      std::memset(out + done, 0xff, part);
    }
  }
  return result;
}

template <class T>
T wave_shuffle_xor(T v, int mask) {
  return wave_shuffle(v, lane_rank() ^ mask);
}

template <class T>
T wave_uniform(T v) {
  return v;
}

inline int recomputed(int v) { return v; }

using held16 = vec16;
inline held16 hold(const vec16& loaded) { return loaded; }
inline vec16 let_go(const held16& held) { return held; }

inline std::uint64_t wave_ballot(bool vote) { return cpu::meet_and_vote(vote); }

// ---- waiting -----------------------------------------------------------------------------------

inline void pause() {
  if (cpu::here.current != nullptr) {
    cpu::pause_lane();
  } else {
    std::this_thread::yield();
  }
}

inline std::uint64_t clock_ns() {
  if (cpu::fabric_enabled()) [[unlikely]]
    return cpu::the_fabric().clock_ns();
  return cpu::now_ns();
}

// ---- atomics -----------------------------------------------------------------------------------

namespace cpu {

constexpr std::memory_order std_order(order o) {
  switch (o) {
    case order::relaxed:
      return std::memory_order_relaxed;
    case order::acquire:
      return std::memory_order_acquire;
    case order::release:
      return std::memory_order_release;
    case order::acq_rel:
      return std::memory_order_acq_rel;
    case order::seq_cst:
      return std::memory_order_seq_cst;
  }
  return std::memory_order_seq_cst;
}

template <class T>
std::atomic_ref<T> atomic(const T* p) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                "hiris: an atomic has 1, 2, 4 or 8 bytes");
  return std::atomic_ref<T>(*const_cast<T*>(p));
}

/// Replaces *p by change(*p) at once. @return The old value.
template <order O, class T, class F>
T atomic_change(T* p, F change) {
  auto ref = atomic(p);
  T old = ref.load(std::memory_order_relaxed);
  while (!ref.compare_exchange_weak(old, change(old), std_order(O), std::memory_order_relaxed)) {
  }
  return old;
}

/// a + b, wrapping where T is an integer.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<bits>(a) + static_cast<bits>(b));
  } else {
    return a + b;
  }
}

/// Where fences meet under the thread sanitizer.
inline std::atomic<unsigned> fence_point{0};

/// A spin that polls and never pauses must not keep the others from running.
HIRIS_CPU_UNWATCHED inline void count_poll() {
  static constinit thread_local std::uint32_t polls = 0;
  if ((++polls & 1023u) == 0 && here.current != nullptr) [[unlikely]]
    pause_lane();
}

}  // namespace cpu

template <order O, scope S, class T>
T atomic_load(const T* p) {
  static_assert(O != order::release && O != order::acq_rel, "hiris: a load cannot release");
  if (cpu::goes_through_fabric(p, true)) [[unlikely]]
    return cpu::the_fabric().atomic_load(p, O, S);
  cpu::count_poll();
  return cpu::atomic(p).load(cpu::std_order(O));
}

template <order O, scope S, class T>
void atomic_store(T* p, std::type_identity_t<T> v) {
  static_assert(O != order::acquire && O != order::acq_rel, "hiris: a store cannot acquire");
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().atomic_store(p, v, O, S);
  cpu::atomic(p).store(v, cpu::std_order(O));
}

template <order O, scope S, class T>
T atomic_exchange(T* p, std::type_identity_t<T> v) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(
        p, [v](T) { return v; }, O, S);
  cpu::count_poll();
  return cpu::atomic(p).exchange(v, cpu::std_order(O));
}

template <order O, scope S, class T>
T atomic_compare_exchange(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(
        p, [=](T old) { return old == expected ? desired : old; }, O, S,
        [=](T old) { return old == expected; });
  cpu::count_poll();
  constexpr std::memory_order failure = O == order::release   ? std::memory_order_relaxed
                                        : O == order::acq_rel ? std::memory_order_acquire
                                                              : cpu::std_order(O);
  if constexpr (cpu::lanes_are_dear) {  // the thread sanitizer takes one that fails for a store
    const T seen = cpu::atomic(p).load(failure);
    if (!(seen == expected)) return seen;
  }
  cpu::atomic(p).compare_exchange_strong(expected, desired, cpu::std_order(O), failure);
  return expected;
}

template <order O, scope S, class T>
T atomic_fetch_add(T* p, std::type_identity_t<T> v) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(
        p, [v](T old) { return cpu::wrapping_add(old, v); }, O, S);
  return cpu::atomic(p).fetch_add(v, cpu::std_order(O));
}
template <order O, scope S, class T>
T atomic_fetch_sub(T* p, std::type_identity_t<T> v) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(
        p, [v](T old) { return cpu::wrapping_add(old, static_cast<T>(0 - v)); }, O, S);
  return cpu::atomic(p).fetch_sub(v, cpu::std_order(O));
}
template <order O, scope S, class T>
T atomic_fetch_and(T* p, std::type_identity_t<T> v) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(
        p, [v](T old) { return static_cast<T>(old & v); }, O, S);
  return cpu::atomic(p).fetch_and(v, cpu::std_order(O));
}
template <order O, scope S, class T>
T atomic_fetch_or(T* p, std::type_identity_t<T> v) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(
        p, [v](T old) { return static_cast<T>(old | v); }, O, S);
  return cpu::atomic(p).fetch_or(v, cpu::std_order(O));
}
template <order O, scope S, class T>
T atomic_fetch_xor(T* p, std::type_identity_t<T> v) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(
        p, [v](T old) { return static_cast<T>(old ^ v); }, O, S);
  return cpu::atomic(p).fetch_xor(v, cpu::std_order(O));
}
template <order O, scope S, class T>
T atomic_fetch_min(T* p, std::type_identity_t<T> v) {
  const auto change = [v](T old) { return v < old ? v : old; };
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(p, change, O, S);
  return cpu::atomic_change<O>(p, change);
}
template <order O, scope S, class T>
T atomic_fetch_max(T* p, std::type_identity_t<T> v) {
  const auto change = [v](T old) { return old < v ? v : old; };
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().update(p, change, O, S);
  return cpu::atomic_change<O>(p, change);
}

/// The thread sanitizer does not know fences; to it, all of them meet at one word.
template <order O, scope S>
void fence() {
  if (cpu::fabric_enabled() && cpu::here.current != nullptr) [[unlikely]]
    return cpu::the_fabric().fence(O, S);
  if constexpr (cpu::lanes_are_dear) {
    cpu::fence_point.fetch_add(1, cpu::std_order(O));
  } else {
    std::atomic_thread_fence(cpu::std_order(O));
  }
}

// ---- peers -------------------------------------------------------------------------------------

inline void drain_stores() {
  if (cpu::fabric_enabled() && cpu::here.current != nullptr) [[unlikely]]
    return cpu::the_fabric().drain();
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
/// As on cuda, a fence.
inline void complete_stores() {
  if (cpu::fabric_enabled() && cpu::here.current != nullptr) [[unlikely]]
    return cpu::the_fabric().complete();
  fence<order::acq_rel, scope::system>();
}

template <scope S>
void publish_add(std::uint64_t* p, std::uint64_t n) {
  if (cpu::goes_through_fabric(p)) [[unlikely]] {
    if constexpr (S == scope::system)
      cpu::the_fabric().add_without_reply(p, n);
    else
      cpu::the_fabric().update(
          p, [n](std::uint64_t old) { return old + n; }, order::release, S);
    return;
  }
  cpu::atomic(p).fetch_add(n, std::memory_order_release);
}

/// Acquires from the signal itself, so that a thread sanitizer sees the pair that a fence would
/// hide.
template <scope S, class T>
void acquire_after(const T* p) {
  if (cpu::goes_through_fabric(p)) [[unlikely]]
    return cpu::the_fabric().acquire_at(p, S);
  static_cast<void>(cpu::atomic(p).load(std::memory_order_acquire));
}

template <class T>
T peer_load(const T* p) {
  cpu::require_access<T>();
  if (cpu::accesses_watched.load(std::memory_order_relaxed)) [[unlikely]]
    return cpu::watched_load<scope::system>(p);
  return cpu::load_plain(p);
}

template <class T>
void peer_store(T* p, std::type_identity_t<T> v) {
  cpu::require_access<T>();
  if (cpu::accesses_watched.load(std::memory_order_relaxed)) [[unlikely]]
    return cpu::watched_store<scope::system, T>(p, v);
  cpu::store_plain(p, v);
}

template <class T>
T load_global(const T* p) {
  cpu::require_access<T>();
  if (cpu::accesses_watched.load(std::memory_order_relaxed)) [[unlikely]]
    return cpu::watched_load<scope::workgroup>(p);
  return cpu::load_plain(p);
}

template <class T>
void store_global(T* p, std::type_identity_t<T> v) {
  cpu::require_access<T>();
  if (cpu::accesses_watched.load(std::memory_order_relaxed)) [[unlikely]]
    return cpu::watched_store<scope::workgroup, T>(p, v);
  cpu::store_plain(p, v);
}

inline void count(counter which, std::uint64_t n) { cpu::count_here(which, n); }

inline void require(bool holds, const char* text) {
  if (!holds) [[unlikely]]
    throw std::invalid_argument(text);
}

}  // namespace hiris::platform
