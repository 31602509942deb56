// SPDX-License-Identifier: MIT
/// @file
/// The host's side of a fault record: a wait on the device that ran out becomes an exception, and
/// the host can end all waits.
///
///     throw_if_faulted(*record, rank, line);   // errc::timed_out: who waited for whom
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/detail/misuse_error.hpp"

namespace hiris::detail {

/// The sentence of a wait that ran out.
inline std::string fault_text(const fault_cause& f) {
  const std::string peer = f.peer < 0 ? "any peer" : "peer " + std::to_string(f.peer);
  return "workgroup " + std::to_string(f.block) + " of rank " + std::to_string(f.rank) +
         " waited for " + peer + " to bring signal " + std::to_string(f.signal) + " to " +
         std::to_string(f.expected) + " arrivals, but saw " + std::to_string(f.seen) + " after " +
         std::to_string(f.elapsed_ns / 1000000) + " ms (heap_options::wait_budget)";
}

/// Claims the record for the host, unless a fault came first: all waits of the rank end.
inline void record_abort(fault_record& record) {
  fault_state none = fault_state::none;
  std::atomic_ref<fault_state>(record.state)
      .compare_exchange_strong(none, fault_state::aborted, std::memory_order_relaxed);
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
  const std::atomic_ref<fault_state> state(record.state);
  fault_state seen = state.load(std::memory_order_acquire);
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (seen == fault_state::writing) {
    if (std::chrono::steady_clock::now() > give_up_at)
      throw error(errc::timed_out, rank,
                  "a wait on the device ran out, and its record is not complete after 1000 ms");
    std::this_thread::yield();
    seen = state.load(std::memory_order_acquire);
  }
  if (seen == fault_state::none) return;
  if (seen == fault_state::aborted || seen == fault_state::abort_told)
    throw error(errc::aborted, rank, "the host ended the waits of this rank's kernels");
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
  std::atomic_ref<fault_state>(record.state).store(fault_state::none, std::memory_order_release);
}

}  // namespace hiris::detail
