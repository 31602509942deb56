// SPDX-License-Identifier: MIT
/// @file
/// Memory that one rank gives to a symmetric heap.
///
/// Held by shared pointer: ranks that are threads of one process hold each other's segments, so a
/// segment outlives every pointer to it whatever order the ranks leave in.
///
///     auto mine = std::make_shared<memory_segment>(device, 1 << 30, platform::memory_kind::data);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "hiris/error.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::detail {

/// Largest alignment that a heap gives; the base of a segment is a multiple of it.
inline constexpr std::uint64_t max_alignment = std::uint64_t{2} << 20;

/// An address as it appears in texts.
inline std::string address_text(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
  return text;
}

/// Where memory lies.
struct memory_range {
  char* base;
  std::uint64_t bytes;
};

/// Owns device memory whose base is aligned to `max_alignment`.
class memory_segment {
 public:
  /// @param bytes Size, at least 1; the memory is not initialised.
  /// @throws errc::out_of_memory if the device has no room.
  memory_segment(int device, std::uint64_t bytes, platform::memory_kind kind)
      : device_(device), kind_(kind), bytes_(bytes) {
    const platform::device_guard guard(device);
    memory_ = platform::allocate(bytes, kind);
    if (padding() != 0) {  // rare on GPUs, whose large allocations are aligned like this anyway
      platform::deallocate(memory_, kind);
      memory_ = platform::allocate(bytes + max_alignment, kind);
    }
  }
  memory_segment(const memory_segment&) = delete;
  memory_segment& operator=(const memory_segment&) = delete;
  ~memory_segment() {
    try {
      const platform::device_guard guard(device_);
      platform::deallocate(memory_, kind_);
    } catch (const error&) {  // the device is gone, and its memory with it
    }
  }

  char* base() const noexcept { return static_cast<char*>(memory_) + padding(); }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t padding() const noexcept {
    return (max_alignment - reinterpret_cast<std::uintptr_t>(memory_) % max_alignment) %
           max_alignment;
  }

  int device_;
  platform::memory_kind kind_;
  std::uint64_t bytes_;
  void* memory_;
};

}  // namespace hiris::detail
