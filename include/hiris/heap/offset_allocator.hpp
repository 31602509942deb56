// SPDX-License-Identifier: MIT
/// @file
/// Hands out offsets of a segment: best fit, coalescing, any power-of-two alignment, 64 bits wide.
///
/// It never touches the memory it manages. Its answers depend only on the set of blocks in use, not
/// on the order in which blocks were given back, so replicas that see the same calls stay equal:
/// this is how all ranks find the same offset without asking each other.
///
///     offset_allocator space(1 << 20);
///     std::optional<std::uint64_t> at = space.allocate(1000, 256);   // 0
///     space.release(*at);                                            // all free again, as one
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hiris {

/// The bookkeeping of one segment. Not thread safe.
class offset_allocator {
 public:
  /// @param total_bytes Size of the segment; offsets run from 0 to total_bytes.
  explicit offset_allocator(std::uint64_t total_bytes)
      : total_bytes_(total_bytes), free_bytes_(total_bytes) {
    if (total_bytes > 0) add_free(0, total_bytes);
  }

  /// Finds room in the smallest free block that has it; the lowest offset wins among equals.
  ///
  /// Cost     O(log blocks), plus the free blocks whose start is too badly aligned.
  ///
  /// @param bytes     Size of the block, at least 1.
  /// @param alignment Power of two; the offset is a multiple of it.
  /// @return The offset, or nothing if no free block has room: then nothing has changed.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    if (bytes == 0 || bytes > total_bytes_ || alignment == 0) return std::nullopt;
    for (auto i = by_size_.lower_bound({bytes, 0}); i != by_size_.end(); ++i) {
      const auto [block_bytes, begin] = *i;
      const std::uint64_t padding = (alignment - begin % alignment) % alignment;
      if (padding > block_bytes - bytes) continue;
      const std::uint64_t at = begin + padding;
      const std::uint64_t rest = block_bytes - bytes - padding;
      used_.emplace(at, bytes);
      remove_free(begin, block_bytes);
      if (padding > 0) add_free(begin, padding);
      if (rest > 0) add_free(at + bytes, rest);
      free_bytes_ -= bytes;
      return at;
    }
    return std::nullopt;
  }

  /// Gives a block back and joins it with free neighbours.
  ///
  /// @param offset What allocate() returned.
  /// @return Whether there was such a block; otherwise nothing has changed.
  bool release(std::uint64_t offset) {
    const auto block = used_.find(offset);
    if (block == used_.end()) return false;
    std::uint64_t begin = offset;
    std::uint64_t bytes = block->second;
    free_bytes_ += bytes;
    used_.erase(block);
    const auto next = by_offset_.lower_bound(begin);
    if (next != by_offset_.begin()) {
      const auto [before, before_bytes] = *std::prev(next);
      if (before + before_bytes == begin) {
        begin = before;
        bytes += before_bytes;
      }
    }
    if (next != by_offset_.end() && offset + (bytes - (offset - begin)) == next->first) {
      const auto [after, after_bytes] = *next;
      bytes += after_bytes;
      remove_free(after, after_bytes);
    }
    if (begin != offset) remove_free(begin, by_offset_.at(begin));
    add_free(begin, bytes);
    return true;
  }

  /// Start and size of the block in use that holds `offset`, or nothing.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> find(std::uint64_t offset) const {
    auto block = used_.upper_bound(offset);
    if (block == used_.begin()) return std::nullopt;
    --block;
    if (offset - block->first >= block->second) return std::nullopt;
    return *block;
  }

  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  /// The most that one allocation without alignment could get.
  std::uint64_t largest_free_bytes() const noexcept {
    return by_size_.empty() ? 0 : by_size_.rbegin()->first;
  }
  /// Number of blocks in use.
  std::size_t blocks() const noexcept { return used_.size(); }
  /// Number of pieces that the free space is in; adjacent pieces are always joined.
  std::size_t free_pieces() const noexcept { return by_offset_.size(); }

 private:
  void add_free(std::uint64_t begin, std::uint64_t bytes) {
    by_offset_.emplace(begin, bytes);
    by_size_.emplace(bytes, begin);
  }
  void remove_free(std::uint64_t begin, std::uint64_t bytes) {
    by_offset_.erase(begin);
    by_size_.erase({bytes, begin});
  }

  std::uint64_t total_bytes_;
  std::uint64_t free_bytes_;
  std::map<std::uint64_t, std::uint64_t> used_;                // offset -> bytes
  std::map<std::uint64_t, std::uint64_t> by_offset_;           // free: offset -> bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // free: (bytes, offset)
};

}  // namespace hiris
