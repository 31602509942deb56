// SPDX-License-Identifier: MIT
/// @file
/// Message passing whose payload is read by `load`, `get` and `copy`: by a workgroup that has not
/// waited itself, but was told by one of its device that has. Its caches may hold the round before;
/// these read past them.
#pragma once

#include <cstdint>

#include "litmus/program.hpp"

namespace hiris::litmus {

/// By what rank 0's data are read, and by what they are brought back to it.
enum class way { load_store, get_put, copy };
/// Who moves them.
enum class mover { thread, wave, block };

/// Rank 0 stores plainly to its own memory, and tells. Of each peer workgroup 0 waits for that, and
/// tells workgroup 1 at agent scope. Workgroup 1 reads rank 0's data and stores them to an area of
/// its own on rank 0, which compares. Round after round at the same places, with no barrier of all.
template <way How, mover Who>
struct there_and_back : one_block {
  static constexpr int blocks = 2;
  static constexpr int first = Who == mover::wave ? platform::wave_size : 77;  // thread that moves
  static int elems(int ranks) { return ranks * block_threads; }

  /// Whether the calling thread takes part.
  static HIRIS_DEVICE bool moves() {
    if constexpr (Who == mover::thread)
      return platform::thread_rank() == first;
    else
      return Who == mover::block || platform::wave_rank() == first / platform::wave_size;
  }

  /// From rank 0 to the area of this rank, there, by all that take part.
  static HIRIS_DEVICE void move(const context& ctx, int* from, int* area) {
    const auto n = static_cast<std::uint64_t>(platform::block_threads());
    if constexpr (How == way::load_store) {
      const int i = platform::thread_rank();
      store(ctx, area + i, load(ctx, from + i, 0), 0);
    } else if constexpr (How == way::copy) {
      if constexpr (Who == mover::thread)
        copy(ctx, area, from, 0, 0, n);
      else if constexpr (Who == mover::wave)
        wave_copy(ctx, area, from, 0, 0, n);
      else
        block_copy(ctx, area, from, 0, 0, n);
    } else if constexpr (Who == mover::thread) {
      get(ctx, area, from, 0, n);
      put(ctx, area, area, 0, n);
    } else if constexpr (Who == mover::wave) {
      wave_get(ctx, area, from, 0, n);
      platform::wave_sync();
      wave_put(ctx, area, area, 0, n);
    } else {
      block_get(ctx, area, from, 0, n);
      platform::block_sync();
      block_put(ctx, area, area, 0, n);
    }
  }
  static HIRIS_DEVICE void tell(const context& ctx, signal_counter* back) {
    if constexpr (Who == mover::thread)
      notify_peer_stores(ctx, back, 0);
    else if constexpr (Who == mover::wave)
      wave_notify_peer_stores(ctx, back, 0);
    else
      block_notify_peer_stores(ctx, back, 0);
  }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const ready = p.signals + ctx.size;
    signal_counter* const back = ready + 1;  // of rank 0
    std::uint64_t* const handed_on = p.word(0);
    const int t = platform::thread_rank();
    for (int round = 1; round <= p.rounds; ++round) {
      const auto target = static_cast<std::uint64_t>(round);
      if (ctx.rank == 0) {
        if (p.block != 0) break;
        platform::store_global(p.data + t, payload(round, t));
        for (int peer = 1; peer < ctx.size; ++peer) block_notify(ctx, ready, peer);
        const std::uint64_t all = target * static_cast<std::uint64_t>(ctx.size - 1);
        if (block_wait_until(ctx, back, all, any_rank) != wait_status::ok) return;
        const int other = (t + 65) % block_threads;
        for (int peer = 1; peer < ctx.size; ++peer)
          forbid(p, platform::load_global(p.data + peer * block_threads + other) !=
                        payload(round, other));
      } else if (p.block == 0) {
        if (block_wait_until(ctx, ready, target, 0) != wait_status::ok) return;
        if (t == 0) atomic_add<order::release, scope::agent>(ctx, handed_on, 1, ctx.rank);
      } else {
        if (t == first) poll_word<order::acquire, scope::agent>(p, handed_on, target);
        platform::block_sync();
        if (!moves()) continue;
        move(ctx, p.data, p.data + ctx.rank * block_threads);
        tell(ctx, back);
      }
    }
    finish(p);
  }
};

}  // namespace hiris::litmus
