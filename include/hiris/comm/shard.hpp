// SPDX-License-Identifier: MIT
/// @file
/// How a matrix whose columns are spread over the ranks is cut for the journey between them.
///
/// Rank s owns A_s, [m, k_s]; together they are [A_0 | ... | A_{W-1}]. A shard travels in
/// *communication tiles* of row blocks x k chunks, one signal each. Tiles are as large as keeps the
/// pipeline busy, because each costs every workgroup one poll and one acquire, and acquires of all
/// workgroups of a device take turns. An *inbox* has one area a source, rows and k rounded up to
/// whole tiles of the multiply, so that its loads are always aligned and never masked; what nobody
/// writes in it stays zero.
///
///     auto g = comm::make_geometry(64, {96, 0, 33}, 16, 128, 2048);
///     g.tiles; g.shards[2].first_tile;             // signals needed; the first one of source 2
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiris/platform/config.hpp"

namespace hiris::comm {

/// Most communication tiles of a call: a workgroup notes in shared memory which have arrived.
inline constexpr int max_tiles = 2048;

/// One rank's part of the matrix. The table [world] lies in device memory and never changes.
struct shard {
  std::int64_t k_begin;       ///< First column of the shard in the whole matrix.
  std::int64_t inbox_begin;   ///< First element of its area in a slot of an inbox.
  std::int64_t inbox_stride;  ///< Elements from row to row there.
  int k_count;                ///< Columns; may be 0.
  int first_tile;             ///< Number of its first communication tile.
  int tiles_k;                ///< Communication tiles along k; row blocks follow each other.
};

/// The cut of a whole matrix, the same on all ranks.
struct geometry {
  int m;                    ///< Rows.
  int tiles_m;              ///< Communication tiles along the rows.
  int rows_shift;           ///< log2 of the rows of a communication tile.
  int k_shift;              ///< log2 of its columns.
  int tiles;                ///< Communication tiles of all sources.
  std::int64_t slot_elems;  ///< Elements of one slot of an inbox.
  std::vector<shard> shards;
};

/// `value` rounded up to a multiple of `unit`.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Cuts a matrix of 16-bit elements.
///
/// @param m           Rows, at least 1.
/// @param k_shards    Columns of each rank, at least 0. [world]
/// @param block_m     Rows of a tile of the multiply; a power of two.
/// @param block_k     Depth of its k step; a power of two.
/// @param chunk_k     Wanted columns of a communication tile; a power of two, at least block_k.
///                    Grows, and the rows with it, until there are no more than max_tiles.
/// @pre No more than max_tiles ranks.
inline geometry make_geometry(std::int64_t m, const std::vector<std::int64_t>& k_shards,
                              int block_m, int block_k, int chunk_k) {
  geometry g{static_cast<int>(m),
             0,
             std::countr_zero(static_cast<unsigned>(block_m)),
             std::countr_zero(static_cast<unsigned>(chunk_k)),
             0,
             0,
             {}};
  const auto tiles_of = [](std::int64_t extent, int shift) {
    return static_cast<int>((extent + (std::int64_t{1} << shift) - 1) >> shift);
  };
  for (;;) {
    g.tiles_m = tiles_of(m, g.rows_shift);
    std::int64_t tiles = 0;
    int widest = 0;
    for (const std::int64_t k : k_shards) {
      const int tiles_k = tiles_of(k, g.k_shift);
      widest = tiles_k > widest ? tiles_k : widest;
      tiles += std::int64_t{tiles_k} * g.tiles_m;
    }
    if (tiles <= max_tiles) break;
    (widest > 4 ? g.k_shift : g.tiles_m > 1 ? g.rows_shift : g.k_shift) += 1;
  }
  std::int64_t k_begin = 0;
  const std::int64_t rows = round_up(m, block_m);
  for (const std::int64_t k : k_shards) {
    // Rows whose distance is a multiple of 512 bytes meet in the same memory channel.
    std::int64_t stride = round_up(k, block_k);
    if (stride % 256 == 0) stride += 64;
    const int tiles_k = tiles_of(k, g.k_shift);
    g.shards.push_back({k_begin, g.slot_elems, stride, static_cast<int>(k), g.tiles, tiles_k});
    k_begin += k;
    g.tiles += tiles_k * g.tiles_m;
    if (k > 0 && k_shards.size() > 1) g.slot_elems += rows * stride;
  }
  return g;
}

}  // namespace hiris::comm
