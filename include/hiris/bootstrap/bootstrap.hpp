// SPDX-License-Identifier: MIT
/// @file
/// The set-up channel between ranks: an all-gather of bytes and a barrier, on the host.
///
/// Nothing in a kernel uses it. Every call is collective over the ranks of the bootstrap, has a
/// time limit, and throws hiris::error (errc::bootstrap_failed) that names the step and the missing
/// rank.
///
///     std::vector<int> pids(boot.size());
///     boot.all_gather(&pid, pids.data(), sizeof pid, "exchange of process ids");
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace hiris {

/// How long a step of set-up may take where neither the caller nor HIRIS_TIMEOUT_S says.
inline constexpr std::chrono::milliseconds default_time_limit{60'000};

/// Interface of a set-up channel. One thread a rank may use it at a time.
class bootstrap {
 public:
  virtual ~bootstrap() = default;
  bootstrap() = default;
  bootstrap(const bootstrap&) = delete;
  bootstrap& operator=(const bootstrap&) = delete;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  /// Gathers `bytes` bytes from every rank, in rank order, on every rank.
  ///
  /// @param mine  [bytes]
  /// @param all   [size, bytes]
  /// @param step  What this is for; the same text on all ranks. Appears in errors.
  /// @throws errc::mismatch on every rank if ranks came with another step or number of bytes; the
  ///         channel stays usable. errc::bootstrap_failed if a rank is missing: it does not.
  virtual void all_gather(const void* mine, void* all, std::size_t bytes,
                          std::string_view step) = 0;

  /// Returns once every rank has called it. Throws as `all_gather` does.
  virtual void barrier(std::string_view step) = 0;

  /// A channel over the ranks that pass the same `color`, ordered by `key`, then by rank.
  /// Collective over all ranks of this one; `color < 0` takes part and gets null. Throws as
  /// `all_gather` does. Errors of the new channel name ranks by their number in the first one.
  virtual std::unique_ptr<bootstrap> split(int color, int key, std::string_view step) = 0;
};

}  // namespace hiris
