// SPDX-License-Identifier: MIT
/// @file
/// Names on the emulator. Include names.hpp, not this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "hiris/platform/cpu/names.hpp"

namespace hiris::platform {

/// What reports call `[at, at + bytes)` while this lives.
class memory_name {
 public:
  memory_name() = default;
  template <class F>
  memory_name(const void* at, std::size_t bytes, F text)
      : id_(cpu::the_names().add(at, bytes, std::move(text))) {}
  memory_name(memory_name&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  memory_name& operator=(memory_name&& other) noexcept {
    memory_name moved(std::move(other));
    std::swap(id_, moved.id_);
    return *this;
  }
  ~memory_name() {
    if (id_ != 0) cpu::the_names().remove(id_);
  }

 private:
  std::uint64_t id_ = 0;
};

inline int speak_for_rank(int rank) { return std::exchange(cpu::current_rank, rank); }

}  // namespace hiris::platform
