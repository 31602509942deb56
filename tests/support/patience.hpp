// SPDX-License-Identifier: MIT
/// @file
/// Time limits and lengths of tests where everything takes longer: under a sanitizer.
///
///     heap_options o{.data_bytes = n, .wait_budget = patiently(std::chrono::milliseconds(50))};
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>

namespace hiris::test {

/// A time that is enough on an ordinary machine, times HIRIS_TEST_PATIENCE where that is set.
inline std::chrono::milliseconds patiently(std::chrono::milliseconds time) {
  const char* const text = std::getenv("HIRIS_TEST_PATIENCE");
  return time * std::max(1, text == nullptr ? 1 : std::atoi(text));
}

/// The budget that a heap gives a wait unless told otherwise.
inline std::chrono::milliseconds patient_budget() { return patiently(std::chrono::seconds(10)); }

/// Calls of a long sequence, or HIRIS_TEST_CALLS where that is set and less: what the thread
/// sanitizer looks for, order, is there or not in the first few.
inline std::size_t calls_at_most(std::size_t calls) {
  const char* const text = std::getenv("HIRIS_TEST_CALLS");
  return text == nullptr ? calls
                         : std::min(calls, static_cast<std::size_t>(std::max(1, std::atoi(text))));
}

}  // namespace hiris::test
