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

#include "hiris/detail/causes.hpp"
#include "hiris/detail/misuse.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

struct signal_counter;

namespace detail {

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

/// Leaves in the fault record what was refused, unless a fault came first, and tells the peers.
/// Without a record the emulator ends the kernel.
template <class Context>
HIRIS_DEVICE void record_misuse(const Context& ctx, misuse what, const access& a,
                                const void* address) {
  platform::require(ctx.fault != nullptr,
                    "hiris: a primitive was called with what it does not allow");
  end_waits(ctx, cause_kind::first_hand, [&](auto* to) {
    const extent window = window_of(ctx, a.in_signals);
    const auto offset =
        reinterpret_cast<std::uintptr_t>(a.at) - reinterpret_cast<std::uintptr_t>(window.begin);
    platform::peer_store(&to->cause.rank, ctx.rank);
    platform::peer_store(&to->cause.peer, static_cast<std::int32_t>(a.peer));
    platform::peer_store(&to->cause.block, static_cast<std::uint32_t>(platform::block_rank()));
    misuse_record& m = to->refused;
    platform::peer_store(&m.what, static_cast<std::uint32_t>(what));
    platform::peer_store(&m.by, static_cast<std::uint32_t>(a.by));
    platform::peer_store(&m.in_signals, a.in_signals ? 1u : 0u);
    platform::peer_store(&m.ranks, static_cast<std::uint32_t>(ctx.size));
    platform::peer_store(&m.address,
                         static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)));
    platform::peer_store(&m.offset_bytes, static_cast<std::int64_t>(offset));
    platform::peer_store(&m.count, a.count);
    platform::peer_store(&m.elem_bytes, static_cast<std::uint64_t>(a.elem_bytes));
    platform::peer_store(&m.alignment, static_cast<std::uint64_t>(a.alignment));
    platform::peer_store(&m.window_bytes, window.bytes);
  });
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
