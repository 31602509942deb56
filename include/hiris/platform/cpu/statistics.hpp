// SPDX-License-Identifier: MIT
/// @file
/// What the emulator counts, a device: the taxes of an op as they really were.
///
/// Launches, remote bytes and round trips are seen by the emulator; the library tells the others
/// with platform::count. Remote are accesses by peer_load, peer_store, load_global, store_global to
/// memory of another device or process. Round trips are seen within a process only.
///
///     cpu::enable_statistics(true);
///     op.run(stream, a, b, c); hipDeviceSynchronize();
///     EXPECT_EQ(cpu::statistics(0).launches, 2u);
///     cpu::reset_statistics(0);
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hiris/platform/cpu/shadow.hpp"

namespace hiris::platform::cpu {

/// Counts of one device since the last reset.
struct device_statistics {
  std::uint64_t launches = 0;
  std::uint64_t global_barriers = 0;
  std::uint64_t signals = 0;
  std::uint64_t remote_bytes = 0;
  /// Bytes that a launch of this device stored (peer_store, store_global) and another launch, here
  /// or on another device, read back (peer_load, load_global).
  std::uint64_t round_trip_bytes = 0;
};

struct alignas(64) device_counters {
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> by_kind[3]{};  ///< In the order of platform::counter.
  std::atomic<std::uint64_t> round_trip_bytes{0};
  std::atomic<std::uint32_t> last_launch{0};
};

inline std::array<device_counters, 64> all_counters;
inline std::atomic<bool> statistics_enabled{false};
/// Whether accesses are anybody's business, so that one branch asks for all: statistics, or a
/// hostile fabric.
inline constinit std::atomic<bool> accesses_watched{false};
inline constinit std::atomic<bool> fabric_decided{false};

/// Number of a launch, for the shadow memory: the device and a few bits of its count; never 0.
inline std::uint16_t count_launch(int device) {
  auto& c = all_counters[static_cast<std::size_t>(device)];
  if (statistics_enabled.load(std::memory_order_relaxed))
    c.launches.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t n = c.last_launch.fetch_add(1, std::memory_order_relaxed) % 1023 + 1;
  return static_cast<std::uint16_t>(n << 6 | static_cast<std::uint32_t>(device));
}

/// Counting costs time; it is off until asked for.
inline void enable_statistics(bool enabled) {
  if (!statistics_enabled.exchange(enabled) && enabled) the_shadow().clear();
  accesses_watched = enabled || fabric_decided;
}

/// Sets the counts of a device to 0. The device should be idle.
inline void reset_statistics(int device) {
  auto& c = all_counters[static_cast<std::size_t>(device)];
  c.launches = 0;
  for (auto& n : c.by_kind) n = 0;
  c.round_trip_bytes = 0;
}

/// The counts of a device.
inline device_statistics statistics(int device) {
  const auto& c = all_counters[static_cast<std::size_t>(device)];
  return {c.launches, c.by_kind[0], c.by_kind[1], c.by_kind[2], c.round_trip_bytes};
}

}  // namespace hiris::platform::cpu
