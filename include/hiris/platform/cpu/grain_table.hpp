// SPDX-License-Identifier: MIT
/// @file
/// Something for each 16 bytes of device memory, found faster than in a hash table of them.
///
///     grain_table<past> pasts;
///     pasts[grain_of(p)].remember(...);         // made when first asked for
///     if (past* p = pasts.find(grain)) ...      // null where no neighbour was ever asked for
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace hiris::platform::cpu {

inline constexpr std::size_t grain_bytes = 16;

/// Number of the grain that an address lies in.
inline std::uintptr_t grain_of(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) / grain_bytes;
}
inline std::byte* address_of(std::uintptr_t grain) {
  return reinterpret_cast<std::byte*>(grain * grain_bytes);
}

/// A T a grain. Kernels touch memory in runs, so whole pages are kept, and the last is at hand. A T
/// stays where it is until it is erased. Used by one thread at a time.
///
/// @tparam T As made by T{}, it says that there is nothing.
template <class T>
class grain_table {
 public:
  T* find(std::uintptr_t grain) {
    const std::uintptr_t number = grain / grains_per_page;
    if (number != last_number_ || last_ == nullptr) {
      const auto found = pages_.find(number);
      if (found == pages_.end()) return nullptr;
      keep_at_hand(number, *found->second);
    }
    return &(*last_)[grain % grains_per_page];
  }
  T& operator[](std::uintptr_t grain) {
    if (T* const known = find(grain)) return *known;
    const std::uintptr_t number = grain / grains_per_page;
    keep_at_hand(number, *(pages_[number] = std::make_unique<page>()));
    return (*last_)[grain % grains_per_page];
  }

  void clear() {
    pages_.clear();
    last_ = nullptr;
  }
  /// Makes each of first .. last what it is when it is made.
  void erase(std::uintptr_t first, std::uintptr_t last) {
    std::erase_if(pages_, [&](const auto& numbered) {
      const std::uintptr_t begin = numbered.first * grains_per_page;
      const std::uintptr_t end = begin + grains_per_page - 1;
      if (end < first || begin > last) return false;
      if (begin >= first && end <= last) return true;
      for (std::uintptr_t g = std::max(begin, first); g <= std::min(end, last); ++g)
        (*numbered.second)[g - begin] = T{};
      return false;
    });
    last_ = nullptr;
  }

 private:
  static constexpr std::size_t grains_per_page = 256;
  using page = std::array<T, grains_per_page>;

  void keep_at_hand(std::uintptr_t number, page& p) {
    last_number_ = number;
    last_ = &p;
  }

  std::unordered_map<std::uintptr_t, std::unique_ptr<page>> pages_;
  std::uintptr_t last_number_ = 0;
  page* last_ = nullptr;
};

}  // namespace hiris::platform::cpu
