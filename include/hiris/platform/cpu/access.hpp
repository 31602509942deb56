// SPDX-License-Identifier: MIT
/// @file
/// Wide accesses to device memory, and the counts that they leave when statistics are on.
///
///     note_write(p, 16);          // one predictable branch while statistics are off
///     store_plain(p, value);
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hiris/platform/cpu/memory.hpp"
#include "hiris/platform/cpu/statistics.hpp"
#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

template <class T>
constexpr void require_access() {
  static_assert(std::is_trivially_copyable_v<T>, "hiris: only trivially copyable types move");
  static_assert(
      sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
      "hiris: an access has 1, 2, 4, 8 or 16 bytes");
}

template <class T>
T load_plain(const T* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
void store_plain(T* p, const T& value) {
  std::memcpy(p, &value, sizeof value);
}

void count_access(const void* p, std::size_t bytes, bool write);

inline void note_read(const void* p, std::size_t bytes) {
  if (statistics_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    count_access(p, bytes, false);
}
inline void note_write(const void* p, std::size_t bytes) {
  if (statistics_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    count_access(p, bytes, true);
}

/// Adds to a counter of the device that runs the calling lane.
template <class Counter>
void count_here(Counter which, std::uint64_t n) {
  if (!statistics_enabled.load(std::memory_order_relaxed) || here.current == nullptr) return;
  const int device = here.current->owner->group->device;
  all_counters[static_cast<std::size_t>(device)].by_kind[static_cast<std::size_t>(which)].fetch_add(
      n, std::memory_order_relaxed);
}

/// Whose memory an address is, if no device's.
inline constexpr int owned_by_host = -1;     ///< Host memory that devices may reach.
inline constexpr int owned_by_process = -2;  ///< Another process's.
inline constexpr int owned_by_nobody = -3;   ///< The runtime did not give it out.
constexpr bool is_on_device(int owner) { return owner >= 0 || owner == owned_by_process; }

/// Whose memory an address is: an ordinal, or one of the above.
inline int owner_of(const void* p) {
  struct range {
    const std::byte* first = nullptr;
    const std::byte* last = nullptr;
    int owner = owned_by_nobody;
    std::uint64_t generation = 0;
  };
  static constinit thread_local range known[4] = {};
  static constinit thread_local unsigned next = 0;
  const auto* at = static_cast<const std::byte*>(p);
  const std::uint64_t generation = the_memory().generation();
  for (const range& r : known)
    if (r.generation == generation && at >= r.first && at < r.last) return r.owner;
  const auto found = the_memory().find(p);
  if (!found) return owned_by_nobody;
  const int owner = found->place == memory_place::host       ? owned_by_host
                    : found->place == memory_place::imported ? owned_by_process
                                                             : found->device;
  known[next++ % 4] = {found->base, found->base + found->bytes, owner, generation};
  return owner;
}

inline void count_access(const void* p, std::size_t bytes, bool write) {
  if (here.current == nullptr) return;
  const workgroup& group = *here.current->owner->group;
  const int owner = owner_of(p);
  if (!is_on_device(owner)) return;
  if (owner != group.device)
    all_counters[static_cast<std::size_t>(group.device)].by_kind[2].fetch_add(
        bytes, std::memory_order_relaxed);
  if (write) return the_shadow().write(p, bytes, group.launch);
  const foreign_bytes found = the_shadow().read(p, bytes, group.launch);
  if (found.bytes > 0)
    all_counters[found.writer & 63u].round_trip_bytes.fetch_add(found.bytes,
                                                                std::memory_order_relaxed);
}

}  // namespace hiris::platform::cpu
