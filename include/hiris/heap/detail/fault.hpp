// SPDX-License-Identifier: MIT
/// @file
/// The host's side of a fault record: a wait on the device that ran out becomes an exception, and
/// the host can end all waits.
///
///     throw_if_faulted(*record, rank, line);   // errc::timed_out: who waited for whom
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/detail/misuse_error.hpp"

namespace hiris::detail {

/// The sentence of a wait that ran out: where, who waited, for whom and for what.
inline std::string fault_text(const fault_cause& f) {
  const std::string peer = f.peer < 0 ? "any peer" : "peer " + std::to_string(f.peer);
  return "in a kernel, workgroup " + std::to_string(f.block) + " of rank " +
         std::to_string(f.rank) + " waited for " + peer + " to bring signal " +
         std::to_string(f.signal) + " to " + std::to_string(f.expected) + " arrivals, but saw " +
         std::to_string(f.seen) + " after " + std::to_string(f.elapsed_ns / 1000000) +
         " ms (heap_options::wait_budget)";
}

/// Ends all waits of the rank. A cause that is recorded stays.
inline void record_abort(fault_record& record) {
  std::atomic_ref<std::uint32_t>(record.ended).store(1, std::memory_order_relaxed);
}

/// The error of a complete record.
///
/// @param told Comes before the text; empty for a cause of this rank.
inline error fault_error(const fault_record& f, const std::string& told = {}) {
  if (f.refused.what != 0) return misuse_error(f, told);
  return {errc::timed_out, f.cause.rank, told + fault_text(f.cause)};
}

/// Throws errc::timed_out if a wait of this rank or of a peer has run out, errc::aborted if a host
/// has ended the waits, or what misuse_error() makes of a call that a debug build refused. The
/// record stays as it is.
///
/// @param rank Whose record it is.
/// @param line Returns a copy of the rank's control line; called if a peer has told the cause.
template <class Line>
void throw_if_faulted(fault_record& record, int rank, Line&& line) {
  const auto seen = std::atomic_ref<fault_state>(record.state).load(std::memory_order_acquire);
  const bool ended = std::atomic_ref<std::uint32_t>(record.ended).load(std::memory_order_relaxed);
  if (seen == fault_state::aborted || (seen == fault_state::none && ended))
    throw error(errc::aborted, rank, "the host ended the waits of this rank's kernels");
  if (seen == fault_state::none) return;
  if (seen == fault_state::complete) throw fault_error(record);
  const fault_record told = line();
  const std::string teller = "rank " + std::to_string(told.cause.rank);
  if (told.state == fault_state::aborted)
    throw error(errc::aborted, told.cause.rank,
                "the host of " + teller + " ended the waits of its kernels, which told this rank");
  throw fault_error(told, teller + " failed first and told this rank: ");
}

/// Forgets a fault. @pre No kernel that waits is running.
inline void clear_fault(fault_record& record) {
  record.refused = {};
  std::atomic_ref<std::uint32_t>(record.ended).store(0, std::memory_order_relaxed);
  std::atomic_ref<fault_state>(record.state).store(fault_state::none, std::memory_order_release);
}

}  // namespace hiris::detail
