// SPDX-License-Identifier: MIT
/// @file
/// One workgroup multiplies a tile of A by a tile of B, both in shared memory, and keeps the sum.
///
/// It owns the shared layout, so that another way of feeding the matrix units (wgmma that reads
/// shared memory by descriptor, two halves of a workgroup in ping-pong) is another type with the
/// same members and not another kernel.
///
///     block_multiply<float16, tile::square> multiply;
///     multiply.clear();
///     for (...) { ...fill a stage, block_sync...; multiply.step(stage); }
///     multiply.for_each([&](int row, int col, float value) { ... });   // once for every element
#pragma once

#include <cstddef>

#include "hiris/mma/shared_layout.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/mma.hpp"
#include "hiris/tile/config.hpp"

namespace hiris::mma {

/// Multiplies [Tile::m, Tile::k] by [Tile::k, Tile::n], 16-bit T, fp32 sums in registers.
template <class T, class Tile>
class block_multiply {
 public:
  using a_layout = swizzled<Tile::m, Tile::k>;
  using b_layout = swizzled<Tile::n, Tile::k>;

  /// One k step of both operands in shared memory, k contiguous.
  struct alignas(128) stage {
    platform::vec16 a[std::size_t{a_layout::slots}];
    platform::vec16 b[std::size_t{b_layout::slots}];
  };

  /// Sets the sum to zero.
  HIRIS_DEVICE void clear() {
    HIRIS_UNROLL
    for (int i = 0; i < atoms_m; ++i) HIRIS_UNROLL
    for (int j = 0; j < atoms_n; ++j) sum_[i][j] = atom::zero();
  }

  /// Adds the product of a stage.
  ///
  /// Caller   all threads of the workgroup, converged, after they met since the stage was written.
  /// Cost     a wave: k / atom k times (atoms_m + atoms_n) 16-byte shared loads a lane, and
  ///          atoms_m x atoms_n matrix instructions (two on gfx942).
  HIRIS_DEVICE void step(const stage& from) {
    HIRIS_UNROLL
    for (int k = 0; k < Tile::k / atom::k; ++k) {
      typename atom::a_fragment a[std::size_t{atoms_m}];
      typename atom::b_fragment b[std::size_t{atoms_n}];
      HIRIS_UNROLL
      for (int i = 0; i < atoms_m; ++i)
        a[i] = atom::load_a([&](int row, int chunk) {
          return &from.a[a_layout::slot(first_row() + i * atom::m + row, k * atom_chunks + chunk)];
        });
      HIRIS_UNROLL
      for (int j = 0; j < atoms_n; ++j)
        b[j] = atom::load_b([&](int col, int chunk) {
          return &from.b[b_layout::slot(first_col() + j * atom::n + col, k * atom_chunks + chunk)];
        });
      HIRIS_UNROLL
      for (int i = 0; i < atoms_m; ++i) HIRIS_UNROLL
      for (int j = 0; j < atoms_n; ++j) atom::multiply_add(sum_[i][j], a[i], b[j]);
    }
  }

  /// Calls `f(row, col, value)` for the elements that this thread holds; all threads together cover
  /// the tile once.
  template <class F>
  HIRIS_DEVICE void for_each(F f) const {
    HIRIS_UNROLL
    for (int i = 0; i < atoms_m; ++i) HIRIS_UNROLL
    for (int j = 0; j < atoms_n; ++j)
      atom::for_each(sum_[i][j], [&](int row, int col, float value) {
        f(first_row() + i * atom::m + row, first_col() + j * atom::n + col, value);
      });
  }

 private:
  using atom = platform::mma_atom<T, 16, 16>;
  static constexpr int atom_chunks = atom::k / 8;
  static constexpr int waves = Tile::threads / platform::wave_size;
  // As square a patch a wave as the tile allows, since then it reads least from shared memory.
  static constexpr int waves_m = Tile::m < 64    ? 1
                                 : Tile::m < 128 ? (waves > 4 ? 2 : 1)
                                                 : Tile::m / 128 * 2;
  static constexpr int waves_n = waves / waves_m;
  static constexpr int atoms_m = Tile::m / waves_m / atom::m;
  static constexpr int atoms_n = Tile::n / waves_n / atom::n;
  static_assert(atoms_m * waves_m * atom::m == Tile::m && atoms_n * waves_n * atom::n == Tile::n,
                "the waves' patches cover the tile exactly");
  static_assert(Tile::k % atom::k == 0, "a stage is a whole number of matrix instructions deep");

  HIRIS_DEVICE static int first_row() {
    return platform::wave_rank() / waves_n * (atoms_m * atom::m);
  }
  HIRIS_DEVICE static int first_col() {
    return platform::wave_rank() % waves_n * (atoms_n * atom::n);
  }

  typename atom::c_fragment sum_[std::size_t{atoms_m}][std::size_t{atoms_n}];
};

}  // namespace hiris::mma
