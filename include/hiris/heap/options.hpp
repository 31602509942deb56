// SPDX-License-Identifier: MIT
/// @file
/// What a symmetric heap is made of, and how much of it is in use.
///
///     hiris::symmetric_heap heap(world, {.data_bytes = 1 << 30, .signals = 4096});
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/detail/block_guards.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/world.hpp"

namespace hiris {

/// All but `wait_budget` must be the same on all ranks.
struct heap_options {
  std::int64_t data_bytes = std::int64_t{1} << 30;       ///< Size of the data segment, at least 1.
  std::int64_t signals = 4096;                           ///< Signals, 128 bytes each; at least 1.
  std::chrono::nanoseconds wait_budget{10'000'000'000};  ///< Longest wait in a kernel; at least 1.
  /// Byte that new data blocks are filled with; unset: none, or with guard_blocks 0xFF (NaN).
  std::optional<std::byte> fill_new{};
  /// Whether memory around each block is guarded and memory that all ranks have freed is filled
  /// with 0xDB, so that what is written there is found: see symmetric_heap::check_blocks(). Costs
  /// 512 bytes a block, or 256 more than its alignment, and on the host a few copies in each
  /// allocation and free. On in a debug build.
  bool guard_blocks = platform::debug_build;
};

/// Where the room of a segment is. The same on all ranks, but `waiting_bytes`.
struct heap_use {
  std::uint64_t total_bytes;
  std::uint64_t free_bytes;
  std::uint64_t largest_free_bytes;  ///< The most that one allocation could get.
  std::uint64_t waiting_bytes;       ///< Freed on this rank, but not known to be free on all.
  std::size_t blocks;                ///< In use on some rank.
};

namespace detail {

/// Returns `o`, with what follows from it. Collective.
///
/// @throws errc::invalid_argument, errc::mismatch on every rank.
inline heap_options checked(const world& w, const heap_options& o) {
  constexpr const char* step = "options of the heap";
  w.collectively(step, [&] {
    const auto require_within = [&](std::int64_t value, std::int64_t most, const char* name) {
      if (value < 1 || value > most)
        throw error(errc::invalid_argument, w.rank(),
                    std::string("heap_options::") + name + " is " + std::to_string(value) +
                        "; allowed are 1 to " + std::to_string(most));
    };
    require_within(o.data_bytes, std::int64_t{1} << 50, "data_bytes");
    require_within(o.signals, std::int64_t{1} << 40, "signals");
    require_within(o.wait_budget.count(), std::numeric_limits<std::int64_t>::max(),
                   "wait_budget, in ns,");
  });
  w.require_equal(step, "heap_options::data_bytes", o.data_bytes);
  w.require_equal(step, "heap_options::signals", o.signals);
  w.require_equal(step, "heap_options::fill_new",
                  o.fill_new ? std::to_integer<int>(*o.fill_new) : -1);
  w.require_equal(step, "heap_options::guard_blocks", o.guard_blocks ? 1 : 0);
  heap_options result = o;
  if (o.guard_blocks && !o.fill_new) result.fill_new = new_pattern;
  return result;
}

/// Sizes of the segments.
inline std::uint64_t data_segment_bytes(const heap_options& o) {
  return static_cast<std::uint64_t>(o.data_bytes) + (o.guard_blocks ? guard_room_bytes : 0);
}
inline std::uint64_t signal_segment_bytes(const heap_options& o) {
  return static_cast<std::uint64_t>(o.signals) * sizeof(signal_counter) +
         (o.guard_blocks ? guard_room_bytes : 0);
}

}  // namespace detail
}  // namespace hiris
