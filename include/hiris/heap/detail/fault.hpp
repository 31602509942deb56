// SPDX-License-Identifier: MIT
/// @file
/// The host's side of a fault record: a wait on the device that ran out becomes an exception, and
/// the host can end all waits.
///
///     throw_if_faulted(*record);   // errc::timed_out: who waited for whom, and what it saw
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

/// The sentence of a complete record.
inline std::string fault_text(const fault_record& f) {
  const std::string peer = f.peer < 0 ? "any peer" : "peer " + std::to_string(f.peer);
  return "workgroup " + std::to_string(f.block) + " of rank " + std::to_string(f.rank) +
         " waited for " + peer + " to bring signal " + std::to_string(f.signal) + " to " +
         std::to_string(f.expected) + " arrivals, but saw " + std::to_string(f.seen) + " after " +
         std::to_string(f.elapsed_ns / 1000000) + " ms (heap_options::wait_budget)";
}

/// Claims the record for the host of `rank`, unless a fault came first: all waits of the rank end.
inline void record_abort(fault_record& record, int rank) {
  const std::atomic_ref<std::uint32_t> state(record.state);
  std::uint32_t none = 0;
  if (!state.compare_exchange_strong(none, 1, std::memory_order_relaxed)) return;
  record.rank = rank;
  record.block = host_block;
  state.store(2, std::memory_order_release);
}

/// Throws errc::timed_out if a wait has claimed the record, errc::aborted if the host has, or what
/// misuse_error() makes of a call that a debug build refused. The record stays as it is.
inline void throw_if_faulted(fault_record& record) {
  const std::atomic_ref<std::uint32_t> state(record.state);
  if (state.load(std::memory_order_acquire) == 0) return;
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (state.load(std::memory_order_acquire) == 1) {
    if (std::chrono::steady_clock::now() > give_up_at)
      throw error(errc::timed_out, -1,
                  "a wait on the device ran out, and its record is not complete after 1000 ms");
    std::this_thread::yield();
  }
  if (record.block == host_block)
    throw error(errc::aborted, record.rank, "the host ended the waits of this rank's kernels");
  if (record.refused.what != 0) throw misuse_error(record);
  throw error(errc::timed_out, record.rank, fault_text(record));
}

/// Forgets a fault. @pre No kernel that waits is running.
inline void clear_fault(fault_record& record) {
  record.refused = {};
  std::atomic_ref<std::uint32_t>(record.state).store(0, std::memory_order_release);
}

}  // namespace hiris::detail
