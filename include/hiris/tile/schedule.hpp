// SPDX-License-Identifier: MIT
/// @file
/// Which output tile comes when, and in which order its k is walked. Knows nothing of memory.
///
/// Tiles are numbered 0 .. tiles-1 and handed to workgroups round robin. Runs of row blocks are
/// walked before the next column block, so that neighbours in time share a strip of B in the cache.
/// Workgroup b runs on chiplet b % 8 of an MI300: the numbers are dealt so that each chiplet gets a
/// contiguous run, and with it its own part of B (ROCm blog "compute-memory-modes": round robin).
///
///     // m, n, tile m, tile n, group, dies
///     schedule s = make_schedule(300, 1000, 128, 128, 8, 8);
///     for (int t = block_rank(); t < s.tiles(); t += block_count()) { auto [m, n] = s.at(t); ... }
#pragma once

#include <cstdint>

#include "hiris/platform/config.hpp"

namespace hiris::tile {

/// Position of an output tile, in tiles.
struct tile_index {
  int m;  ///< Row block.
  int n;  ///< Column block.
};

/// Order of the output tiles. Trivially copyable; part of a kernel's parameters.
struct schedule {
  int m_blocks;  ///< Row blocks.
  int n_blocks;  ///< Column blocks.
  int group_m;   ///< Row blocks walked before the next column block.
  int dies;      ///< Chiplets that workgroups are dealt to round robin; 1 switches the remap off.

  /// Number of output tiles.
  HIRIS_HOST_DEVICE int tiles() const { return m_blocks * n_blocks; }

  /// Coordinates of the tile that is `number`-th in time. A bijection.
  HIRIS_HOST_DEVICE tile_index at(int number) const {
    const int t = dies > 1 ? contiguous_on_die(number) : number;
    const int group_tiles = group_m * n_blocks;
    const int first_m = t / group_tiles * group_m;
    const int left = m_blocks - first_m;
    const int rows = left < group_m ? left : group_m;
    const int within = t % group_tiles;
    return {first_m + within % rows, within / rows};
  }

 private:
  HIRIS_HOST_DEVICE int contiguous_on_die(int number) const {
    const int die = number % dies;
    const int each = tiles() / dies;
    const int rest = tiles() % dies;
    return die * each + (die < rest ? die : rest) + number / dies;
  }
};

/// Schedule of an m x n result.
///
/// @param m,n           Rows and columns of the result, at least 1.
/// @param tile_m,tile_n Size of a tile.
inline schedule make_schedule(std::int64_t m, std::int64_t n, int tile_m, int tile_n, int group_m,
                              int dies) {
  return {static_cast<int>((m + tile_m - 1) / tile_m), static_cast<int>((n + tile_n - 1) / tile_n),
          group_m, dies};
}

/// Source that is read at `turn`: a rank's own shard first, then its neighbours', so that no two
/// ranks read the same source at the same time.
HIRIS_HOST_DEVICE int source_at(int turn, int rank, int world) {
  const int source = rank + turn;
  return source < world ? source : source - world;
}

}  // namespace hiris::tile
