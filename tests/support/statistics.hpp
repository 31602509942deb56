// SPDX-License-Identifier: MIT
/// @file
/// The emulator's counts of a device, for tests of an op's taxes. Elsewhere there are none.
#pragma once

#include "hiris/ops/all_gather_gemm_plan.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/hip.hpp"

#if defined(HIRIS_PLATFORM_CPU)
#include "hiris/platform/cpu/statistics.hpp"
#endif

namespace hiris::test {

/// Whether this platform counts.
constexpr bool can_count() {
#if defined(HIRIS_PLATFORM_CPU)
  return true;
#else
  return false;
#endif
}

/// Sets the counts of a device to zero, and counts from now on.
inline void start_counting([[maybe_unused]] int device) {
#if defined(HIRIS_PLATFORM_CPU)
  platform::cpu::reset_statistics(device);
  platform::cpu::enable_statistics(true);
#endif
}

/// What was counted. The device should be idle.
inline taxes counted([[maybe_unused]] int device) {
#if defined(HIRIS_PLATFORM_CPU)
  const auto s = platform::cpu::statistics(device);
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  return {number(s.launches), number(s.global_barriers), number(s.staged_bytes),
          number(s.remote_bytes), number(s.signals)};
#else
  return {};
#endif
}

}  // namespace hiris::test
