// SPDX-License-Identifier: MIT
/// @file
/// Finds what was written outside the blocks of a segment: bytes of a pattern lie in front of and
/// behind each block, and memory that all ranks have freed is filled with another.
///
///     block_guards guards(device, rank, segment_base, "data");
///     guards.arm(block, "4 elements of float");   // before anybody uses it
///     guards.inspect("at close");                 // keeps what it finds ...
///     guards.throw_if_broken();                   // ... until somebody can take an exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiris/error.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::detail {

/// Bytes of the pattern on each side of a block; as many as a line, or two signals, so that a
/// stride that is one element too long does not step over them.
inline constexpr std::uint64_t guard_bytes = 256;
/// What a segment with guards has more than was asked for: the guards of 2048 blocks.
inline constexpr std::uint64_t guard_room_bytes = std::uint64_t{1} << 20;
/// What guards are filled with.
inline constexpr std::byte guard_pattern{0xFB};
/// What memory is filled with that all ranks have freed.
inline constexpr std::byte freed_pattern{0xDB};
/// What new data are filled with if the user asks for nothing else: NaN in every floating-point
/// format, -1 in integers.
inline constexpr std::byte new_pattern{0xFF};

/// Where a block lies in its segment. With guards, `begin` to `end` holds them and the block.
struct block_place {
  std::uint64_t begin, end;  ///< What the segment gave.
  std::uint64_t offset;      ///< Of the block.
  std::uint64_t bytes;       ///< Of the block.
};

/// The guards of one segment of one rank. Thread safe; nothing but throw_if_broken() throws. What
/// is found first is kept: a handle that ends its life cannot throw, and a rank that throws alone
/// would leave the others in a collective call.
class block_guards {
 public:
  /// On the current device.
  ///
  /// @param segment "data" or "signal", for texts.
  block_guards(int device, int rank, char* base, std::string segment)
      : device_(device), rank_(rank), base_(base), segment_(std::move(segment)) {
    stream_.emplace();
  }

  /// A new block, before its contents are set: nobody has written to its memory since it was freed.
  void arm(const block_place& place, std::string what) noexcept {
    keep([&] {
      blocks_.insert_or_assign(place.offset, block{place, std::move(what)});
      const auto fill_guards = [&] {
        fill(place.offset - guard_bytes, place.offset, guard_pattern);
        fill(place.offset + place.bytes, place.offset + place.bytes + guard_bytes, guard_pattern);
        platform::synchronize(*stream_);
      };
      try {
        take_freed(place.begin, place.end);
      } catch (...) {
        fill_guards();
        throw;
      }
      fill_guards();
    });
  }
  /// This rank frees the block at `offset`; peers may still use it.
  void freed_here(std::uint64_t offset) noexcept {
    keep([&] { inspect(blocks_.at(offset), "when this rank freed it"); });
  }
  /// All ranks have freed the block at `offset`, and what they launched on it has completed: from
  /// here on nobody may write.
  void freed_everywhere(std::uint64_t offset) noexcept {
    keep([&] {
      const block gone = std::move(blocks_.extract(offset).mapped());
      freed_.insert_or_assign(gone.place.begin, gone);
      const auto poison = [&] {
        fill(gone.place.begin, gone.place.end, freed_pattern);
        platform::synchronize(*stream_);
      };
      try {
        inspect(gone, "when all ranks had freed it");
      } catch (...) {
        poison();
        throw;
      }
      poison();
    });
  }
  /// Looks at all there is.
  void inspect(std::string_view when) noexcept {
    keep([&] {
      for (const auto& [offset, b] : blocks_) inspect(b, when);
      for (const auto& [begin, b] : freed_) inspect_freed(b, begin, b.place.end, when);
    });
  }

