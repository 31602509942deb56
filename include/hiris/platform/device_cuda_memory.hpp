// SPDX-License-Identifier: MIT
/// @file
/// Scoped atomics, fences, and peer and global accesses of 1 to 16 bytes on cuda.
///
/// Atomics are libcu++'s cuda::atomic_ref, which writes order and scope into the instruction
/// (`ld.relaxed.sys`, `atom.add.release.gpu`). Accesses of 16 bytes are PTX: st.relaxed.sys takes a
/// vector, whose four words are each written once, in no particular order.
///
///     platform::atomic_store<order::relaxed, scope::system>(flag, 1u);   // st.relaxed.sys
#pragma once

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris::platform {
namespace cuda_detail {

template <scope S>
inline constexpr ::cuda::thread_scope thread_scope =
    S == scope::workgroup ? ::cuda::thread_scope_block
    : S == scope::agent   ? ::cuda::thread_scope_device
                          : ::cuda::thread_scope_system;

template <order O>
inline constexpr ::cuda::memory_order memory_order =
    O == order::relaxed   ? ::cuda::memory_order_relaxed
    : O == order::acquire ? ::cuda::memory_order_acquire
    : O == order::release ? ::cuda::memory_order_release
    : O == order::acq_rel ? ::cuda::memory_order_acq_rel
                          : ::cuda::memory_order_seq_cst;

template <std::size_t Bytes>
struct word;
template <>
struct word<1> {
  using type = std::uint8_t;
};
template <>
struct word<2> {
  using type = std::uint16_t;
};
template <>
struct word<4> {
  using type = std::uint32_t;
};
template <>
struct word<8> {
  using type = std::uint64_t;
};
/// The unsigned integer that has the size of T.
template <class T>
using word_of = typename word<sizeof(T)>::type;

/// By value: from a reference to global memory nvcc would copy byte by byte.
template <class To, class From>
HIRIS_DEVICE To same_bits(const From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// The word at `p` as an atomic of scope S.
template <scope S, class W, class T>
HIRIS_DEVICE ::cuda::atomic_ref<W, thread_scope<S>> at(T* p) {
  return ::cuda::atomic_ref<W, thread_scope<S>>(
      *reinterpret_cast<W*>(const_cast<std::remove_const_t<T>*>(p)));
}

}  // namespace cuda_detail

template <order O, scope S>
HIRIS_DEVICE void fence() {
  ::cuda::atomic_thread_fence(cuda_detail::memory_order<O>, cuda_detail::thread_scope<S>);
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
  using word = cuda_detail::word_of<T>;
  return cuda_detail::same_bits<T>(cuda_detail::at<S, word>(p).load(cuda_detail::memory_order<O>));
}

template <order O, scope S, class T>
HIRIS_DEVICE void atomic_store(T* p, T value) {
  static_assert(O == order::relaxed || O == order::release || O == order::seq_cst,
                "hiris: a store can be relaxed, release or seq_cst");
  using word = cuda_detail::word_of<T>;
  cuda_detail::at<S, word>(p).store(cuda_detail::same_bits<word>(value),
                                    cuda_detail::memory_order<O>);
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_exchange(T* p, T value) {
  using word = cuda_detail::word_of<T>;
  return cuda_detail::same_bits<T>(cuda_detail::at<S, word>(p).exchange(
      cuda_detail::same_bits<word>(value), cuda_detail::memory_order<O>));
}

/// Compares by bits. @return the old value; the exchange took place if it equals `expected`.
template <order O, scope S, class T>
HIRIS_DEVICE T atomic_compare_exchange(T* p, T expected, T desired) {
  using word = cuda_detail::word_of<T>;
  word seen = cuda_detail::same_bits<word>(expected);
  cuda_detail::at<S, word>(p).compare_exchange_strong(seen, cuda_detail::same_bits<word>(desired),
                                                      cuda_detail::memory_order<O>);
  return cuda_detail::same_bits<T>(seen);
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_add(T* p, T value) {
  return cuda_detail::at<S, T>(p).fetch_add(value, cuda_detail::memory_order<O>);
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_sub(T* p, T value) {
  static_assert(std::is_integral_v<T>, "hiris: subtract integers; add a negative float");
  return cuda_detail::at<S, T>(p).fetch_sub(value, cuda_detail::memory_order<O>);
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_and(T* p, T value) {
  return cuda_detail::at<S, T>(p).fetch_and(value, cuda_detail::memory_order<O>);
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_or(T* p, T value) {
  return cuda_detail::at<S, T>(p).fetch_or(value, cuda_detail::memory_order<O>);
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_xor(T* p, T value) {
  return cuda_detail::at<S, T>(p).fetch_xor(value, cuda_detail::memory_order<O>);
}

namespace cuda_detail {

/// Replaces `*p` by `choose(*p)` in a compare-and-exchange loop: no instruction has a float
/// minimum.
template <order O, scope S, class T, class F>
HIRIS_DEVICE T replace_in_loop(T* p, F choose) {
  T old = atomic_load<order::relaxed, S>(p);
  for (;;) {
    const T seen = atomic_compare_exchange<O, S>(p, old, choose(old));
    if (same_bits<word_of<T>>(seen) == same_bits<word_of<T>>(old)) return old;
    old = seen;
  }
}

}  // namespace cuda_detail

/// Integers: native. float and double: a compare-and-exchange loop; a NaN in memory stays.
template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_min(T* p, T value) {
  if constexpr (std::is_floating_point_v<T>)
    return cuda_detail::replace_in_loop<O, S>(p,
                                              [value](T old) { return value < old ? value : old; });
  else
    return cuda_detail::at<S, T>(p).fetch_min(value, cuda_detail::memory_order<O>);
}

template <order O, scope S, class T>
HIRIS_DEVICE T atomic_fetch_max(T* p, T value) {
  if constexpr (std::is_floating_point_v<T>)
    return cuda_detail::replace_in_loop<O, S>(p,
                                              [value](T old) { return value > old ? value : old; });
  else
    return cuda_detail::at<S, T>(p).fetch_max(value, cuda_detail::memory_order<O>);
}

/// Nothing to wait for: publish_add is a release, and covers what the block_sync before it has
/// gathered of the other threads. A fence a thread would cost 1.1 us a signal (one way, H200) for
/// nothing.
HIRIS_DEVICE void drain_stores() { asm volatile("" : : : "memory"); }

/// Returns when this thread's stores are complete at system scope, also for relaxed accesses after
/// it.
HIRIS_DEVICE void complete_stores() { fence<order::acq_rel, scope::system>(); }

/// Adds to a signal after every wave has drained its stores and met at a block_sync. A release,
/// since that is what makes the other threads' stores part of what the signal tells.
template <scope S>
HIRIS_DEVICE void publish_add(std::uint64_t* p, std::uint64_t n) {
  if constexpr (S == scope::workgroup)
    asm volatile("red.release.cta.global.add.u64 [%0], %1;" : : "l"(p), "l"(n) : "memory");
  else if constexpr (S == scope::agent)
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(p), "l"(n) : "memory");
  else
    asm volatile("red.release.sys.global.add.u64 [%0], %1;" : : "l"(p), "l"(n) : "memory");
}

/// Loads 1, 2, 4, 8 or 16 bytes from a peer, at system scope. Not atomic above 8 bytes. Several may
/// be in flight.
template <class T>
HIRIS_DEVICE T peer_load(const T* p) {
  if constexpr (sizeof(T) == 16) {
    vec16 v;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(p)
                 : "memory");
    return cuda_detail::same_bits<T>(v);
  } else {
    return atomic_load<order::relaxed, scope::system>(p);
  }
}

/// Stores 1, 2, 4, 8 or 16 bytes to a peer, at system scope. Ordered by the release that follows.
template <class T>
HIRIS_DEVICE void peer_store(T* p, T value) {
  if constexpr (sizeof(T) == 16) {
    const auto v = cuda_detail::same_bits<vec16>(value);
    asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
  } else {
    atomic_store<order::relaxed, scope::system>(p, value);
  }
}

/// Plain load of 1, 2, 4, 8 or 16 bytes: own memory, or a peer's after an acquire. May hit caches.
/// Not the read-only path (ld.global.nc), which an acquire does not reach.
template <class T>
HIRIS_DEVICE T load_global(const T* p) {
  if constexpr (sizeof(T) == 16)
    return cuda_detail::same_bits<T>(*reinterpret_cast<const uint4*>(p));
  else
    return cuda_detail::same_bits<T>(*reinterpret_cast<const cuda_detail::word_of<T>*>(p));
}

/// Plain store of 1, 2, 4, 8 or 16 bytes to own memory. May alias any type.
template <class T>
HIRIS_DEVICE void store_global(T* p, T value) {
  if constexpr (sizeof(T) == 16)
    *reinterpret_cast<uint4*>(p) = cuda_detail::same_bits<uint4>(value);
  else
    *reinterpret_cast<cuda_detail::word_of<T>*>(p) =
        cuda_detail::same_bits<cuda_detail::word_of<T>>(value);
}

}  // namespace hiris::platform
