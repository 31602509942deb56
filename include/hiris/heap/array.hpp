// SPDX-License-Identifier: MIT
/// @file
/// A block of a symmetric heap: the handle that allocate() returns.
///
///     hiris::symmetric_array<float> inbox = heap.allocate<float>(n);   // freed with `inbox`
///     params.inbox = inbox.data();          // this rank's copy; kernels reach the peers' by ctx
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "hiris/heap/detail/block_ledger.hpp"

namespace hiris {

class symmetric_heap;

/// Owns a block that stands at the same offset on every rank. Move-only; may outlive the heap, but
/// then points to nothing.
///
/// Freeing is local and never waits. Free a block only when everything that this rank launched on
/// it has completed; nobody uses it again before all ranks have freed it.
template <class T>
class symmetric_array {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiris: a symmetric array holds bytes that kernels of any rank may copy");

 public:
  symmetric_array() = default;
  symmetric_array(symmetric_array&& other) noexcept { swap(other); }
  symmetric_array& operator=(symmetric_array&& other) noexcept {
    symmetric_array(std::move(other)).swap(*this);
    return *this;
  }
  ~symmetric_array() {
    if (ledger_) ledger_->retire(offset_);
  }

  /// This rank's copy, in device memory; null for an empty handle.
  T* data() const noexcept { return data_; }
  /// Number of elements, the same on all ranks.
  std::int64_t size() const noexcept { return n_elems_; }
  /// Bytes from the begin of the segment, the same on all ranks.
  std::uint64_t offset() const noexcept { return offset_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

  /// Frees the block now; the handle is empty then.
  void reset() noexcept { symmetric_array().swap(*this); }
  void swap(symmetric_array& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(data_, other.data_);
    std::swap(n_elems_, other.n_elems_);
    std::swap(offset_, other.offset_);
  }

 private:
  friend class symmetric_heap;
  symmetric_array(std::shared_ptr<detail::block_ledger> ledger, char* segment, std::uint64_t offset,
                  std::int64_t n_elems)
      : ledger_(std::move(ledger)),
        data_(reinterpret_cast<T*>(segment + offset)),
        n_elems_(n_elems),
        offset_(offset) {}

  std::shared_ptr<detail::block_ledger> ledger_;
  T* data_ = nullptr;
  std::int64_t n_elems_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace hiris
