// SPDX-License-Identifier: MIT
/// @file
/// Time limits of tests where everything takes longer: under a sanitizer.
///
///     heap_options o{.data_bytes = n, .wait_budget = patiently(std::chrono::milliseconds(50))};
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace hiris::test {

/// A time that is enough on an ordinary machine, times HIRIS_TEST_PATIENCE where that is set.
inline std::chrono::milliseconds patiently(std::chrono::milliseconds time) {
  const char* const text = std::getenv("HIRIS_TEST_PATIENCE");
  return time * std::max(1, text == nullptr ? 1 : std::atoi(text));
}

/// The budget that a heap gives a wait unless told otherwise.
inline std::chrono::milliseconds patient_budget() { return patiently(std::chrono::seconds(10)); }

}  // namespace hiris::test
