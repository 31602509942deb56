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
///
/// **Staged bytes** make a round trip through memory between kernels: a launch of this rank stores
/// them, and another launch, of this rank or of a peer, loads them again. Each counts once, however
/// often it is loaded, for the rank that stored it. So what a fused launch sends into an inbox
/// counts, as it lies in the peer's memory until the peer's launch reads it; what workgroups of one
/// launch hand to each other does not, nor do padding that nobody reads, operands and results of
/// the call, and words that are read as atomics (signals, counts, where a shard lies).
struct taxes {
  std::int64_t launches;         ///< Kernels.
  std::int64_t global_barriers;  ///< Barriers of all ranks.
  std::int64_t staged_bytes;     ///< Bytes that go from one kernel to another through memory.
  std::int64_t remote_bytes;     ///< Bytes that it stores to or loads from peers, signals apart.
  std::int64_t signals;          ///< Arrivals that it sends.

  friend bool operator==(const taxes&, const taxes&) = default;
};

}  // namespace hiris
