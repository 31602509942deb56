// SPDX-License-Identifier: MIT
/// @file
/// The one exception type of the host side, and the record that a device wait leaves when it runs
/// out.
///
///     try { op.run(stream, a, b, c); op.synchronize(stream); }
///     catch (const hiris::error& e) {
///       if (e.code() == hiris::errc::timed_out) report(e.what(), e.rank());
///     }
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace hiris {

/// What went wrong. Every text names the value that was given and what was allowed.
enum class errc : std::uint8_t {
  invalid_argument,  ///< A value outside what the call allows: size, rank, alignment, null pointer.
  mismatch,       ///< Ranks disagree about a shape, a type or a call that must be the same on all.
  not_symmetric,  ///< A pointer or handle that is not of this symmetric heap.
  out_of_memory,  ///< The heap or the device has no room; the text names need and have.
  not_resident,   ///< A launch whose workgroups cannot all be resident at once.
  unsupported,    ///< No device, or one whose architecture or feature set does not suffice.
  bootstrap_failed,  ///< A peer that never came, a port taken, a wrong token, a broken connection.
  mapping_failed,    ///< A peer's memory could not be mapped, or proved to be other memory.
  timed_out,         ///< A wait on the device ran out; the text is that of the fault record.
  aborted,           ///< The host ended the waits on the device.
  corrupted,         ///< Memory around a block of a heap, or freed memory, was written.
  runtime_failed     ///< The HIP (or CUDA) runtime returned an error; the text has its name.
};

/// Name of a code as it appears in texts, e.g. "out_of_memory".
inline const char* to_string(errc code) noexcept {
  switch (code) {
    case errc::invalid_argument:
      return "invalid_argument";
    case errc::mismatch:
      return "mismatch";
    case errc::not_symmetric:
      return "not_symmetric";
    case errc::out_of_memory:
      return "out_of_memory";
    case errc::not_resident:
      return "not_resident";
    case errc::unsupported:
      return "unsupported";
    case errc::bootstrap_failed:
      return "bootstrap_failed";
    case errc::mapping_failed:
      return "mapping_failed";
    case errc::timed_out:
      return "timed_out";
    case errc::aborted:
      return "aborted";
    case errc::corrupted:
      return "corrupted";
    case errc::runtime_failed:
      return "runtime_failed";
  }
  return "unknown";
}

/// The exception of every host call.
class error : public std::runtime_error {
 public:
  /// @param code What went wrong.
  /// @param rank The rank it went wrong on, or -1 where no rank is involved.
  /// @param text A sentence that names the value and what was allowed.
  error(errc code, int rank, const std::string& text)
      : std::runtime_error(std::string("hiris: ") + to_string(code) +
                           (rank < 0 ? std::string() : " on rank " + std::to_string(rank)) + ": " +
                           text),
        code_(code),
        rank_(rank) {}

  errc code() const noexcept { return code_; }
  /// The rank that failed first, or -1.
  int rank() const noexcept { return rank_; }

 private:
  errc code_;
  int rank_;
};

}  // namespace hiris
