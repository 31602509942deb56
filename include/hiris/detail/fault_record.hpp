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

/// How far a fault_record is. A rank's waits end when it is told more than `writing`.
enum class fault_state : std::uint32_t {
  none,      ///< Nothing has failed.
  writing,   ///< Of a control line: a peer has claimed it and is writing the cause.
  complete,  ///< A wait has failed, or a check of a debug build, and the cause is there.
  aborted,   ///< The host ended the waits. In a control line, the cause's rank is there.
  told       ///< Of the own record: a peer told why, and it is in the control line.
};

/// What a wait leaves behind when it fails, or a primitive of a debug build that refuses a call.
/// One a heap and rank, in host memory, and one in front of its signals, the control line, by which
/// peers tell it why its waits shall end. The workgroup that fails first claims the line for its
/// rank, fills the record in and publishes it, then claims, fills and publishes the line of each
/// peer. No claim is made in host memory, where operations of a device that read and write need not
/// be atomic to the host.
struct fault_record {
  fault_state state;
  fault_cause cause;
  detail::misuse_record refused{};  ///< What a check of a debug build refused, instead of a wait.
  std::uint32_t ended = 0;  ///< The rank ends its own waits: set in the record by its host, in the
                            ///< line by the workgroup that fails first (causes.hpp). Ops look at
                            ///< the line before they ship.
};
static_assert(sizeof(fault_record) <= control_bytes, "a control line holds a record");
static_assert(offsetof(fault_record, cause) % 8 == 0 && offsetof(fault_record, ended) % 8 == 0,
              "what tells of a cause copies 8 bytes at a time");

}  // namespace hiris
