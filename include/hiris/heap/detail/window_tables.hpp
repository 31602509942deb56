// SPDX-License-Identifier: MIT
/// @file
/// Windows tables in device memory, carved from one allocation.
///
/// Making or dropping a table neither allocates nor frees device memory: that may wait for running
/// kernels, which may wait for the very rank that drops the table.
///
///     auto tables = std::make_shared<window_tables>();
///     std::shared_ptr<const window> mine = tables->make(windows, stream);   // device pointer
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/offset_allocator.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::detail {

/// Device memory for tables. Thread safe.
class window_tables : public std::enable_shared_from_this<window_tables> {
 public:
  /// On the current device.
  window_tables()
      : memory_(platform::allocation_granularity_bytes / sizeof(window)),
        space_(memory_.size_bytes()) {}

  /// Copies a table to the device and waits until it is there.
  ///
  /// @return Device pointer to [table.size()], given back with its last copy.
  /// @throws errc::out_of_memory if too many tables are alive.
  std::shared_ptr<const window> make(const std::vector<window>& table, platform::stream stream) {
    const std::size_t bytes = table.size() * sizeof(window);
    const std::uint64_t at = take(bytes);
    std::shared_ptr<const window> made(
        memory_.data() + at / sizeof(window),
        [self = shared_from_this(), at](const window*) { self->give_back(at); });
    platform::copy(memory_.data() + at / sizeof(window), table.data(), bytes, stream);
    platform::synchronize(stream);
    return made;
  }

 private:
  std::uint64_t take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (const auto at = space_.allocate(bytes, sizeof(window))) return *at;
    throw error(errc::out_of_memory, -1,
                "a windows table needs " + std::to_string(bytes) + " bytes, but the heap has " +
                    std::to_string(space_.free_bytes()) + " of " +
                    std::to_string(space_.total_bytes()) +
                    " left: too many regions and teams are alive");
  }
  void give_back(std::uint64_t at) {
    const std::lock_guard lock(mutex_);
    space_.release(at);
  }

  platform::device_buffer<window> memory_;
  std::mutex mutex_;
  offset_allocator space_;
};

}  // namespace hiris::detail
