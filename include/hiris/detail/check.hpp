// SPDX-License-Identifier: MIT
/// @file
/// The checks of a debug build: a primitive asks before it touches anything, and what is refused
/// becomes the fault of this rank, which the host throws. Nothing traps.
///
///     if (!detail::admits(ctx, detail::primitive::store, to, to_ptr)) return;   // recorded
///
/// Without HIRIS_DEBUG every question is answered with true at compile time. No layout depends on
/// the switch, so translation units built with and without it may share contexts and heaps.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

struct signal_counter;

namespace detail {

/// What a kernel called. The host has the names (heap/detail/misuse_text.hpp).
enum class primitive : std::uint32_t {
  on,
  load,
  store,
  get,
  wave_get,
  block_get,
  put,
  wave_put,
  block_put,
  copy,
  wave_copy,
  block_copy,
  atomic_add,
  atomic_sub,
  atomic_inc,
  atomic_min,
  atomic_max,
  atomic_and,
  atomic_or,
  atomic_xor,
  atomic_xchg,
  atomic_cas,
  notify,
  notify_peer_stores,
  wave_notify_peer_stores,
  block_notify,
  block_notify_peer_stores,
  wait_until,
  block_wait_until,
  block_barrier
};

/// What was wrong with a call.
enum class misuse : std::uint32_t {
  none,
  rank,             ///< No such rank in the context.
  count,            ///< Negative; or no arrivals in a notify.
  null,             ///< The symmetric pointer is null.
  range,            ///< Not all of it lies in this rank's window.
  alignment,        ///< The symmetric pointer is not aligned as its type is.
  local_null,       ///< The other side of a get or put is null.
  local_alignment,  ///< The other side of a get or put is not aligned as its type is.
};

/// The part of a fault record that a refused call fills in. Plain numbers: the device writes them,
/// the host reads them.
struct misuse_record {
  std::uint32_t what = 0;          ///< A `misuse`; none: the fault is another.
  std::uint32_t by = 0;            ///< A `primitive`.
  std::uint32_t in_signals = 0;    ///< 1: in the window of the signals, 0: of the data.
  std::uint32_t ranks = 0;         ///< Size of the context.
  std::uint64_t address = 0;       ///< What this rank passed: the pointer that is at fault.
  std::int64_t offset_bytes = 0;   ///< Of the symmetric pointer in the window.
  std::uint64_t count = 0;         ///< Elements, signals, or arrivals of a notify.
  std::uint64_t elem_bytes = 0;    ///< Size of one of them.
  std::uint64_t alignment = 0;     ///< Alignment of one of them.
  std::uint64_t window_bytes = 0;  ///< Allowed are offsets below it.
};

/// What a primitive is about to touch.
struct access {
  primitive by;
  int peer;
  const void* at;  ///< This rank's address.
  std::uint64_t count;
  std::uint32_t elem_bytes;
  std::uint32_t alignment;
  bool in_signals;
};

template <class T>
HIRIS_DEVICE access access_to(primitive by, int peer, const T* at, std::uint64_t count) {
  return {by,
          peer,
          at,
          count,
          static_cast<std::uint32_t>(sizeof(T)),
          alignof(T),
          std::is_same_v<T, signal_counter>};
}

/// Where this rank's window begins and how long it is: its ends are those of rank 0, as all windows
/// of a context are of one size (context::windows).
struct extent {
  const char* begin;
  std::uint64_t bytes;
};
template <class Context>
HIRIS_DEVICE extent window_of(const Context& ctx, bool in_signals) {
  const auto& mine = ctx.windows[ctx.rank];
  const auto& first = ctx.windows[0];
  const auto& end = ctx.windows[ctx.size];
  return in_signals ? extent{mine.signals, static_cast<std::uint64_t>(end.signals - first.signals)}
                    : extent{mine.data, static_cast<std::uint64_t>(end.data - first.data)};
}

/// Claims the fault record, unless a fault came first, and says in it what was refused. Without a
/// record the emulator ends the kernel.
template <class Context>
HIRIS_DEVICE void record_misuse(const Context& ctx, misuse what, const access& a,
                                const void* address) {
  constexpr auto relaxed = order::relaxed;
  constexpr auto system = scope::system;
  auto* const f = ctx.fault;
  platform::require(f != nullptr, "hiris: a primitive was called with what it does not allow");
  if (f == nullptr) return;
  if (platform::atomic_compare_exchange<relaxed, system>(&f->state, 0u, 1u) != 0u) return;
  const auto put32 = [](std::uint32_t* to, std::uint32_t value) {
    platform::atomic_store<relaxed, system>(to, value);
  };
  const auto put64 = [](std::uint64_t* to, std::uint64_t value) {
    platform::atomic_store<relaxed, system>(to, value);
  };
  const extent window = window_of(ctx, a.in_signals);
  const auto offset =
      reinterpret_cast<std::uintptr_t>(a.at) - reinterpret_cast<std::uintptr_t>(window.begin);
  misuse_record& m = f->refused;
  platform::atomic_store<relaxed, system>(&f->rank, ctx.rank);
  platform::atomic_store<relaxed, system>(&f->peer, static_cast<std::int32_t>(a.peer));
  put32(&f->block, static_cast<std::uint32_t>(platform::block_rank()));
  put32(&m.what, static_cast<std::uint32_t>(what));
  put32(&m.by, static_cast<std::uint32_t>(a.by));
  put32(&m.in_signals, a.in_signals ? 1u : 0u);
  put32(&m.ranks, static_cast<std::uint32_t>(ctx.size));
  put64(&m.address, reinterpret_cast<std::uintptr_t>(address));
  platform::atomic_store<relaxed, system>(&m.offset_bytes, static_cast<std::int64_t>(offset));
  put64(&m.count, a.count);
  put64(&m.elem_bytes, a.elem_bytes);
  put64(&m.alignment, a.alignment);
  put64(&m.window_bytes, window.bytes);
  platform::atomic_store<order::release, system>(&f->state, 2u);
}

/// What is wrong with an access; only numbers are compared, nothing is touched.
///
/// @param first_rank 0, or -1 where any_rank may be named.
template <class Context>
HIRIS_DEVICE misuse judge(const Context& ctx, const access& a, int first_rank) {
  if (a.peer < first_rank || a.peer >= ctx.size) return misuse::rank;
  if (a.count >> 63 != 0) return misuse::count;
  if (a.at == nullptr) return misuse::null;
  const extent window = window_of(ctx, a.in_signals);
  const auto begin = reinterpret_cast<std::uintptr_t>(window.begin);
  const auto at = reinterpret_cast<std::uintptr_t>(a.at);
  if (at < begin || at - begin > window.bytes ||
      a.count > (window.bytes - (at - begin)) / a.elem_bytes)
    return misuse::range;
  if (at % a.alignment != 0) return misuse::alignment;
  return misuse::none;
}

/// Whether a primitive may touch `count` elements from `at` on, on rank `peer`. If not, that is
/// recorded. `count` may be 0: then `at` may be the end of the window, too.
///
/// Caller   thread. The answer is the same for all threads that ask the same.
/// Cost     without HIRIS_DEBUG none; with it, loads of three windows and some comparisons.
template <class Context, class T>
HIRIS_DEVICE bool admits(const Context& ctx, primitive by, int peer, const T* at,
                         std::uint64_t count = 1, int first_rank = 0) {
  if constexpr (platform::debug_build) {
    const access a = access_to(by, peer, at, count);
    const misuse what = judge(ctx, a, first_rank);
    if (what == misuse::none) return true;
    record_misuse(ctx, what, a, at);
    return false;
  } else {
    return true;
  }
}

/// As above for a get or put, which has a side in any memory of this device.
template <class Context, class T>
HIRIS_DEVICE bool admits_transfer(const Context& ctx, primitive by, int peer, const T* at,
                                  const T* local, std::uint64_t count) {
  if constexpr (platform::debug_build) {
    if (!admits(ctx, by, peer, at, count)) return false;
    if (count == 0) return true;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(local) % alignof(T) == 0;
    if (local != nullptr && is_aligned) return true;
    record_misuse(ctx, local == nullptr ? misuse::local_null : misuse::local_alignment,
                  access_to(by, peer, at, count), local);
    return false;
  } else {
    return true;
  }
}

/// As `admits` for a notify, which adds at least one arrival.
template <class Context, class Signal>
HIRIS_DEVICE bool admits_notify(const Context& ctx, primitive by, int peer, const Signal* at,
                                std::uint64_t arrivals) {
  if constexpr (platform::debug_build) {
    if (!admits(ctx, by, peer, at)) return false;
    if (arrivals != 0 && arrivals >> 63 == 0) return true;
    record_misuse(ctx, misuse::count, access_to(by, peer, at, arrivals), at);
    return false;
  } else {
    return true;
  }
}

}  // namespace detail
}  // namespace hiris
