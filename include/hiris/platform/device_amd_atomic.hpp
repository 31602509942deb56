// SPDX-License-Identifier: MIT
/// @file
/// Scoped atomics, fences and publishing on amd.
///
/// Orders are built from relaxed operations and fences, and every release ends in an explicit
/// `s_waitcnt vmcnt(0)`. The compiler leaves that wait out when this wave has nothing outstanding,
/// also behind `buffer_wbl2`: the write-back of what OTHER waves of the workgroup left in the L2
/// would then still be under way when the signal is sent (clang 21, gfx942 and gfx950).
///
/// Pointers are global memory, except at workgroup scope, where they may be workgroup memory too.
/// They are cast to the global address space, since a `flat_` instruction would wait for LDS as
/// well.
///
///     platform::atomic_store<order::relaxed, scope::system>(flag, 1u);   // global_store sc0 sc1
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"

namespace hiris::platform {
namespace amd {

template <std::size_t Bytes>
struct word;
template <>
struct word<1> {
  using type [[gnu::may_alias]] = std::uint8_t;
  using global [[gnu::may_alias]] = __attribute__((address_space(1))) std::uint8_t;
};
template <>
struct word<2> {
  using type [[gnu::may_alias]] = std::uint16_t;
  using global [[gnu::may_alias]] = __attribute__((address_space(1))) std::uint16_t;
};
template <>
struct word<4> {
  using type [[gnu::may_alias]] = std::uint32_t;
  using global [[gnu::may_alias]] = __attribute__((address_space(1))) std::uint32_t;
};
template <>
struct word<8> {
  using type [[gnu::may_alias]] = std::uint64_t;
  using global [[gnu::may_alias]] = __attribute__((address_space(1))) std::uint64_t;
};
/// The unsigned integer that has the size of T and may alias anything.
template <class T>
using word_of = typename word<sizeof(T)>::type;

/// The same in global memory. Written out at a plain access, since a template argument would lose
/// the leave to alias.
template <class T>
using global_word_of = typename word<sizeof(T)>::global;

template <scope S>
inline constexpr int hip_scope = S == scope::workgroup ? __HIP_MEMORY_SCOPE_WORKGROUP
                                 : S == scope::agent   ? __HIP_MEMORY_SCOPE_AGENT
                                                       : __HIP_MEMORY_SCOPE_SYSTEM;

inline constexpr bool has_release(order o) {
  return o == order::release || o == order::acq_rel || o == order::seq_cst;
}
inline constexpr bool has_acquire(order o) {
  return o == order::acquire || o == order::acq_rel || o == order::seq_cst;
}

/// Calls `f` with the pointer in the address space that its scope implies.
template <scope S, class T, class F>
HIRIS_DEVICE auto at_scope(T* p, F f) {
  if constexpr (S == scope::workgroup)
    return f(p);
  else
    return f((__attribute__((address_space(1))) T*)p);
}

}  // namespace amd

/// Waits until every store of this wave has completed at the scope that it was made for.
HIRIS_DEVICE void drain_stores() { asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); }

/// The same: here a drained store is a completed one.
HIRIS_DEVICE void complete_stores() { drain_stores(); }

/// Orders the accesses of this thread before it and after it, as C++'s atomic_thread_fence.
/// Cost: agent and system scope write back and/or invalidate caches, which the whole device takes
/// turns at (2.3 us when 304 workgroups do it at once). Once a workgroup, never in a spin.
template <order O, scope S>
HIRIS_DEVICE void fence() {
  if constexpr (amd::has_release(O)) {
    if constexpr (S == scope::workgroup) {
      __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    } else {
      if constexpr (S == scope::agent)
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
      else
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
      drain_stores();
    }
  }
  if constexpr (amd::has_acquire(O)) {
    if constexpr (S == scope::workgroup)
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    else if constexpr (S == scope::agent)
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    else
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  }
}

/// Makes the relaxed atomic_loads of `*p` that this thread has done so far acquire loads.
template <scope S, class T>
HIRIS_DEVICE void acquire_after(const T* /*p*/) {
  fence<order::acquire, S>();
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_load(const T* p) {
  static_assert(O == order::relaxed || O == order::acquire || O == order::seq_cst,
                "hiris: a load can be relaxed, acquire or seq_cst");
  using word = amd::word_of<T>;
  if constexpr (O == order::seq_cst) fence<order::release, S>();
  const word bits = amd::at_scope<S>((word*)p, [](auto* at) -> word {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, amd::hip_scope<S>);
  });
  if constexpr (O != order::relaxed) fence<order::acquire, S>();
  return __builtin_bit_cast(T, bits);
}

template <order O, scope S, class T>
HIRIS_DEVICE void atomic_store(T* p, T value) {
  static_assert(O == order::relaxed || O == order::release || O == order::seq_cst,
                "hiris: a store can be relaxed, release or seq_cst");
  using word = amd::word_of<T>;
  if constexpr (O != order::relaxed) fence<order::release, S>();
  amd::at_scope<S>((word*)p, [bits = __builtin_bit_cast(word, value)](auto* at) {
    __hip_atomic_store(at, bits, __ATOMIC_RELAXED, amd::hip_scope<S>);
  });
  if constexpr (O == order::seq_cst) fence<order::acquire, S>();
}

