// SPDX-License-Identifier: MIT
/// @file
/// Brings one k step of an operand from global memory to shared memory, through registers.
///
/// `prefetch` issues the loads of a step and returns; `commit` writes what they brought to a stage.
/// Between the two the workgroup multiplies the step before. A step that is whole and aligned moves
/// in 16-byte accesses; any other is gathered element by element, with zeros beyond the end of k,
/// so that no garbage (an Inf times a zero is a NaN) enters the product.
///
///     loader.prefetch(strip);                  // loads in flight
///     multiply.step(stage);                    // meanwhile
///     loader.template commit<layout>(stage);   // waits for the loads
///
/// A loader for direct-to-shared or TMA copies is another type with these two calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/platform/device.hpp"
#include "hiris/tile/config.hpp"
#include "hiris/tile/view.hpp"

namespace hiris::tile {

/// What a loader loads: [Lines, Depth] by `Threads` threads.
template <int Lines, int Depth, int Threads>
struct load_shape {
  static constexpr int lines = Lines;      ///< Rows of A or columns of B.
  static constexpr int depth = Depth;      ///< Of a k step.
  static constexpr int threads = Threads;  ///< Of the workgroup.
};

/// Loads an operand whose k is contiguous: A row-major, or B as [N, K].
///
/// Caller   all threads of the workgroup, converged, for both calls.
template <class T, class Shape>
class row_loader {
 public:
  /// Issues the loads of a step.
  HIRIS_DEVICE void prefetch(const strip<T>& from) {
    // Addresses are made anew in each step: over the loop they would take registers that two
    // workgroups of a compute unit do not have.
    const int thread = platform::recomputed(platform::thread_rank());
    const int line = thread / chunks;
    const int k = thread % chunks * chunk_elems;
    const T* const first = from.data + line * from.stride + k;
    const std::int64_t pass = lines_a_pass * from.stride;
    if (!from.whole(Shape::depth)) {
      HIRIS_UNROLL
      for (int i = 0; i < each; ++i)
        held_[i] = gather_chunk(first + i * pass, 1,
                                line + i * lines_a_pass < from.lines ? from.k_count - k : 0);
    } else if (from.lines < each * lines_a_pass) {
      HIRIS_UNROLL
      for (int i = 0; i < each; ++i)
        held_[i] =
            line + i * lines_a_pass < from.lines ? load_chunk(first + i * pass) : zero_chunk();
    } else {
      HIRIS_UNROLL
      for (int i = 0; i < each; ++i) held_[i] = load_chunk(first + i * pass);
    }
  }

  /// Writes the step to a stage of `Layout`. The caller meets the others before anyone reads it.
  ///
  /// Every path of `prefetch` ends here in the same stores: were one to store something else, the
  /// compiler would have to take loads for still in flight and wait for them before the next.
  template <class Layout>
  HIRIS_DEVICE void commit(platform::vec16* stage) const {
    const int line = platform::thread_rank() / chunks;
    const int chunk = platform::thread_rank() % chunks;
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i)
      if (each * lines_a_pass == Shape::lines || line + i * lines_a_pass < Shape::lines)
        stage[Layout::slot(line + i * lines_a_pass, chunk)] = held_[i];
  }

 private:
  static constexpr int chunks = Shape::depth / chunk_elems;
  static constexpr int lines_a_pass = Shape::threads / chunks;
  static constexpr int each = (Shape::lines + lines_a_pass - 1) / lines_a_pass;
  static_assert(Shape::threads % chunks == 0, "a pass of the workgroup covers whole lines");

  platform::vec16 held_[std::size_t{each}];
};

/// Transposes Rows x 8 elements of 16 bits in registers: calls f(j, column j) for each of the
/// eight.
///
/// Caller   thread.
///
/// @tparam Rows 8, or 4: a column then is the first half of a chunk.
/// @param  row  Row r is chunk r.
template <int Rows, class F>
HIRIS_DEVICE void transpose(const platform::vec16 (&row)[std::size_t{Rows}], F f) {
  HIRIS_UNROLL
  for (int j = 0; j < chunk_elems; ++j) {
    platform::vec16 column{};
    HIRIS_UNROLL
    for (int w = 0; w < Rows / 2; ++w) {  // elements k = 2w and 2w + 1 of column j
      const std::uint32_t low = row[2 * w].word[j / 2];
      const std::uint32_t high = row[2 * w + 1].word[j / 2];
      column.word[w] =
          j % 2 == 0 ? (low & 0xffffU) | (high << 16) : (low >> 16) | (high & 0xffff0000U);
    }
    f(j, column);
  }
}

/// Loads an operand whose lines are contiguous, B as [K, N], and transposes it in registers, in
/// squares of 8 x 8: eight 16-byte loads along n, eight 16-byte stores along k.
///
/// Caller   all threads of the workgroup, converged, for both calls.
template <class T, class Shape>
class transposing_loader {
 public:
  /// As `row_loader::prefetch`; the strip's runs go along the lines.
  HIRIS_DEVICE void prefetch(const strip<T>& from) {
    const bool whole = from.whole(Shape::depth) && from.lines % chunk_elems == 0;
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int square = platform::thread_rank() + i * Shape::threads;
      const int line = square % squares_n * chunk_elems;
      const int k = square / squares_n * chunk_elems;
      if (each * Shape::threads != squares && square >= squares) continue;
      if (whole) {  // lines beyond the last may be anything: copies of the last that are real
        const int at = line < from.lines ? line : from.lines - chunk_elems;
        const T* const first = from.data + k * from.stride + at;
        HIRIS_UNROLL
        for (int r = 0; r < chunk_elems; ++r)
          held_[i][r] = platform::hold(load_chunk(first + r * from.stride));
      } else {
        const T* const first = from.data + k * from.stride + line;
        HIRIS_UNROLL
        for (int r = 0; r < chunk_elems; ++r)
          held_[i][r] = platform::hold(gather_chunk(first + r * from.stride, 1,
                                                    k + r < from.k_count ? from.lines - line : 0));
      }
    }
  }

  /// As `row_loader::commit`.
  template <class Layout>
  HIRIS_DEVICE void commit(platform::vec16* stage) const {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int square = platform::thread_rank() + i * Shape::threads;
      if (each * Shape::threads == squares || square < squares)
        store_transposed<Layout>(stage, square, held_[i]);
    }
  }

 private:
  static constexpr int chunks = Shape::depth / chunk_elems;
  static constexpr int squares_n = Shape::lines / chunk_elems;
  static constexpr int squares = squares_n * chunks;
  static constexpr int each = (squares + Shape::threads - 1) / Shape::threads;

  template <class Layout>
  HIRIS_DEVICE static void store_transposed(platform::vec16* stage, int square,
                                            const platform::held16 (&held)[chunk_elems]) {
    const int line = square % squares_n * chunk_elems;
    platform::vec16 row[chunk_elems];
    HIRIS_UNROLL
    for (int r = 0; r < chunk_elems; ++r) row[r] = platform::let_go(held[r]);
    transpose<chunk_elems>(row, [&](int j, const platform::vec16& column) {
      stage[Layout::slot(line + j, square / squares_n)] = column;
    });
  }

  platform::held16 held_[std::size_t{each}][chunk_elems];
};

}  // namespace hiris::tile
