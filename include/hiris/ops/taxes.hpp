// SPDX-License-Identifier: MIT
/// @file
/// What a call of an op costs beyond its arithmetic, stated before it runs. The emulator counts the
/// same numbers.
///
///     const taxes t = op.expected_taxes();   // t.launches, t.global_barriers, ...
#pragma once

#include <cstdint>

namespace hiris {

/// What one call costs one rank beyond the arithmetic itself.
struct taxes {
  std::int64_t launches;         ///< Kernels.
  std::int64_t global_barriers;  ///< Barriers of all ranks.
  std::int64_t
      staged_bytes;  ///< Bytes that it writes to memory for another kernel or rank to read.
  std::int64_t remote_bytes;  ///< Bytes that it stores to or loads from peers, signals apart.
  std::int64_t signals;       ///< Arrivals that it sends.

  friend bool operator==(const taxes&, const taxes&) = default;
};

}  // namespace hiris
