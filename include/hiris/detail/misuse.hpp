// SPDX-License-Identifier: MIT
/// @file
/// What a debug build may refuse: which call of which primitive, and what was wrong with it.
///
///     record.refused.what = static_cast<std::uint32_t>(misuse::range);
#pragma once

#include <cstdint>

namespace hiris::detail {

/// What a kernel called. The host has the names (heap/detail/misuse_error.hpp).
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

}  // namespace hiris::detail
