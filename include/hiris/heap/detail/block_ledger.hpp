// SPDX-License-Identifier: MIT
/// @file
/// Which blocks of a segment are in use on which ranks. Every rank keeps a replica.
///
/// A rank frees a block on its own (retire), but the block is free only when all ranks have. They
/// tell each other in the next collective allocation, and then all take the same step (absorb):
/// replicas never diverge, in whatever order ranks free.
///
///     block_ledger ledger(bytes, ranks);
///     auto at = ledger.allocate(4096, 256);      // the same on all ranks
///     ledger.retire(*at);                        // this rank is done with it
///     auto mine = ledger.untold();               // told to all ...
///     ledger.absorb({mine, theirs}, 0);           // ... and taken from all: free again
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hiris/heap/detail/block_guards.hpp"
#include "hiris/heap/offset_allocator.hpp"
#include "hiris/heap/options.hpp"
#include "hiris/platform/names.hpp"

namespace hiris::detail {

/// Thread safe: handles may end their life on any thread.
class block_ledger {
 public:
  /// @param guards Of the segment; null: blocks lie side by side.
  block_ledger(std::uint64_t total_bytes, int ranks, std::shared_ptr<block_guards> guards = nullptr)
      : guards_(std::move(guards)), space_(total_bytes), ranks_(ranks) {}

  /// As offset_allocator::allocate. The same calls in the same order on all ranks.
  ///
  /// @param what The block, for texts.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment,
                                        std::string what = {}) {
    const std::lock_guard lock(mutex_);
    untold_.reserve(blocks_.size() + 1);  // so that retire() cannot fail
    if (bytes > space_.total_bytes()) return std::nullopt;
    const std::uint64_t before = guards_ ? std::max(alignment, guard_bytes) : 0;
    const std::uint64_t all = before + bytes + (guards_ ? guard_bytes : 0);
    const auto begin = space_.allocate(all, alignment);
    if (!begin) return std::nullopt;
    const block_place place{*begin, *begin + all, *begin + before, bytes};
    blocks_[place.offset] = {place};
    if (guards_) guards_->arm(place, std::move(what));
    return place.offset;
  }

  /// This rank is done with the block at `offset`; once a block.
  void retire(std::uint64_t offset) noexcept {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(offset);
    if (block == blocks_.end() || block->second.retired_here) return;
    block->second.retired_here = true;
    block->second.name = {};
    if (guards_) guards_->freed_here(offset);
    untold_.push_back(offset);
  }

  /// How reports call the block, until this rank is done with it.
  void give_name(std::uint64_t offset, platform::memory_name name) {
    const std::lock_guard lock(mutex_);
    if (const auto block = blocks_.find(offset); block != blocks_.end())
      block->second.name = std::move(name);
  }

  /// Blocks that this rank retired and has not yet told of.
  std::vector<std::uint64_t> untold() const {
    const std::lock_guard lock(mutex_);
    return untold_;
  }

  /// A block that a rank said it is done with.
  struct told_block {
    int rank;
    std::uint64_t offset;
  };
  /// The first that its rank cannot be done with: there is no such block, or it has told so before.
  ///
  /// @param told As absorb().
  std::optional<told_block> first_wrong(const std::vector<std::vector<std::uint64_t>>& told) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t r = 0; r < told.size(); ++r) {
      std::set<std::uint64_t> seen;
      for (const std::uint64_t offset : told[r]) {
        const auto block = blocks_.find(offset);
        if (block == blocks_.end() || block->second.told_by.count(static_cast<int>(r)) > 0 ||
            !seen.insert(offset).second)
          return told_block{static_cast<int>(r), offset};
      }
    }
    return std::nullopt;
  }

  /// What all ranks told, in rank order; `told[this rank]` is what untold() returned.
  ///
  /// @param told [ranks, any]
  /// @pre first_wrong() has found nothing.
  void absorb(const std::vector<std::vector<std::uint64_t>>& told, int this_rank) {
    const std::lock_guard lock(mutex_);
    const auto mine = static_cast<std::ptrdiff_t>(told[static_cast<std::size_t>(this_rank)].size());
    untold_.erase(untold_.begin(), untold_.begin() + mine);
    for (int r = 0; r < ranks_; ++r)
      for (const std::uint64_t offset : told[static_cast<std::size_t>(r)]) {
        const auto block = blocks_.find(offset);
        if (block == blocks_.end()) continue;
        block->second.told_by.insert(r);
        if (block->second.told_by.size() < static_cast<std::size_t>(ranks_)) continue;
        space_.release(block->second.place.begin);
        blocks_.erase(block);
        if (guards_) guards_->freed_everywhere(offset);
      }
  }

  /// Whether `[offset, offset + bytes)` lies in one block that this rank still has.
  bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    auto next = blocks_.upper_bound(offset);
    if (next == blocks_.begin()) return false;
    const state& block = std::prev(next)->second;
    const std::uint64_t from_begin = offset - block.place.offset;
    return from_begin < block.place.bytes && bytes <= block.place.bytes - from_begin &&
           !block.retired_here;
  }

  /// Where the room is.
  heap_use use() const {
    const std::lock_guard lock(mutex_);
    heap_use now{space_.total_bytes(), space_.free_bytes(), space_.largest_free_bytes(), 0,
                 space_.blocks()};
    for (const auto& [offset, block] : blocks_)
      if (block.retired_here) now.waiting_bytes += block.place.end - block.place.begin;
    return now;
  }

 private:
  struct state {
    block_place place;
    bool retired_here = false;
    std::set<int> told_by{};  ///< Ranks that told they are done with it.
    platform::memory_name name{};
  };

  mutable std::mutex mutex_;
  const std::shared_ptr<block_guards> guards_;
  offset_allocator space_;
  int ranks_;
  std::map<std::uint64_t, state> blocks_;  // by offset
  std::vector<std::uint64_t> untold_;
};

}  // namespace hiris::detail
