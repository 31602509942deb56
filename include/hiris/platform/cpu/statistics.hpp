// SPDX-License-Identifier: MIT
/// @file
/// What the emulator counts, a device: the taxes of an op as they really were.
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

namespace hiris::platform::cpu {

/// Counts of one device since the last reset.
struct device_statistics {
  std::uint64_t launches = 0;
  std::uint64_t global_barriers = 0;
  std::uint64_t signals = 0;
  std::uint64_t remote_bytes = 0;
  std::uint64_t staged_bytes = 0;
};

struct alignas(64) device_counters {
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> by_kind[4]{};  ///< In the order of platform::counter.
};

inline std::array<device_counters, 64> all_counters;
inline std::atomic<bool> statistics_enabled{false};

inline void count_launch(int device) {
  if (statistics_enabled.load(std::memory_order_relaxed))
    all_counters[static_cast<std::size_t>(device)].launches.fetch_add(1, std::memory_order_relaxed);
}

/// Counting costs time; it is off until asked for.
inline void enable_statistics(bool enabled) { statistics_enabled.store(enabled); }

/// Sets the counts of a device to 0. The device should be idle.
inline void reset_statistics(int device) {
  auto& c = all_counters[static_cast<std::size_t>(device)];
  c.launches = 0;
  for (auto& n : c.by_kind) n = 0;
}

/// The counts of a device.
inline device_statistics statistics(int device) {
  const auto& c = all_counters[static_cast<std::size_t>(device)];
  return {c.launches, c.by_kind[0], c.by_kind[1], c.by_kind[2], c.by_kind[3]};
}

}  // namespace hiris::platform::cpu