  /// @throws errc::corrupted with what was found first, until forget().
  void throw_if_broken() const {
    const std::lock_guard lock(mutex_);
    if (finding_) throw error(*finding_);
  }
  void forget() noexcept {
    const std::lock_guard lock(mutex_);
    finding_.reset();
  }
  /// The memory is gone; what was found stays.
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    stream_.reset();
  }

 private:
  struct block {
    block_place place;
    std::string what;
  };

  template <class Body>
  void keep(Body&& body) noexcept {
    const std::lock_guard lock(mutex_);
    if (!stream_) return;
    try {
      const platform::device_guard guard(device_);
      body();
    } catch (const error& e) {
      if (!finding_) finding_ = e;
    } catch (const std::exception& e) {  // no memory on the host
      if (!finding_) finding_.emplace(errc::out_of_memory, rank_, e.what());
    }
  }

  void fill(std::uint64_t begin, std::uint64_t end, std::byte pattern) {
    platform::fill(base_ + begin, pattern, end - begin, *stream_);
  }
  /// The first byte of `[begin, end)` that is not of the pattern, and its value.
  std::optional<std::pair<std::uint64_t, std::byte>> first_other(std::uint64_t begin,
                                                                 std::uint64_t end,
                                                                 std::byte pattern) {
    constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 20;
    for (; begin < end; begin += std::min(chunk_bytes, end - begin)) {
      read_.resize(static_cast<std::size_t>(std::min(chunk_bytes, end - begin)));
      platform::copy(read_.data(), base_ + begin, read_.size(), *stream_);
      platform::synchronize(*stream_);
      const auto other = std::find_if(read_.begin(), read_.end(),
                                      [&](std::byte value) { return value != pattern; });
      if (other != read_.end())
        return std::pair{begin + static_cast<std::uint64_t>(other - read_.begin()), *other};
    }
    return std::nullopt;
  }

  static std::string hex(std::byte value) {
    char text[8];
    std::snprintf(text, sizeof text, "0x%02x", std::to_integer<unsigned>(value));
    return text;
  }
  [[noreturn]] void refuse(const std::string& place, const block& b, std::uint64_t at,
                           std::byte value, std::byte pattern, std::string_view when) const {
    throw error(errc::corrupted, rank_,
                place + " of " + std::to_string(b.place.bytes) + " bytes at offset " +
                    std::to_string(b.place.offset) + " of the " + segment_ + " segment (" + b.what +
                    ") was written: byte " +
                    std::to_string(static_cast<std::int64_t>(at - b.place.offset)) +
                    " from its begin is " + hex(value) + ", not " + hex(pattern) + "; found " +
                    std::string(when));
  }
  void inspect(const block& b, std::string_view when) {
    const std::uint64_t begin = b.place.offset, end = b.place.offset + b.place.bytes;
    if (const auto other = first_other(begin - guard_bytes, begin, guard_pattern))
      refuse("memory before the block", b, other->first, other->second, guard_pattern, when);
    if (const auto other = first_other(end, end + guard_bytes, guard_pattern))
      refuse("memory after the block", b, other->first, other->second, guard_pattern, when);
  }
  void inspect_freed(const block& b, std::uint64_t begin, std::uint64_t end,
                     std::string_view when) {
    if (const auto other = first_other(begin, end, freed_pattern))
      refuse("memory of the freed block", b, other->first, other->second, freed_pattern, when);
  }
  /// `[begin, end)` is given out again: looks at what of it was freed, and keeps the rest.
  void take_freed(std::uint64_t begin, std::uint64_t end) {
    std::optional<error> found;
    auto i = freed_.upper_bound(begin);
    if (i != freed_.begin()) --i;
    while (i != freed_.end() && i->first < end) {
      const std::uint64_t first = i->first, last = i->second.place.end;
      if (last <= begin) {
        ++i;
        continue;
      }
      try {
        inspect_freed(i->second, std::max(first, begin), std::min(last, end),
                      "when its memory was given out again");
      } catch (const error& e) {
        if (!found) found = e;
      }
      block rest = std::move(i->second);
      i = freed_.erase(i);
      if (last > end) freed_.insert_or_assign(end, rest);
      if (first < begin) {
        rest.place.end = begin;
        freed_.insert_or_assign(first, rest);
      }
    }
    if (found) throw error(*found);
  }

  const int device_, rank_;
  char* const base_;
  const std::string segment_;
  mutable std::mutex mutex_;
  std::optional<platform::owned_stream> stream_;  // unset: the memory is gone
  std::map<std::uint64_t, block> blocks_;         // by offset; until all ranks have freed them
  std::map<std::uint64_t, block> freed_;          // by where what is left of them begins
  std::vector<std::byte> read_;
  std::optional<error> finding_;
};

}  // namespace hiris::detail
