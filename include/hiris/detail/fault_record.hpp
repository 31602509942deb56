// SPDX-License-Identifier: MIT
/// @file
/// What a failure on the device leaves behind, for the host and for the peers.
///
///     const fault_record& f = *ctx.fault;   // f.state says how much of it is there
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/detail/misuse.hpp"

namespace hiris {

/// Bytes in front of a rank's signals that hold its control line: a fault_record, by which peers
/// tell the rank why its waits shall end. A line of its own, like a signal.
inline constexpr std::size_t control_bytes = 128;

/// Why waits end: the wait that ran out first, in ranks of its context.
struct fault_cause {
  std::int32_t rank;         ///< Rank that waited, or whose host ended the waits.
  std::int32_t peer;         ///< Rank that was to signal, or -1 if any.
  std::uint32_t block;       ///< Workgroup that waited.
  std::uint64_t signal;      ///< Index of the signal in the signal segment.
  std::uint64_t expected;    ///< Arrivals waited for.
  std::uint64_t seen;        ///< Arrivals at the last look.
  std::uint64_t elapsed_ns;  ///< How long the wait took.
};

/// How far a fault_record is. Waits end from `complete` on, in the rank's own from `writing` on.
enum class fault_state : std::uint32_t {
  none,        ///< Nothing has failed.
  writing,     ///< Claimed; the cause is being written.
  complete,    ///< A wait has failed, or a check of a debug build, and the cause is there.
  aborted,     ///< The host ended the waits. In a control line, the cause's rank is there.
  abort_told,  ///< The same, and a workgroup has taken it on itself to tell the peers.
  told         ///< A peer told why: it is in the control line.
};

/// What a wait leaves behind when it fails, or a primitive of a debug build that refuses a call.
/// One a heap and rank, in host-visible memory: the first that fails claims it (none -> writing),
/// fills it in and publishes it (-> complete). It then tells all peers of its context by their
/// control lines, which are the same record in device memory. All waits of a rank end that find
/// either set.
struct fault_record {
  fault_state state;
  fault_cause cause;
  detail::misuse_record refused{};  ///< What a check of a debug build refused, instead of a wait.
};
static_assert(sizeof(fault_record) <= control_bytes, "a control line holds a record");

}  // namespace hiris
