// SPDX-License-Identifier: MIT
/// @file
/// What a kernel needs to reach any rank. Trivially copyable, passed to kernels by value.
///
/// A symmetric object stands at the same offset in every rank's window, so its address on a peer is
/// this rank's address moved from one window to the other:
///
///     float* theirs = ctx.on(peer, mine);   // only pointer arithmetic on char*: no integer casts,
///                                           // which would cost amd its global_ instructions
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/detail/check.hpp"
#include "hiris/detail/fault_record.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

/// A count of arrivals in signal memory, alone on its 128-byte line so that no two signals share
/// one. It only goes up; waits compare with >= across the wrap. Signals are allocated by the heap
/// only.
struct alignas(128) signal_counter {
  std::uint64_t arrivals;
};
static_assert(sizeof(signal_counter) == control_bytes, "a control line is one of the lines");

/// Where one rank's symmetric memory is mapped in this rank's address space.
struct window {
  char* data;     ///< Base of the rank's data segment (or registered region).
  char* signals;  ///< Base of the rank's signals; its control line lies right before it.
};

/// Access to the symmetric memory of all ranks of a team.
struct context {
  std::int32_t rank;        ///< This rank, 0 .. size-1.
  std::int32_t size;        ///< Number of ranks.
  const window* windows;    ///< [size + 1], device memory, constant while the heap lives. The last
                            ///< has the ends of rank 0's: all ranks' windows are of one size.
  fault_record* fault;      ///< This rank's record; null: nothing is recorded or told.
  std::uint64_t budget_ns;  ///< Longest that a wait may take, by the device's wall clock.

  /// Address on `peer` of the symmetric object that this rank sees at `mine`.
  ///
  /// @pre 0 <= peer < size; `mine` lies in this rank's window. The emulator ends the kernel with an
  ///      error for another rank and for null. A debug build records what breaks this, alignment
  ///      too, and returns `mine`, since it cannot see the access that follows.
  template <class T>
  HIRIS_DEVICE T* on(int peer, T* mine) const {
    if (!reaches(peer, mine)) return mine;
    return (T*)(windows[peer].data + ((char*)mine - windows[rank].data));
  }

  /// As above for signals, which live in a segment of their own.
  HIRIS_DEVICE signal_counter* on(int peer, signal_counter* mine) const {
    if (!reaches(peer, mine)) return mine;
    return (signal_counter*)(windows[peer].signals + ((char*)mine - windows[rank].signals));
  }

 private:
  template <class T>
  HIRIS_DEVICE bool reaches(int peer, const T* mine) const {
    if constexpr (platform::debug_build)
      return detail::admits(*this, detail::primitive::on, peer, mine, 0);
    platform::require(peer >= 0 && peer < size, "hiris: a rank that is not in the context");
    platform::require(mine != nullptr, "hiris: null is not symmetric");
    return true;
  }
};

}  // namespace hiris
