// SPDX-License-Identifier: MIT
/// @file
/// The one main loop of all-gather + GEMM: kernel = schedule x comm x loader x multiply x epilogue.
///
/// C = [A_0 | ... | A_{W-1}] B. Only the communication policy (comm/) knows of ranks: it answers
/// where the next step of A lies and whether it may be read. A workgroup walks output tiles, and
/// for each the k of all sources, its own rank's first:
///
///     commit step t to shared memory | ready(t+1)? then issue its loads | meet | multiply step t
///
/// The loads of t+1 are in flight while t is multiplied. A variant of an operand's way (direct to
/// shared, TMA) is another loader, a variant of the multiply another block_multiply, a variant of
/// the journey another policy; none is another kernel.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hiris/comm/exchange.hpp"
#include "hiris/comm/k_walk.hpp"
#include "hiris/mma/block_multiply.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/signal.hpp"
#include "hiris/tile/config.hpp"
#include "hiris/tile/loader.hpp"
#include "hiris/tile/schedule.hpp"
#include "hiris/tile/view.hpp"

namespace hiris {

/// What the operands of a GEMM are. Bundles types so that kernels keep few parameters.
///
/// @tparam T   Element of A and B: float16 or bfloat16.
/// @tparam B   Layout of B.
/// @tparam Out Element of C: T or float.
template <class T, matrix_layout B, class Out>
struct gemm_types {
  using element = T;
  using out = Out;
  static constexpr matrix_layout b_layout = B;
};

/// A workgroup's share of a GEMM whose A comes from many ranks.
///
/// @tparam Comm  Communication policy of `Types::element`.
/// @tparam Types A gemm_types.
/// @tparam Tile  A tile configuration (tile/config.hpp).
template <class Comm, class Types, class Tile>
struct all_gather_gemm_kernel {
  using element = typename Types::element;
  using out = typename Types::out;
  using multiply_type = mma::block_multiply<element, Tile>;
  using loader_a = tile::row_loader<element, tile::load_shape<Tile::m, Tile::k, Tile::threads>>;
  using shape_b = tile::load_shape<Tile::n, Tile::k, Tile::threads>;
  using loader_b = std::conditional_t<Types::b_layout == matrix_layout::row_major,
                                      tile::transposing_loader<element, shape_b>,
                                      tile::row_loader<element, shape_b>>;

  static constexpr int block_threads = Tile::threads;
  /// On amd the shared memory of a compute unit, not its registers, is what runs out first.
  static constexpr int min_blocks_per_unit = platform::wave_size == 64 ? 1 : Tile::blocks_per_unit;

  struct params {
    typename Comm::params comm;
    const comm::shard* shards;  ///< [world], device memory.
    const element* b;           ///< [k, n], or [n, k].
    out* c;                     ///< [m, n], row-major.
    std::int64_t b_stride;      ///< Elements from run to run of B.
    int m, n;
    int world, rank;
    int ship_blocks;  ///< Workgroups set apart for shipping; 0 unless the policy ships within.
    tile::schedule schedule;
  };
  struct shared {
    typename multiply_type::stage stages[Tile::stages];
  };

  static HIRIS_DEVICE void run(const params& p, shared& s) {
    Comm comm(p.comm);
    wait_status status = comm.begin();
    if (status == wait_status::ok) status = work(p, s, comm);
    if (status != wait_status::ok) return;  // recorded; the host throws it
    const wait_status end = comm.finish(platform::block_count());
    static_cast<void>(end);
  }

