// SPDX-License-Identifier: MIT
/// @file
/// Memory that the user already has, made symmetric: the handle that attach() returns.
///
///     hiris::symmetric_region<half> shard = heap.attach(weights, n);     // collective
///     platform::launch<my_kernel>(stream, blocks, {heap.device_context(shard), shard.data()});
///     heap.detach(std::move(shard));            // collective: now every rank may free its memory
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/detail/heap_memory.hpp"
#include "hiris/heap/detail/memory_proof.hpp"
#include "hiris/heap/detail/peer_map.hpp"
#include "hiris/heap/detail/team_windows.hpp"
#include "hiris/platform/names.hpp"
#include "hiris/world.hpp"

namespace hiris {

class symmetric_heap;

namespace detail {

/// What is mapped for a region.
struct region_mapping {
  std::array<std::byte, 16> heap_id;  ///< Of the heap that the region was attached to.
  peer_map peers;
  std::shared_ptr<const window> windows;  ///< Of all ranks of the heap.
  team_windows teams;
  platform::memory_name name;  ///< Of this rank's memory.
};

/// Throws errc::invalid_argument unless `[base, base + bytes)` is of one device allocation.
inline void require_device_memory(const world& w, const char* base, std::uint64_t bytes) {
  const std::string given = "registration of " + std::to_string(bytes) + " bytes at " +
                            (base ? address_text(base) : "null");
  constexpr const char* allowed = "; allowed is device memory, all of one allocation";
  if (base == nullptr) throw error(errc::invalid_argument, w.rank(), given + allowed);
  platform::allocation_range range{};
  try {
    range = platform::allocation_of(base);
  } catch (const error& e) {
    throw error(errc::invalid_argument, w.rank(), given + ": " + e.what() + allowed);
  }
  const auto room = range.bytes - static_cast<std::uint64_t>(base - range.base);
  if (bytes > room)
    throw error(errc::invalid_argument, w.rank(),
                given + ", where the allocation has " + std::to_string(room) + allowed);
}

/// Maps memory of the user on all ranks and proves it. Collective. The first and last bytes are
/// overwritten for the time of the call, and as before when it returns or throws.
///
/// @param base Null: this rank has no memory; refused on all ranks.
/// @param bytes The same on all ranks, at least 1.
/// @throws errc::invalid_argument, errc::mapping_failed on every rank.
inline std::unique_ptr<region_mapping> map_region(const world& w, const heap_memory& memory,
                                                  char* base, std::uint64_t bytes) {
  constexpr const char* what = "registered region";
  memory_proof before;
  bool written = false;
  auto mapping = std::make_unique<region_mapping>();
  mapping->heap_id = memory.id();
  const auto restore = [&] {
    const platform::device_guard guard(w.device());
    if (std::exchange(written, false)) restore_ends(base, bytes, before, memory.stream());
  };
  try {
    const own_offer mine = w.collectively("registration of a region", [&] {
      const platform::device_guard guard(w.device());
      require_device_memory(w, base, bytes);
      before = read_proof(base, bytes, memory.stream());
      written = true;
      return own_offer(w, base, bytes, write_proof(base, bytes, memory.stream()));
    });
    mapping->peers = peer_map(w, exchange_offers(w, mine.told(), what), memory.stream(), what);
    w.collectively("windows of a region", [&] {
      mapping->windows = memory.make_windows(mapping->peers, all_ranks(w));
      restore();
    });
  } catch (...) {
    const std::exception_ptr cause = std::current_exception();
    try {
      restore();
    } catch (const error&) {  // the cause tells more
    }
    std::rethrow_exception(cause);
  }
  return mapping;
}

}  // namespace detail

/// Access to memory that stands at another base on every rank. Move-only.
///
/// At the end of its life the mappings of the peers' memory are closed on this rank; the memory
/// stays the user's. A rank may free its own memory only when all ranks have closed theirs: after
/// symmetric_heap::detach().
template <class T>
class symmetric_region {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiris: a symmetric region holds bytes that kernels of any rank may copy");

 public:
  symmetric_region() = default;
  symmetric_region(symmetric_region&& other) noexcept { swap(other); }
  symmetric_region& operator=(symmetric_region&& other) noexcept {
    symmetric_region(std::move(other)).swap(*this);
    return *this;
  }

  /// This rank's memory; null for an empty handle.
  T* data() const noexcept { return data_; }
  /// Number of elements, the same on all ranks.
  std::int64_t size() const noexcept { return n_elems_; }
  /// Whether `pointer` points into this rank's memory.
  bool contains(const void* pointer) const noexcept {
    const std::less<const void*> before;
    return data_ != nullptr && !before(pointer, data_) && before(pointer, data_ + n_elems_);
  }
  explicit operator bool() const noexcept { return data_ != nullptr; }

  void swap(symmetric_region& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(n_elems_, other.n_elems_);
    std::swap(mapping_, other.mapping_);
  }

 private:
  friend class symmetric_heap;
  symmetric_region(T* data, std::int64_t n_elems, std::unique_ptr<detail::region_mapping> mapping)
      : data_(data), n_elems_(n_elems), mapping_(std::move(mapping)) {}

  T* data_ = nullptr;
  std::int64_t n_elems_ = 0;
  std::unique_ptr<detail::region_mapping> mapping_;
};

}  // namespace hiris
