// SPDX-License-Identifier: MIT
/// @file
/// Opens memory of other processes, each allocation once a process and device.
///
/// Runtimes differ in what a second open of the same handle means, and two heaps, two regions of
/// one allocation or two ranks of one process all lead to second opens. So they are counted here.
///
///     std::shared_ptr<char> base = open_ipc(device, handle);   // closed with the last copy
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hiris/platform/runtime.hpp"

namespace hiris::detail {

/// The open mappings of this process.
class ipc_cache {
 public:
  static ipc_cache& of_process() {
    static ipc_cache cache;
    return cache;
  }

  char* open(int device, const platform::ipc_handle& handle) {
    const std::lock_guard lock(mutex_);
    entry& mapping = mappings_[{device, handle.bytes}];
    if (mapping.users == 0) {
      try {
        const platform::device_guard guard(device);
        mapping.base = static_cast<char*>(platform::ipc_open(handle));
      } catch (...) {
        mappings_.erase({device, handle.bytes});
        throw;
      }
    }
    ++mapping.users;
    return mapping.base;
  }

  void close(int device, const platform::ipc_handle& handle) noexcept {
    const std::lock_guard lock(mutex_);
    const auto mapping = mappings_.find({device, handle.bytes});
    if (mapping == mappings_.end() || --mapping->second.users > 0) return;
    platform::ipc_close(mapping->second.base);
    mappings_.erase(mapping);
  }

  /// Number of allocations of other processes that are open now.
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return mappings_.size();
  }

 private:
  struct entry {
    char* base = nullptr;
    int users = 0;
  };
  std::mutex mutex_;  // held while the runtime opens and closes, so that the two never cross
  std::map<std::pair<int, std::array<std::byte, 64>>, entry> mappings_;
};

/// Maps the allocation behind `handle` for `device`.
///
/// @return The base of the allocation; the handle's offset is not added.
/// @throws errc::runtime_failed what the runtime says.
inline std::shared_ptr<char> open_ipc(int device, const platform::ipc_handle& handle) {
  char* base = ipc_cache::of_process().open(device, handle);
  return std::shared_ptr<char>(  // runs the deleter itself should it throw
      base, [device, handle](char*) { ipc_cache::of_process().close(device, handle); });
}

}  // namespace hiris::detail