 private:
  static HIRIS_DEVICE wait_status work(const params& p, shared& s, Comm& comm) {
    int block = platform::block_rank();
    int blocks = platform::block_count();
    if constexpr (Comm::ships_within) {
      if (block < p.ship_blocks) {
        for (int item = block; item < comm.items(); item += p.ship_blocks) {
          const wait_status status = comm.ship(item);
          if (status != wait_status::ok) return status;
        }
        if (p.ship_blocks < blocks) return wait_status::ok;
      } else {
        block -= p.ship_blocks;
      }
      if (p.ship_blocks < blocks) blocks -= p.ship_blocks;  // else all ship first, then multiply
    }
    int stage = 0;
    for (int t = block; t < p.schedule.tiles(); t += blocks) {
      const wait_status status = multiply_tile(p, s, comm, p.schedule.at(t), stage);
      if (status != wait_status::ok) return status;
    }
    return wait_status::ok;
  }

  /// Computes and stores one tile of C. `stage` is the stage of shared memory that is free next.
  static HIRIS_DEVICE wait_status multiply_tile(const params& p, shared& s, Comm& comm,
                                                tile::tile_index at, int& stage) {
    const int row = at.m * Tile::m;
    const int col = at.n * Tile::n;
    loader_a a;
    loader_b b;
    multiply_type multiply;
    multiply.clear();
    comm::k_walk walk(p.shards, p.world, p.rank, Tile::k);
    wait_status status = fetch(p, comm, walk, row, col, a, b);
    while (status == wait_status::ok) {
      if constexpr (Tile::stages == 1) platform::block_sync();  // the step before has been read
      a.template commit<typename multiply_type::a_layout>(s.stages[stage].a);
      b.template commit<typename multiply_type::b_layout>(s.stages[stage].b);
      walk.advance();
      const bool more = !walk.done();
      if (more) status = fetch(p, comm, walk, row, col, a, b);
      platform::block_sync();
      multiply.step(s.stages[stage]);
      if constexpr (Tile::stages > 1) stage = (stage + 1) % Tile::stages;
      if (!more) {
        store(p, multiply, row, col);
        break;
      }
    }
    return status;
  }

  /// Waits until a step of A may be read, and issues the loads of both operands.
  static HIRIS_DEVICE wait_status fetch(const params& p, Comm& comm, const comm::k_walk& walk,
                                        int row, int col, loader_a& a, loader_b& b) {
    const int rows = p.m - row < Tile::m ? p.m - row : Tile::m;
    const int cols = p.n - col < Tile::n ? p.n - col : Tile::n;
    constexpr bool row_major = Types::b_layout == matrix_layout::row_major;
    const std::int64_t k = walk.k_of_all();
    b.prefetch({p.b + (row_major ? k * p.b_stride + col : col * p.b_stride + k), p.b_stride, cols,
                walk.left()});
    const comm::position from{walk.source(), row, rows, walk.k()};
    const wait_status status = comm.ready(from);
    if (status == wait_status::ok) a.prefetch(comm.tile(from));
    return status;
  }

  static HIRIS_DEVICE void store(const params& p, const multiply_type& multiply, int row, int col) {
    out* const c = p.c + row * std::int64_t{p.n} + col;
    const int rows = p.m - row;
    const int cols = p.n - col;
    multiply.for_each([&](int i, int j, float value) {
      if (i < rows && j < cols)
        platform::store_global(c + i * std::int64_t{p.n} + j, from_float<out>(value));
    });
  }
};

/// The producer's kernel, for policies that ship in a launch of its own.
///
/// @tparam Comm Communication policy.
template <class Comm>
struct ship_kernel {
  static constexpr int block_threads = 256;
  using params = typename Comm::params;
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p);
    for (int item = platform::block_rank(); item < comm.items(); item += platform::block_count())
      if (comm.ship(item) != wait_status::ok) return;  // recorded; the host throws it
  }
};

/// The kernels of one strategy and tile configuration. At namespace scope, since nvcc names it in
/// the code that it generates for a launch.
template <class Comm, class Types, class Tile>
struct all_gather_gemm_kernels {
  using comm = Comm;
  using tile = Tile;
  using gemm = all_gather_gemm_kernel<Comm, Types, Tile>;
  using ship = ship_kernel<Comm>;
};

}  // namespace hiris
