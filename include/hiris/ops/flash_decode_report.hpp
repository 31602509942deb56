// SPDX-License-Identifier: MIT
/// @file
/// What a kernel of Flash Decode found wrong in the caller's device memory, and the host's error.
///
/// Lengths and block tables may change from call to call, so only the kernel can check them. It
/// never reads outside the cache: a length is brought into its range, a key on a page that is not
/// there counts as zero. The first such find is reported.
///
///     report_bad_input(p.report, decode_fault::length, b, length, p.max_kv_len);   // device
///     throw_if_reported(*report.found, rank);                                      // host
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

/// A find, in host memory. The device and the host each have a count that only they write: what
/// reads and writes in one operation there need not be atomic to the host.
struct decode_find {
  std::uint64_t written;  ///< Finds that the device has written here, over all calls.
  std::uint64_t taken;    ///< Of these the host has thrown so many; the next may be written then.
  std::int32_t what;      ///< A decode_fault.
  std::int32_t sequence;  ///< Number in the batch.
  std::int32_t value;     ///< The length or page that was given.
  std::int32_t most;      ///< The largest that was allowed.
};

/// Where the kernels of an op report to.
struct decode_report {
  decode_find* found;      ///< Host memory that the device writes.
  std::uint64_t* claimed;  ///< Device memory: finds that a thread has claimed to write.
};

/// Leaves a find in the report, unless there is one. Caller: a thread.
HIRIS_DEVICE void report_bad_input(const decode_report& report, decode_fault what, int sequence,
                                   int value, int most) {
  constexpr auto relaxed = order::relaxed;
  constexpr auto system = scope::system;
  decode_find* const to = report.found;
  const std::uint64_t taken = platform::atomic_load<relaxed, system>(&to->taken);
  if (platform::atomic_compare_exchange<relaxed, scope::agent>(report.claimed, taken, taken + 1) !=
      taken)
    return;
  platform::atomic_store<relaxed, system>(&to->what, static_cast<std::int32_t>(what));
  platform::atomic_store<relaxed, system>(&to->sequence, sequence);
  platform::atomic_store<relaxed, system>(&to->value, value);
  platform::atomic_store<relaxed, system>(&to->most, most);
  platform::atomic_store<order::release, system>(&to->written, taken + 1);
}

/// Throws errc::invalid_argument if a kernel has reported something, and forgets it.
///
/// Caller   host.
inline void throw_if_reported(decode_find& report, int rank) {
  const std::uint64_t written = std::atomic_ref(report.written).load(std::memory_order_acquire);
  if (written == report.taken) return;
  const decode_find found = report;
  std::atomic_ref(report.taken).store(written, std::memory_order_release);
  const std::string sequence = " of sequence " + std::to_string(found.sequence);
  throw error(errc::invalid_argument, rank,
              (found.what == static_cast<std::int32_t>(decode_fault::length)
                   ? "the KV length"
                   : "a page in the block table") +
                  sequence + " is " + std::to_string(found.value) + "; allowed are 0 to " +
                  std::to_string(found.most));
}

}  // namespace hiris
