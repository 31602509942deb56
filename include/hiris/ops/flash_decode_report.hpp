// SPDX-License-Identifier: MIT
/// @file
/// What a kernel of Flash Decode found wrong in the caller's device memory, and the host's error.
///
/// Lengths and block tables may change from call to call, so only the kernel can check them. It
/// never reads outside the cache: a length is brought into its range, a key on a page that is not
/// there counts as zero. The first such find is reported.
///
///     report_bad_input(p.report, decode_fault::length, b, length, p.max_kv_len);   // device
///     throw_if_reported(*report, rank);                                            // host
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

/// One an op, in host memory that the device writes.
struct decode_report {
  std::uint32_t state;    ///< 0 none, 1 being written, 2 complete.
  std::int32_t what;      ///< A decode_fault.
  std::int32_t sequence;  ///< Number in the batch.
  std::int32_t value;     ///< The length or page that was given.
  std::int32_t most;      ///< The largest that was allowed.
};

/// Leaves a find in the report, unless there is one. Caller: a thread.
HIRIS_DEVICE void report_bad_input(decode_report* report, decode_fault what, int sequence,
                                   int value, int most) {
  constexpr auto relaxed = order::relaxed;
  constexpr auto system = scope::system;
  if (platform::atomic_compare_exchange<relaxed, system>(&report->state, 0u, 1u) != 0u) return;
  platform::atomic_store<relaxed, system>(&report->what, static_cast<std::int32_t>(what));
  platform::atomic_store<relaxed, system>(&report->sequence, sequence);
  platform::atomic_store<relaxed, system>(&report->value, value);
  platform::atomic_store<relaxed, system>(&report->most, most);
  platform::atomic_store<order::release, system>(&report->state, 2u);
}

/// Throws errc::invalid_argument if a kernel has reported something, and forgets it.
///
/// Caller   host.
inline void throw_if_reported(decode_report& report, int rank) {
  const std::atomic_ref<std::uint32_t> state(report.state);
  if (state.load(std::memory_order_acquire) != 2) return;
  const decode_report found = report;
  state.store(0, std::memory_order_release);
  const std::string sequence = " of sequence " + std::to_string(found.sequence);
  throw error(errc::invalid_argument, rank,
              (found.what == static_cast<std::int32_t>(decode_fault::length)
                   ? "the KV length"
                   : "a page in the block table") +
                  sequence + " is " + std::to_string(found.value) + "; allowed are 0 to " +
                  std::to_string(found.most));
}

}  // namespace hiris
