// SPDX-License-Identifier: MIT
/// @file
/// The emulator's counts of a device, for tests of an op's taxes. On a GPU nothing is counted.
#pragma once

#include <cstdint>

#include "hiris/ops/taxes.hpp"
#include "hiris/platform/cpu/statistics.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::test {

/// Whether this platform counts.
inline bool can_count() { return platform::describe(0).arch == "emulated"; }

/// Sets the counts of a device to zero, and counts from now on. Where nobody counted before, what
/// kernels wrote until now is forgotten.
inline void start_counting(int device) {
  platform::cpu::reset_statistics(device);
  platform::cpu::enable_statistics(true);
}

/// Ends counting, on all devices.
inline void stop_counting() { platform::cpu::enable_statistics(false); }

/// What was counted: staged bytes are those that the emulator saw one launch store and another one
/// load. The device should be idle.
inline taxes counted(int device) {
  const auto s = platform::cpu::statistics(device);
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  return {number(s.launches), number(s.global_barriers), number(s.round_trip_bytes),
          number(s.remote_bytes), number(s.signals)};
}

}  // namespace hiris::test
