// SPDX-License-Identifier: MIT
/// @file
/// A workgroup copies one communication tile of this rank's shard into a peer's inbox.
///
///     ship_tile(x, tile, peer, epoch);                            // 16-byte peer stores
///     block_notify_peer_stores(x.ctx, x.arrived + n, peer);       // drained, then one signal
#pragma once

#include <cstdint>

#include "hiris/comm/exchange.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/tile/view.hpp"

namespace hiris::comm {

/// A (peer, communication tile) pair of this rank's shard. Items are numbered so that workgroup b
/// of a multiple of world - 1 workgroups always serves the same peer: links fill best when each has
/// workgroups of its own.
struct shipment {
  int peer;  ///< Whom it goes to.
  int tile;  ///< Which of this shard's tiles.
};

/// Number of shipments of a rank and call.
template <class T>
HIRIS_DEVICE int shipments(const exchange<T>& x) {
  return (x.ctx.size - 1) * x.tiles_m * platform::wave_uniform(x.shards[x.ctx.rank].tiles_k);
}

/// The shipment with a number; the nearest neighbour above comes first.
template <class T>
HIRIS_DEVICE shipment shipment_at(const exchange<T>& x, int item) {
  const int peers = x.ctx.size - 1;
  return {tile::source_at(1 + item % peers, x.ctx.rank, x.ctx.size), item / peers};
}

/// Stores a tile of this rank's shard into slot `epoch` of the inbox of `peer`.
///
/// Caller   all threads of the workgroup, converged.
/// Order    none: follow with a notify.
/// Cost     16 bytes a thread and store, four in flight. The last chunk of a row is filled with
///          zeros. A shard that is not aligned is gathered element by element.
template <class T>
HIRIS_DEVICE void ship_tile(const exchange<T>& x, int number, int peer, std::uint64_t epoch) {
  constexpr int in_flight = 4;
  const shard s = platform::wave_uniform(x.shards[x.ctx.rank]);
  const int row = number / s.tiles_k << x.rows_shift;
  const int k = number % s.tiles_k << x.k_shift;
  const int rows = x.m - row < 1 << x.rows_shift ? x.m - row : 1 << x.rows_shift;
  const int k_count = s.k_count - k < 1 << x.k_shift ? s.k_count - k : 1 << x.k_shift;
  const tile::strip<T> from{x.a + row * std::int64_t{s.k_count} + k, s.k_count, rows, k_count};
  const bool aligned = from.whole(0);
  T* const to = x.ctx.on(peer, x.inbox + static_cast<std::int64_t>(epoch % 2) * x.slot_elems +
                                   s.inbox_begin + row * s.inbox_stride + k);

  const int chunks = (k_count + tile::chunk_elems - 1) / tile::chunk_elems;  // of a row
  const int total = rows * chunks;
  const int threads = platform::block_threads();
  for (int first = platform::thread_rank(); first < total; first += in_flight * threads) {
    platform::vec16 held[in_flight];
    std::int64_t at[in_flight];
    HIRIS_UNROLL
    for (int i = 0; i < in_flight; ++i) {
      const int index = first + i * threads;
      const int line = index / chunks;
      const int column = (index - line * chunks) * tile::chunk_elems;
      at[i] = index < total ? line * s.inbox_stride + column : -1;
      if (index >= total) continue;
      const T* chunk = from.data + line * from.stride + column;
      held[i] = aligned && column + tile::chunk_elems <= k_count
                    ? platform::load_global(reinterpret_cast<const platform::vec16*>(chunk))
                    : tile::gather_chunk(chunk, 1, k_count - column);
    }
    HIRIS_UNROLL
    for (int i = 0; i < in_flight; ++i)
      if (at[i] >= 0) platform::peer_store(reinterpret_cast<platform::vec16*>(to + at[i]), held[i]);
  }
}

}  // namespace hiris::comm
