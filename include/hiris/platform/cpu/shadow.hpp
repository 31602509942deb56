// SPDX-License-Identifier: MIT
/// @file
/// Which launch wrote a byte of device memory last, while statistics are on: finds data that makes
/// a round trip through memory from one kernel to another.
///
///     shadow_memory& shadow = the_shadow();
///     shadow.write(p, 16, 7);          // by launch 7
///     shadow.read(p, 16, 8);           // {16 bytes, of launch 7}: somebody else's, read first now
///     shadow.read(p, 16, 8);           // {0}
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace hiris::platform::cpu {

/// What a read found of another launch.
struct foreign_bytes {
  std::size_t bytes = 0;
  std::uint16_t writer = 0;
};

/// Calls may come from any thread.
class shadow_memory {
 public:
  /// @param bytes At most 16, not across 16 bytes. @param writer Not 0.
  void write(const void* at, std::size_t bytes, std::uint16_t writer) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    part& p = part_of(address);
    const std::lock_guard lock(p.mutex);
    auto& page = p.pages[address / page_bytes];
    if (!page) page = std::make_unique<page_type>();
    for (std::size_t i = 0; i < bytes; ++i) (*page)[address % page_bytes + i] = writer;
  }

  /// Bytes whose last writer is another launch, and which nobody has read since.
  foreign_bytes read(const void* at, std::size_t bytes, std::uint16_t reader) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    part& p = part_of(address);
    const std::lock_guard lock(p.mutex);
    const auto page = p.pages.find(address / page_bytes);
    foreign_bytes found;
    if (page == p.pages.end()) return found;
    for (std::size_t i = 0; i < bytes; ++i) {
      std::uint16_t& writer = (*page->second)[address % page_bytes + i];
      if (writer == 0 || writer == reader) continue;
      found.writer = writer;
      ++found.bytes;
      writer = 0;
    }
    return found;
  }

  void clear() {
    for (part& p : parts_) {
      const std::lock_guard lock(p.mutex);
      p.pages.clear();
    }
  }

 private:
  static constexpr std::size_t page_bytes = 4096;
  using page_type = std::array<std::uint16_t, page_bytes>;
  struct part {
    std::mutex mutex;
    std::unordered_map<std::uintptr_t, std::unique_ptr<page_type>> pages;
  };
  part& part_of(std::uintptr_t address) { return parts_[address / page_bytes % parts_.size()]; }

  std::array<part, 64> parts_;
};

inline shadow_memory& the_shadow() {
  static shadow_memory* shadow = new shadow_memory;
  return *shadow;
}

}  // namespace hiris::platform::cpu
