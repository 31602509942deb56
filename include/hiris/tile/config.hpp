// SPDX-License-Identifier: MIT
/// @file
/// Named sizes of the block tile: how much of C a workgroup computes, and how much k it stages.
///
/// They are data, apart from the algorithm. A configuration is a struct with the members below; a
/// tuned one for an architecture is another struct.
///
///     static_assert(tile::stage_bytes<tile::square>() == 32 * 1024);
#pragma once

#include "hiris/platform/config.hpp"

namespace hiris::tile {

/// Up to 16 rows of A: the product is bound by reading B, so k steps are long (16-byte loads for
/// 32 KiB of B in flight a workgroup) and one shared stage suffices. Two workgroups a unit, so that
/// the 224 tiles of N = 28672 are walked at once by 132 units and not in two rounds.
struct skinny {
  static constexpr int threads = 256;        ///< Of a workgroup.
  static constexpr int m = 16;               ///< Rows of C a workgroup.
  static constexpr int n = 128;              ///< Columns of C a workgroup.
  static constexpr int k = 128;              ///< Depth of one step.
  static constexpr int stages = 1;           ///< Steps held in shared memory.
  static constexpr int blocks_per_unit = 2;  ///< Workgroups of a compute unit that the registers
                                             ///< leave room for; shared memory may allow fewer.
  static constexpr int group_m = 1;  ///< Row blocks that are walked before the next column block.
};

/// Up to 64 rows: still bound by reading B.
struct medium {
  static constexpr int threads = 256;
  static constexpr int m = 64;
  static constexpr int n = 128;
  static constexpr int k = 128;
  static constexpr int stages = 1;
  static constexpr int blocks_per_unit = 1;
  static constexpr int group_m = 4;
};

/// Up to 128 rows, and the largest tile whose sums fit the registers of a wave of 32.
struct square {
  static constexpr int threads = 256;
  static constexpr int m = 128;
  static constexpr int n = 128;
  static constexpr int k = 64;
  static constexpr int stages = 1;
  static constexpr int blocks_per_unit = 1;
  static constexpr int group_m = 8;
};

/// Many rows on waves of 64: bound by arithmetic. Eight waves, two a SIMD, of 64 x 64 each; one
/// workgroup a compute unit of 64 KiB, 48 KiB of them for the stage.
struct large {
  static constexpr int threads = 512;
  static constexpr int m = 256;
  static constexpr int n = 128;
  static constexpr int k = 64;
  static constexpr int stages = 1;
  static constexpr int blocks_per_unit = 1;
  static constexpr int group_m = 4;
};

/// Shared memory of one stage: both operands, 16-bit elements.
template <class Tile>
constexpr int stage_bytes() {
  return (Tile::m + Tile::n) * Tile::k * 2;
}

}  // namespace hiris::tile
