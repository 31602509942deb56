// SPDX-License-Identifier: MIT
/// @file
/// What a kernel of Flash Decode found wrong in the caller's device memory, and the host's error.
///
/// Lengths and block tables may change from call to call, so only the kernel can check them. It
/// never reads outside the cache: a length is brought into its range, a key on a page that is not
/// there counts as zero. The first such find is reported.
///
///     report_bad_input(report, claimed, decode_fault::length, b, length, max_kv_len);   // device
///     throw_if_reported(*report, rank, [] { ... *claimed = 0 ... });                    // host
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "hiris/error.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

/// What is wrong.
enum class decode_fault : std::int32_t { length, page };

/// One an op, in host memory that the device writes. It is claimed in device memory: what reads and
/// writes host memory in one operation need not be atomic to the host (docs/decisions/0009).
struct decode_report {
  std::uint32_t state;    ///< 0 none, 1 complete.
  std::int32_t what;      ///< A decode_fault.
  std::int32_t sequence;  ///< Number in the batch.
  std::int32_t value;     ///< The length or page that was given.
  std::int32_t most;      ///< The largest that was allowed.
};

/// Leaves a find in the report, unless there is one. Caller: a thread.
///
/// @param claimed In device memory: 0, or 1 once a thread has claimed the report.
HIRIS_DEVICE void report_bad_input(decode_report* report, std::uint64_t* claimed, decode_fault what,
                                   int sequence, int value, int most) {
  constexpr auto relaxed = order::relaxed;
  constexpr auto system = scope::system;
  if (platform::atomic_compare_exchange<relaxed, scope::agent>(claimed, std::uint64_t{0},
                                                               std::uint64_t{1}) != 0)
    return;
  platform::atomic_store<relaxed, system>(&report->what, static_cast<std::int32_t>(what));
  platform::atomic_store<relaxed, system>(&report->sequence, sequence);
  platform::atomic_store<relaxed, system>(&report->value, value);
  platform::atomic_store<relaxed, system>(&report->most, most);
  platform::atomic_store<order::release, system>(&report->state, 1u);
}

/// Throws errc::invalid_argument if a kernel has reported something, and forgets it.
///
/// Caller   host.
///
/// @param reopen Called when the report has been read: sets `claimed` to 0.
template <class Reopen>
void throw_if_reported(decode_report& report, int rank, Reopen reopen) {
  const std::atomic_ref<std::uint32_t> state(report.state);
  if (state.load(std::memory_order_acquire) == 0) return;
  const decode_report found = report;
  state.store(0, std::memory_order_release);
  reopen();
  const std::string sequence = " of sequence " + std::to_string(found.sequence);
  throw error(errc::invalid_argument, rank,
              (found.what == static_cast<std::int32_t>(decode_fault::length)
                   ? "the KV length"
                   : "a page in the block table") +
                  sequence + " is " + std::to_string(found.value) + "; allowed are 0 to " +
                  std::to_string(found.most));
}

}  // namespace hiris
