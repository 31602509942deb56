// SPDX-License-Identifier: MIT
/// @file
/// The set-up channel between ranks: an all-gather of bytes and a barrier, on the host.
///
/// Nothing in a kernel uses it. Every call is collective over the ranks of the bootstrap, has a time
/// limit, and throws hiris::error (errc::bootstrap_failed) that names the step and the missing rank.
///
///     std::vector<int> pids(boot.size());
///     boot.all_gather(&pid, pids.data(), sizeof pid, "exchange of process ids");
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace hiris {

/// Interface of a set-up channel.
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
  /// @param step  What this is for; appears in errors.
  virtual void all_gather(const void* mine, void* all, std::size_t bytes,
                          std::string_view step) = 0;

  /// Returns once every rank has called it.
  virtual void barrier(std::string_view step) = 0;

  /// A channel over the ranks that pass the same `color`, ordered by `key`, then by rank.
  /// Collective over all ranks of this one; `color < 0` takes part and gets null.
  virtual std::unique_ptr<bootstrap> split(int color, int key, std::string_view step) = 0;
};

}  // namespace hiris
