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

/// Loads a chunk of a row, or of the first row in place of one that is not there, and notes in bit
/// `index` of `real` which it was. A load that every lane issues, and whose value is looked at only
/// by `commit`, does not wait for the one before.
template <class T>
HIRIS_DEVICE platform::vec16 load_row_chunk(const T* base, std::int64_t row_at, int chunk,
                                            int chunks, std::uint32_t& real, int index) {
  const bool is_real = row_at != no_row && chunk < chunks;
  real |= static_cast<std::uint32_t>(is_real) << index;
  return tile::load_chunk(base + (is_real ? row_at + chunk * tile::chunk_elems : std::int64_t{0}));
}

/// The chunk, or zeros if it is not real.
HIRIS_DEVICE platform::vec16 zero_unless(std::uint32_t real, int index, platform::vec16 chunk) {
  const std::uint32_t mask = 0u - (real >> index & 1u);
  HIRIS_UNROLL
  for (std::uint32_t& word : chunk.word) word &= mask;
  return chunk;
}

// The places in the stage are computed anew in each step: over the loop they would take registers
// that two workgroups of a compute unit do not have.

/// Loads keys. Caller: all threads of the workgroup, converged, for both calls.
template <class T, int HeadDim, int Threads>
class key_loader {
 public:
  /// @param row_at Element of `base` at which each row begins, or no_row. [decode_keys]
  /// @param chunks Chunks of a row that are real.
  HIRIS_DEVICE void prefetch(const T* base, const std::int64_t* row_at, int chunks) {
    real_ = 0;
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int index = platform::thread_rank() + i * Threads;
      held_[i] = load_row_chunk(base, row_at[index / of_row], index % of_row, chunks, real_, i);
    }
  }
  HIRIS_DEVICE void commit(platform::vec16* stage) const {
    const int thread = platform::recomputed(platform::thread_rank());
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int index = thread + i * Threads;
      stage[panel_slot<decode_keys>(index / of_row, index % of_row)] =
          zero_unless(real_, i, held_[i]);
    }
  }

 private:
  static constexpr int of_row = HeadDim / tile::chunk_elems;
  static constexpr int each = decode_keys * of_row / Threads;
  static_assert(each * Threads == decode_keys * of_row, "all threads load alike");

  platform::vec16 held_[std::size_t{each}];
  std::uint32_t real_ = 0;
};

/// Loads values, and transposes them in blocks of 4 keys by 8 columns. Caller: as `key_loader`.
template <class T, int HeadDim, int Threads>
class value_loader {
 public:
  HIRIS_DEVICE void prefetch(const T* base, const std::int64_t* row_at, int chunks) {
    real_ = 0;
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int index = platform::thread_rank() + i * Threads;
      if (index >= blocks) continue;
      HIRIS_UNROLL
      for (int r = 0; r < keys; ++r)
        held_[i][r] = load_row_chunk(base, row_at[index / of_row * keys + r], index % of_row,
                                     chunks, real_, i * keys + r);
    }
  }
  /// The tile becomes [HeadDim, decode_keys].
  HIRIS_DEVICE void commit(platform::vec16* stage) const {
    const int thread = platform::recomputed(platform::thread_rank());
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int index = thread + i * Threads;
      if (index >= blocks) continue;
      const int line = index % of_row * tile::chunk_elems;
      const int half = index / of_row % 2;
      platform::vec16 row[std::size_t{keys}];
      HIRIS_UNROLL
      for (int r = 0; r < keys; ++r) row[r] = zero_unless(real_, i * keys + r, held_[i][r]);
      tile::transpose<keys>(row, [&](int j, const platform::vec16& column) {
        platform::vec16& to = stage[panel_slot<HeadDim>(line + j, index / of_row / 2)];
        to.word[2 * half] = column.word[0];
        to.word[2 * half + 1] = column.word[1];
      });
    }
  }

 private:
  static constexpr int keys = 4;  ///< Of a block: half a chunk of the transposed tile.
  static constexpr int of_row = HeadDim / tile::chunk_elems;
  static constexpr int blocks = of_row * decode_keys / keys;
  static constexpr int each = (blocks + Threads - 1) / Threads;

  platform::vec16 held_[std::size_t{each}][std::size_t{keys}];
  std::uint32_t real_ = 0;
};

}  // namespace hiris
