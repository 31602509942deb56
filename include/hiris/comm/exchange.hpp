// SPDX-License-Identifier: MIT
/// @file
/// What every policy works on: this rank's shard, the inbox, the signals, the epoch.
///
/// A policy is a type with these members; kernels are written against them and know no policy.
///
///     using element, params;
///     static constexpr bool ships_within;             // whether the multiply's launch ships
///     policy(const params&);                          // all threads of a workgroup
///     void begin();                                   // once a workgroup, before anything else
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

  /// Number of the communication tile that a position lies in.
  HIRIS_DEVICE int tile_of(const position& at) const {
    const shard s = platform::wave_uniform(shards[at.source]);
    return s.first_tile + (at.row >> rows_shift) * s.tiles_k + (at.k >> k_shift);
  }
  /// This rank's own shard at a position, in place.
  HIRIS_DEVICE tile::strip<T> own(const position& at) const {
    const int stride = platform::wave_uniform(shards[ctx.rank].k_count);
    return {a + at.row * std::int64_t{stride} + at.k, stride, at.rows, stride - at.k};
  }
  /// A source's area of this rank's inbox at a position; rows and k are padded with zeros.
  HIRIS_DEVICE tile::strip<T> arrived_at(const position& at, std::uint64_t epoch) const {
    const shard s = platform::wave_uniform(shards[at.source]);
    const T* area = inbox + static_cast<std::int64_t>(epoch % 2) * slot_elems + s.inbox_begin;
    return {area + at.row * s.inbox_stride + at.k, s.inbox_stride, at.rows, 1 << 30};
  }
};

}  // namespace hiris::comm
