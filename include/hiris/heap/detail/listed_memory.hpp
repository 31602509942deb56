// SPDX-License-Identifier: MIT
/// @file
/// Memory that ranks of this process offer, listed under random keys.
///
/// A peer tells the key of its memory. If the key is listed here, the memory is this process's own,
/// and everything about it is known at first hand: no pointer of a peer is ever followed, and no
/// peer can pass for one of this process.
///
///     const auto key = list_memory({base, bytes, rank, device, segment});   // *key is told
///     if (auto found = memory_list::of_process().find(key)) use(found->base);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hiris/heap/detail/memory_proof.hpp"
#include "hiris/heap/detail/memory_segment.hpp"

namespace hiris::detail {

/// Random, so that only who was told it knows it.
using memory_key = std::array<std::byte, 16>;

/// What this process knows of memory of one of its ranks.
struct listed_memory {
  char* base;
  std::uint64_t bytes;
  int rank;                                ///< In the world that shares the memory.
  int device;                              ///< As this process counts them.
  std::shared_ptr<memory_segment> keeper;  ///< To be held while the memory is used; may be null.
};

/// Thread safe.
class memory_list {
 public:
  static memory_list& of_process() {
    static memory_list list;
    return list;
  }

  void add(const memory_key& key, listed_memory memory) {
    const std::lock_guard lock(mutex_);
    memories_.insert_or_assign(key, std::move(memory));
  }
  void remove(const memory_key& key) noexcept {
    const std::lock_guard lock(mutex_);
    memories_.erase(key);
  }
  /// A copy, which holds the memory; nothing if no rank of this process lists it now.
  std::optional<listed_memory> find(const memory_key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = memories_.find(key);
    return found == memories_.end() ? std::nullopt : std::optional(found->second);
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return memories_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<memory_key, listed_memory> memories_;
};

/// Lists memory of this rank until the last copy of what is returned ends. The key is in it.
///
/// @throws errc::runtime_failed if the system has no random bytes.
inline std::shared_ptr<const memory_key> list_memory(listed_memory memory) {
  auto key = std::make_unique<memory_key>();
  fill_random(key.get(), sizeof *key);
  memory_list::of_process().add(*key, std::move(memory));
  return {key.release(), [](const memory_key* listed) {  // runs itself should the constructor throw
            memory_list::of_process().remove(*listed);
            delete listed;
          }};
}

}  // namespace hiris::detail
