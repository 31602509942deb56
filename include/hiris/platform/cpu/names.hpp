// SPDX-License-Identifier: MIT
/// @file
/// What reports of the emulator call a piece of memory, and the rank that a host thread works for.
///
///     const std::uint64_t id = the_names().add(base, bytes, [](std::uint64_t byte) { ... });
///     the_names().describe(p);       // that text, or the allocation that `p` lies in
///     the_names().remove(id);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "hiris/platform/cpu/memory.hpp"

namespace hiris::platform::cpu {

/// The rank that this thread works for; -1 if it did not say. What it launches carries it.
inline constinit thread_local int current_rank = -1;

/// Calls may come from any thread.
class name_registry {
 public:
  /// @param text Called with the byte of the piece that a report is about.
  std::uint64_t add(const void* base, std::size_t bytes,
                    std::function<std::string(std::uint64_t byte)> text) {
    const std::lock_guard lock(mutex_);
    pieces_.emplace(++last_, piece{static_cast<const std::byte*>(base), bytes, std::move(text)});
    return last_;
  }
  void remove(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    pieces_.erase(id);
  }

  /// By the name that was given last of those that cover `p`.
  std::string describe(const void* p) const {
    const auto* at = static_cast<const std::byte*>(p);
    const std::lock_guard lock(mutex_);
    for (auto i = pieces_.rbegin(); i != pieces_.rend(); ++i)
      if (const piece& named = i->second; at >= named.base && at < named.base + named.bytes)
        return named.text(static_cast<std::uint64_t>(at - named.base));
    const auto where = the_memory().find(p);
    if (!where) return "unknown memory";
    return "byte " + std::to_string(at - where->base) + " of " + std::to_string(where->bytes) +
           " of an allocation on device " + std::to_string(where->device);
  }

 private:
  struct piece {
    const std::byte* base;
    std::size_t bytes;
    std::function<std::string(std::uint64_t)> text;
  };
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, piece> pieces_;  // by the order in which they were named
};

/// The names of this process; they outlive static objects.
inline name_registry& the_names() {
  static name_registry* one = new name_registry;
  return *one;
}

}  // namespace hiris::platform::cpu
