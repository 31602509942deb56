// SPDX-License-Identifier: MIT
/// @file
/// What every policy works on: this rank's shard, the inbox, the signals, the epoch.
///
/// A policy is a type with these members; kernels are written against them and know no policy.
///
///     using element, params;
///     static constexpr bool ships_within;             // whether the multiply's launch ships
///     policy(const params&);                          // all threads of a workgroup
///     wait_status begin();                            // once a workgroup, before it consumes
///     int items();  wait_status ship(int item);       // producer: parts of this rank's shard
///     wait_status ready(const position&);             // consumer: may this step be read?
///     tile::strip<T> tile(const position&);           // consumer: where it lies
///     wait_status finish(int blocks);                 // once a workgroup, after everything else
///
/// All calls but the constructor are for all threads of the workgroup, converged, and a status that
/// is not ok is the same in all of them: the workgroup then leaves. The op is dead from there on.
#pragma once

#include <cstdint>

#include "hiris/comm/epoch.hpp"
#include "hiris/comm/shard.hpp"
#include "hiris/context.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/tile/schedule.hpp"
#include "hiris/tile/view.hpp"

namespace hiris::comm {

/// One step of the consumer: where in the gathered matrix it reads next.
struct position {
  int source;  ///< Rank whose shard is read.
  int row;     ///< First row; a multiple of the multiply's tile.
  int rows;    ///< Rows that are real, at least 1.
  int k;       ///< First column within the shard; a multiple of the k step.
};

/// Parameters that all policies share. Trivially copyable.
template <class T>
struct exchange {
  context ctx;
  const shard* shards;           ///< [world], device memory.
  const T* a;                    ///< This rank's shard, [m, k_count].
  T* inbox;                      ///< [2, slot_elems], symmetric; null where a policy needs none.
  std::int64_t slot_elems;       ///< Elements of a slot.
  signal_counter* arrived;       ///< [tiles], symmetric: calls whose tile has arrived here.
  signal_counter* acknowledged;  ///< [world], symmetric: calls that each rank has finished reading.
  epoch_words words;
  int m;           ///< Rows.
  int tiles_m;     ///< Communication tiles along the rows.
  int rows_shift;  ///< log2 of the rows of a communication tile.
  int k_shift;     ///< log2 of its columns.
};

/// Where the steps of one source are read. It is looked up when the walk enters the source, so that
/// a step asks global memory for nothing but operands: on amd, loads return in order, and waiting
/// for a table would wait for the operands in flight.
template <class T>
struct source_view {
  int source = -1;          ///< Rank; -1: none yet.
  const T* base = nullptr;  ///< Its row 0, column 0.
  std::int64_t stride = 0;  ///< Elements from row to row.
  int k_limit = 0;          ///< Columns that may be read.
  int first_tile = 0;       ///< Number of its first communication tile.
  int tiles_k = 1;          ///< Communication tiles along k.

  /// The rank's own shard, in place.
  HIRIS_DEVICE void enter_own(const exchange<T>& x) {
    enter(x, x.ctx.rank);
    base = x.a;
    stride = k_limit;
  }
  /// The area of `from` in this rank's inbox. Rows and k are padded with zeros to whole steps.
  HIRIS_DEVICE void enter_inbox(const exchange<T>& x, int from, std::uint64_t epoch) {
    const shard s = enter(x, from);
    base = x.inbox + static_cast<std::int64_t>(epoch % 2) * x.slot_elems + s.inbox_begin;
    stride = s.inbox_stride;
    k_limit = 1 << 30;
  }
  /// The shard of `from` where it lies, at `at`.
  HIRIS_DEVICE void enter_peer(const exchange<T>& x, int from, const T* at) {
    enter(x, from);
    base = at;
    stride = k_limit;
  }

  /// Number of the communication tile that a position lies in.
  HIRIS_DEVICE int tile_of(const exchange<T>& x, const position& at) const {
    return first_tile + (at.row >> x.rows_shift) * tiles_k + (at.k >> x.k_shift);
  }
  /// The step at a position.
  HIRIS_DEVICE tile::strip<T> strip(const position& at) const {
    return {base + at.row * stride + at.k, stride, at.rows, k_limit - at.k};
  }

 private:
  HIRIS_DEVICE shard enter(const exchange<T>& x, int from) {
    const shard s = platform::wave_uniform(x.shards[from]);
    source = from;
    k_limit = s.k_count;
    first_tile = s.first_tile;
    tiles_k = s.tiles_k;
    return s;
  }
};

}  // namespace hiris::comm
