// SPDX-License-Identifier: MIT
/// @file
/// Where a chunk of an operand stands in shared memory: swizzled against bank conflicts.
///
/// A stage of an operand is [lines, depth] with k contiguous, in chunks of 16 bytes. Three access
/// patterns must spread over the banks: copies of rows write neighbouring chunks of a line; the
/// transposing loader writes the same chunk of lines 8 apart; and the multiply reads the same chunk
/// of neighbouring lines. The chunk's column is therefore xor-ed with the line and the line / 8.
/// (Groups of lanes that conflict: ROCm blog "lds-bank-conflict", reads {0-3,20-23}, writes 8
/// consecutive.)
///
///     swizzled<128, 64> layout;
///     stage[layout.slot(row, k / 8)] = chunk;
#pragma once

#include "hiris/platform/config.hpp"

namespace hiris::mma {

/// Layout of a [Lines, Depth] operand of 16-bit elements.
template <int Lines, int Depth>
struct swizzled {
  static constexpr int lines = Lines;
  static constexpr int depth = Depth;
  static constexpr int chunks = Depth / 8;      ///< Chunks of a line.
  static constexpr int slots = Lines * chunks;  ///< Chunks of a stage.
  static_assert(chunks >= 2 && (chunks & (chunks - 1)) == 0,
                "the depth of a stage is a power of two, at least 16");

  /// Index of a chunk in the stage.
  HIRIS_HOST_DEVICE static constexpr int slot(int line, int chunk) {
    constexpr int mask = (chunks < 8 ? chunks : 8) - 1;
    constexpr int lines_a_turn = chunks < 8 ? 8 / chunks : 1;  // lines in one turn of the banks
    return line * chunks + (chunk ^ ((line / lines_a_turn ^ line / 8) & mask));
  }
};

}  // namespace hiris::mma
