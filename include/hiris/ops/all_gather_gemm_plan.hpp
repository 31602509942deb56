// SPDX-License-Identifier: MIT
/// @file
/// What an all-gather + GEMM is asked to do, how it is going to, and what that costs. Host only;
/// asks no device.
///
///     all_gather_gemm_problem problem{16, 28672, {1024, 1024}};  // m, n, columns of each rank
///     strategy s = choose_strategy(problem);                     // what `automatic` becomes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hiris/comm/shard.hpp"
#include "hiris/ops/taxes.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/tile/config.hpp"

namespace hiris {

/// How A travels between the ranks. See docs of comm/ for what each promises.
enum class strategy : std::uint8_t {
  bulk_synchronous,  ///< Ship everything, barrier of all ranks, multiply: three launches.
  pull,              ///< The main loop loads the peers' shards where they lie: one launch.
  push,              ///< Ship tile by tile with a signal each, multiply waits a tile: two launches.
  push_fused,        ///< As push, in one launch.
  automatic          ///< Chosen by shape; see choose_strategy().
};

/// Name of a strategy, e.g. "push_fused".
inline const char* to_string(strategy s) noexcept {
  switch (s) {
    case strategy::bulk_synchronous:
      return "bulk_synchronous";
    case strategy::pull:
      return "pull";
    case strategy::push:
      return "push";
    case strategy::push_fused:
      return "push_fused";
    case strategy::automatic:
      return "automatic";
  }
  return "unknown";
}

/// C [m, n] = [A_0 | ... | A_{W-1}] B. The same on all ranks.
struct all_gather_gemm_problem {
  std::int64_t m;                      ///< Rows of A and C, at least 1.
  std::int64_t n;                      ///< Columns of B and C, at least 1.
  std::vector<std::int64_t> k_shards;  ///< [world] columns of A_r; each may be 0, not all.

  /// Columns of all shards.
  std::int64_t k() const {
    std::int64_t sum = 0;
    for (const std::int64_t shard : k_shards) sum += shard;
    return sum;
  }
};

/// Block tile by the number of rows.
enum class tile_choice : std::uint8_t { skinny, medium, square, large };

/// The smallest tile that holds all rows, and the largest where none does: rows of a tile beyond m
/// are multiplied for nothing.
inline tile_choice choose_tile(std::int64_t m) {
  if (m <= tile::skinny::m) return tile_choice::skinny;
  if (m <= tile::medium::m) return tile_choice::medium;
  return m <= tile::square::m || platform::wave_size != 64 ? tile_choice::square
                                                           : tile_choice::large;
}

/// Calls `f` with an object of the chosen tile configuration.
template <class F>
decltype(auto) with_tile(tile_choice choice, F&& f) {
  switch (choice) {
    case tile_choice::skinny:
      return f(tile::skinny{});
    case tile_choice::medium:
      return f(tile::medium{});
    case tile_choice::square:
      return f(tile::square{});
    case tile_choice::large:
      break;
  }
  if constexpr (platform::wave_size == 64)
    return f(tile::large{});
  else  // never chosen there; its kernels are not compiled
    return f(tile::square{});
}

/// What `automatic` becomes.
///
/// One rank: `push`, which then is a plain GEMM in one launch. Few rows or one column block:
/// `pull`, which stages nothing and waits for no copy. Each column block draws the peers' A over
/// the link again, so that must hide behind the reading of B, from a memory some 16 times as fast
/// as a link (H200: 4.4 TB/s and 0.37 TB/s). Otherwise `push_fused`, which overlaps the journey
/// with the multiplication of the rank's own shard and spares a launch. Measured on two H200s, with
/// K = 8192 and N = 28672: at M = 1 `pull` takes 0.6 of the time of `push_fused`, at 16 the same,
/// at 4096 twice as much. Every rank chooses alike, as the problem is the same.
inline strategy choose_strategy(const all_gather_gemm_problem& p) {
  if (p.k_shards.size() == 1) return strategy::push;
  const std::int64_t tile_n =
      with_tile(choose_tile(p.m), [](auto t) { return std::int64_t{decltype(t)::n}; });
  constexpr std::int64_t memory_over_link = 16;
  const std::int64_t column_blocks = (p.n + tile_n - 1) / tile_n;
  return column_blocks == 1 || column_blocks * p.m * memory_over_link <= p.n ? strategy::pull
                                                                             : strategy::push_fused;
}

/// How the gathered matrix is cut for a strategy. `pull` has one communication tile a source.
inline comm::geometry plan_geometry(const all_gather_gemm_problem& p, strategy s) {
  return with_tile(choose_tile(p.m), [&](auto t) {
    using tile_type = decltype(t);
    if (s == strategy::pull)
      return comm::make_geometry(p.m, p.k_shards, 1 << 30, tile_type::k, 1 << 30);
    // About 64 KiB a tile: enough that its poll and acquire are cheap beside its multiplication.
    const int chunk_k = tile_type::m <= 16 ? 2048 : 512;
    return comm::make_geometry(p.m, p.k_shards, tile_type::m, tile_type::k, chunk_k);
  });
}

/// The taxes of one call on `rank`.
inline taxes plan_taxes(const all_gather_gemm_problem& p, strategy s, int rank) {
  constexpr std::int64_t element_bytes = 2;
  const auto peers = static_cast<std::int64_t>(p.k_shards.size()) - 1;
  const std::int64_t own_k = p.k_shards[static_cast<std::size_t>(rank)];
  const comm::geometry g = plan_geometry(p, s);
  const comm::shard& own = g.shards[static_cast<std::size_t>(rank)];
  if (peers == 0) return {1, 0, 0, 0, 0};
  if (s == strategy::pull) {
    const std::int64_t column_blocks = with_tile(
        choose_tile(p.m), [&](auto t) { return (p.n + decltype(t)::n - 1) / decltype(t)::n; });
    const std::int64_t opens = own_k > 0 ? peers : 0;  // each with an 8-byte offset
    return {1, 0, 0, column_blocks * p.m * (p.k() - own_k) * element_bytes + 8 * opens,
            opens + peers};
  }
  const std::int64_t shipped = peers * p.m * comm::round_up(own_k, 8) * element_bytes;
  const std::int64_t tiles = peers * g.tiles_m * own.tiles_k;
  const std::int64_t ships = tiles > 0 ? 1 : 0;
  if (s == strategy::bulk_synchronous) return {2 + ships, 1, shipped, shipped, 0};
  return {s == strategy::push ? 1 + ships : 1, 0, shipped, shipped, tiles + peers};
}

}  // namespace hiris
