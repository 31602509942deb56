// SPDX-License-Identifier: MIT
/// @file
/// What a tile of an operand is before it is loaded: a pointer, a stride, and how much of it is
/// real.
///
/// The block multiply wants both operands with k contiguous, 16 bytes (8 elements) at a time, a
/// *chunk*. A strip says where the elements of one k step lie in global memory; the loader turns
/// them into chunks, in shared memory, and puts zeros where the strip ends.
///
///     strip<float16> a{rows + k, stride, 16, 40};     // 16 rows, but only 40 of the tile's 64 k
///     a.whole(64);                                    // false: the loader takes the masked path
#pragma once

#include <cstdint>

#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

/// How a matrix lies in memory.
enum class matrix_layout : std::uint8_t {
  row_major,  ///< [rows, cols] with the columns contiguous.
  col_major   ///< [cols, rows] with the rows contiguous: B as the [N, K] weight of a linear layer.
};

/// Building blocks of kernels that know nothing of ranks.
namespace tile {

/// Elements of a 16-bit type in a chunk.
inline constexpr int chunk_elems = 8;

/// One k step of one operand, in global memory. It does not say which of the two directions is
/// contiguous: that is the loader's type.
template <class T>
struct strip {
  const T* data;        ///< First element: row (or column) 0 of the tile, k 0 of the step.
  std::int64_t stride;  ///< Elements from one contiguous run to the next.
  int lines;    ///< Rows of A or columns of B that may be read, at least 1. What lies beyond may
                ///< be anything in shared memory, since its products are never stored.
  int k_count;  ///< k that may be read, at least 1; the rest counts as zero.

  /// Whether chunks can be loaded whole: `k_step` of k are real, and every run begins on 16 bytes.
  HIRIS_DEVICE bool whole(int k_step) const {
    return k_count >= k_step && (reinterpret_cast<std::uintptr_t>(data) & 15) == 0 &&
           stride % chunk_elems == 0;
  }
};

/// A chunk of zeros.
HIRIS_DEVICE platform::vec16 zero_chunk() { return platform::vec16{{0, 0, 0, 0}}; }

/// Loads a chunk that is whole and aligned.
template <class T>
HIRIS_DEVICE platform::vec16 load_chunk(const T* from) {
  return platform::load_global(reinterpret_cast<const platform::vec16*>(from));
}

/// Puts 16-bit element `index` of a chunk that has a zero there.
HIRIS_DEVICE void put_element(platform::vec16& chunk, int index, std::uint16_t bits) {
  chunk.word[index / 2] |= static_cast<std::uint32_t>(bits) << (16 * (index % 2));
}

/// Gathers up to 8 elements, `step` apart, that need not be aligned.
///
/// Caller   thread.
/// Cost     one 2-byte load an element: the slow path.
///
/// @param n_elems Elements to read; zeros follow.
template <class T>
HIRIS_DEVICE platform::vec16 gather_chunk(const T* from, std::int64_t step, int n_elems) {
  static_assert(sizeof(T) == 2, "a chunk holds eight elements of 16 bits");
  platform::vec16 chunk = zero_chunk();
  for (int e = 0; e < chunk_elems; ++e)
    if (e < n_elems)
      put_element(chunk, e,
                  platform::load_global(reinterpret_cast<const std::uint16_t*>(from + e * step)));
  return chunk;
}

}  // namespace tile
}  // namespace hiris
