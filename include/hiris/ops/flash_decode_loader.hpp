// SPDX-License-Identifier: MIT
/// @file
/// Brings a step of keys, or of values, from the cache to shared memory, through registers.
///
/// A step is decode_keys rows of head_dim elements, each where a table in shared memory says (pages
/// may lie anywhere), and zeros where it says nowhere. Keys stay as they are, since a score is a
/// sum along head_dim; values are transposed, since the output is a sum along the keys. Shared
/// memory is cut into panels of 64 elements of depth.
///
///     loader.prefetch(k, row_at, chunks);     // loads in flight
///     loader.commit(tile);                    // waits for them
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/mma/shared_layout.hpp"
#include "hiris/ops/flash_decode_plan.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/tile/loader.hpp"
#include "hiris/tile/view.hpp"

namespace hiris {

/// Place of a chunk of a [Lines, depth] operand in panels of depth 64.
template <int Lines>
HIRIS_HOST_DEVICE constexpr int panel_slot(int line, int chunk) {
  using panel = mma::swizzled<Lines, 64>;
  return chunk / panel::chunks * panel::slots + panel::slot(line, chunk % panel::chunks);
}

/// Where no row is.
inline constexpr std::int64_t no_row = -1;

/// Loads a chunk of a row, or of the first row in place of one that is not there: a load that every
/// lane issues does not wait for the one before, as one behind a branch would.
template <class T>
HIRIS_DEVICE platform::vec16 load_row_chunk(const T* base, std::int64_t row_at, int chunk,
                                            int chunks) {
  const bool real = row_at != no_row && chunk < chunks;
  platform::vec16 held =
      tile::load_chunk(base + (real ? row_at + chunk * tile::chunk_elems : std::int64_t{0}));
  HIRIS_UNROLL
  for (std::uint32_t& word : held.word) word = real ? word : 0u;
  return held;
}

/// Loads keys. Caller: all threads of the workgroup, converged, for both calls.
template <class T, int HeadDim, int Threads>
class key_loader {
 public:
  /// @param row_at Element of `base` at which each row begins, or no_row. [decode_keys]
  /// @param chunks Chunks of a row that are real.
  HIRIS_DEVICE void prefetch(const T* base, const std::int64_t* row_at, int chunks) {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int index = platform::thread_rank() + i * Threads;
      held_[i] = load_row_chunk(base, row_at[index / of_row], index % of_row, chunks);
    }
  }
  HIRIS_DEVICE void commit(platform::vec16* stage) const {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int index = platform::thread_rank() + i * Threads;
      stage[panel_slot<decode_keys>(index / of_row, index % of_row)] = held_[i];
    }
  }

 private:
  static constexpr int of_row = HeadDim / tile::chunk_elems;
  static constexpr int each = decode_keys * of_row / Threads;
  static_assert(each * Threads == decode_keys * of_row, "all threads load alike");

  platform::vec16 held_[std::size_t{each}];
};

/// Loads values, and transposes them in squares of 8 x 8. Caller: as `key_loader`.
template <class T, int HeadDim, int Threads>
class value_loader {
 public:
  HIRIS_DEVICE void prefetch(const T* base, const std::int64_t* row_at, int chunks) {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int square = platform::thread_rank() + i * Threads;
      if (square >= squares) continue;
      const int chunk = square % of_row;
      HIRIS_UNROLL
      for (int r = 0; r < tile::chunk_elems; ++r) {
        held_[i][r] =
            load_row_chunk(base, row_at[square / of_row * tile::chunk_elems + r], chunk, chunks);
      }
    }
  }
  /// The tile becomes [HeadDim, decode_keys].
  HIRIS_DEVICE void commit(platform::vec16* stage) const {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int square = platform::thread_rank() + i * Threads;
      if (square >= squares) continue;
      const int line = square % of_row * tile::chunk_elems;
      tile::transpose_square(held_[i], [&](int j, const platform::vec16& column) {
        stage[panel_slot<HeadDim>(line + j, square / of_row)] = column;
      });
    }
  }

 private:
  static constexpr int of_row = HeadDim / tile::chunk_elems;
  static constexpr int squares = of_row * decode_keys / tile::chunk_elems;
  static constexpr int each = (squares + Threads - 1) / Threads;

  platform::vec16 held_[std::size_t{each}][tile::chunk_elems];
};

}  // namespace hiris