namespace amd {

/// A read-modify-write `f`, itself relaxed, between the fences of its order.
template <order O, scope S, class T, class F>
HIRIS_DEVICE T ordered(T* p, F f) {
  if constexpr (has_release(O)) fence<order::release, S>();
  const T old = at_scope<S>(p, f);
  if constexpr (has_acquire(O)) fence<order::acquire, S>();
  return old;
}

}  // namespace amd

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_exchange(T* p, T value) {
  using word = amd::word_of<T>;
  const word old =
      amd::ordered<O, S>((word*)p, [bits = __builtin_bit_cast(word, value)](auto* at) -> word {
        return __hip_atomic_exchange(at, bits, __ATOMIC_RELAXED, amd::hip_scope<S>);
      });
  return __builtin_bit_cast(T, old);
}

/// Compares by bits. @return the old value; the exchange took place if it equals `expected`.
template <order O, scope S, class T>
HIRIS_DEVICE T atomic_compare_exchange(T* p, T expected, T desired) {
  using word = amd::word_of<T>;
  word old = __builtin_bit_cast(word, expected);
  old = amd::ordered<O, S>(
      (word*)p, [seen = old, bits = __builtin_bit_cast(word, desired)](auto* at) mutable -> word {
        __hip_atomic_compare_exchange_strong(at, &seen, bits, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             amd::hip_scope<S>);
        return seen;
      });
  return __builtin_bit_cast(T, old);
}

/// Integers, float and double: native, over XGMI too (gfx90a: a loop for float and double).
template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_add(T* p, T value) {
  return amd::ordered<O, S>(p, [value](auto* at) -> T {
    return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, amd::hip_scope<S>);
  });
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_sub(T* p, T value) {
  static_assert(std::is_integral_v<T>, "hiris: subtract integers; add a negative float");
  return atomic_fetch_add<O, S>(p, static_cast<T>(T{0} - value));
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_and(T* p, T value) {
  return amd::ordered<O, S>(p, [value](auto* at) -> T {
    return __hip_atomic_fetch_and(at, value, __ATOMIC_RELAXED, amd::hip_scope<S>);
  });
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_or(T* p, T value) {
  return amd::ordered<O, S>(p, [value](auto* at) -> T {
    return __hip_atomic_fetch_or(at, value, __ATOMIC_RELAXED, amd::hip_scope<S>);
  });
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_xor(T* p, T value) {
  return amd::ordered<O, S>(p, [value](auto* at) -> T {
    return __hip_atomic_fetch_xor(at, value, __ATOMIC_RELAXED, amd::hip_scope<S>);
  });
}

namespace amd {

/// Replaces `*p` by `choose(*p)` in a compare-and-exchange loop: no fabric has a float minimum.
template <order O, scope S, class T, class F>
HIRIS_DEVICE T replace_in_loop(T* p, F choose) {
  if constexpr (has_release(O)) fence<order::release, S>();
  T old = atomic_load<order::relaxed, S>(p);
  for (;;) {
    const T seen = atomic_compare_exchange<order::relaxed, S>(p, old, choose(old));
    if (__builtin_bit_cast(word_of<T>, seen) == __builtin_bit_cast(word_of<T>, old)) break;
    old = seen;
  }
  if constexpr (has_acquire(O)) fence<order::acquire, S>();
  return old;
}

}  // namespace amd

/// Integers: native where the compiler trusts the fabric with it, else a loop of its own. float and
/// double: a compare-and-exchange loop; a NaN in memory stays.
template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_min(T* p, T value) {
  if constexpr (std::is_floating_point_v<T>)
    return amd::replace_in_loop<O, S>(p, [value](T old) { return value < old ? value : old; });
  else
    return amd::ordered<O, S>(p, [value](auto* at) -> T {
      return __hip_atomic_fetch_min(at, value, __ATOMIC_RELAXED, amd::hip_scope<S>);
    });
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_max(T* p, T value) {
  if constexpr (std::is_floating_point_v<T>)
    return amd::replace_in_loop<O, S>(p, [value](T old) { return value > old ? value : old; });
  else
    return amd::ordered<O, S>(p, [value](auto* at) -> T {
      return __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, amd::hip_scope<S>);
    });
}

/// Adds to a signal after every wave has drained its stores and met at a block_sync. Peer stores
/// were written through, so a relaxed add is enough here; it returns nothing, so nobody waits for
/// it.
template <scope S>
HIRIS_DEVICE void publish_add(std::uint64_t* p, std::uint64_t n) {
  amd::at_scope<S>(p, [n](auto* at) {
    static_cast<void>(__hip_atomic_fetch_add(at, n, __ATOMIC_RELAXED, amd::hip_scope<S>));
  });
}

}  // namespace hiris::platform
