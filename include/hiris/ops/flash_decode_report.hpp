// SPDX-License-Identifier: MIT
/// @file
/// What a kernel of Flash Decode found wrong in the caller's device memory, and the host's error.
///
/// Lengths and block tables may change from call to call, so only the kernel can check them. It
/// never reads outside the cache: a length is brought into its range, a key on a page that is not
/// there counts as zero. One such find is reported.
///
/// A find is one word, in host memory that the device writes: so it is whole, whoever else reports,
/// and no device needs an operation that reads and writes there, which need not be atomic to the
/// host (docs/decisions/0009).
///
///     report_bad_input(p.report, decode_fault::length, b, length);         // device
///     throw_if_reported(*report, rank, [](decode_fault) { return most; });  // host
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
enum class decode_fault : std::uint64_t { length = 1, page = 2 };

/// A find: the value that was given in bits 0 to 31, the number in the batch in bits 32 to 47, the
/// decode_fault above. 0: none.
using decode_report = std::uint64_t;

/// Leaves a find in the report. Caller: a thread.
///
/// Order    relaxed, system: the host reads it once the stream has come so far.
///
/// @param sequence Number in the batch, below 2^16.
/// @param value    The length or page that was given.
HIRIS_DEVICE void report_bad_input(decode_report* report, decode_fault what, int sequence,
                                   int value) {
  platform::atomic_store<order::relaxed, scope::system>(
      report, static_cast<std::uint64_t>(what) << 48 | static_cast<std::uint64_t>(sequence) << 32 |
                  static_cast<std::uint32_t>(value));
}

/// Throws errc::invalid_argument if a kernel has reported something, and forgets it.
///
/// Caller   host.
///
/// @param most The largest value that was allowed, of a decode_fault.
template <class Most>
void throw_if_reported(decode_report& report, int rank, Most most) {
  const decode_report find = std::atomic_ref(report).exchange(0, std::memory_order_relaxed);
  if (find == 0) return;
  const auto what = static_cast<decode_fault>(find >> 48);
  const auto value = static_cast<std::int32_t>(static_cast<std::uint32_t>(find));
  throw error(errc::invalid_argument, rank,
              (what == decode_fault::length ? "the KV length" : "a page in the block table") +
                  (" of sequence " + std::to_string(find >> 32 & 0xffff)) + " is " +
                  std::to_string(value) + "; allowed are 0 to " + std::to_string(most(what)));
}

}  // namespace hiris
