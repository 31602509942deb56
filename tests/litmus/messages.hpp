// SPDX-License-Identifier: MIT
/// @file
/// Message passing (MP): rank 0 sends data, then tells; who has been told sees the data. Every way
/// to send and to tell, every way to wait, and what must hold around it: many senders to one
/// signal, peers told one by one, order that is handed on, a buffer whose reader is slow.
#pragma once

#include <cstdint>

#include "litmus/program.hpp"

namespace hiris::litmus {

/// How rank 0 tells. `pushed` data are stored into the peers' memory, others stay with rank 0.
enum class sender {
  notify,              ///< A thread, plain stores to its own memory.
  notify_peer_stores,  ///< A thread, pushed.
  wave,                ///< A wave, pushed.
  block,               ///< A workgroup, plain stores to its own memory.
  block_peer_stores,   ///< A workgroup, pushed.
  release,             ///< A thread, plain stores, a releasing atomic.
  fence,               ///< A thread, plain stores, a release fence, a relaxed atomic.
  quiet,               ///< A thread, pushed, `quiet`, a relaxed atomic.
  wave_quiet,          ///< A wave, pushed, `wave_quiet`, a relaxed atomic of one lane.
  block_quiet          ///< A workgroup, pushed, `block_quiet`, a relaxed atomic of one thread.
};

/// How the peers wait. All threads of the workgroup look at what others of it than the one that
/// waited were sent.
enum class receiver {
  block,    ///< `block_wait_until`.
  thread,   ///< `wait_until` by one thread, then a workgroup barrier.
  acquire,  ///< A thread polls with acquiring loads, then a workgroup barrier.
  fence     ///< A thread polls relaxed, an acquire fence, then a workgroup barrier.
};

template <sender How>
inline constexpr bool is_pushed =
    How == sender::notify_peer_stores || How == sender::wave || How == sender::block_peer_stores ||
    How == sender::quiet || How == sender::wave_quiet || How == sender::block_quiet;

/// All that the calling thread, wave or workgroup stores in a round.
template <sender How>
HIRIS_DEVICE void store_payload(const program& p, int round, int first, int step, int count) {
  for (int i = first; i < count; i += step)
    if constexpr (!is_pushed<How>)
      platform::store_global(p.data + i, payload(round, i));
    else
      for (int peer = 1; peer < p.ctx.size; ++peer)
        store(p.ctx, p.data + i, payload(round, i), peer);
}

/// Rank 0's part of a round, all threads.
template <sender How>
HIRIS_DEVICE void send(const program& p, signal_counter* ready, std::uint64_t* flag, int round,
                       int count) {
  const context& ctx = p.ctx;
  const int t = platform::thread_rank();
  const auto value = static_cast<std::uint64_t>(round);
  if constexpr (How == sender::block || How == sender::block_peer_stores) {
    store_payload<How>(p, round, t, platform::block_threads(), count);
    for (int peer = 1; peer < ctx.size; ++peer)
      if (How == sender::block)
        block_notify(ctx, ready, peer);
      else
        block_notify_peer_stores(ctx, ready, peer);
  } else if constexpr (How == sender::block_quiet) {
    store_payload<How>(p, round, t, platform::block_threads(), count);
    block_quiet();
    for (int peer = 1; peer < ctx.size; ++peer)
      if (t == 0) atomic_xchg<order::relaxed>(ctx, flag, value, peer);
  } else if constexpr (How == sender::wave || How == sender::wave_quiet) {
    if (platform::wave_rank() != 1) return;
    store_payload<How>(p, round, platform::lane_rank(), platform::wave_size, count);
    if (How == sender::wave_quiet) wave_quiet();
    for (int peer = 1; peer < ctx.size; ++peer)
      if (How == sender::wave)
        wave_notify_peer_stores(ctx, ready, peer);
      else if (platform::lane_rank() == 0)
        atomic_xchg<order::relaxed>(ctx, flag, value, peer);
  } else {
    if (t != 77) return;
    store_payload<How>(p, round, 0, 1, count);
    if (How == sender::quiet) quiet();
    if (How == sender::fence) fence<order::release, scope::system>();
    for (int peer = 1; peer < ctx.size; ++peer)
      if (How == sender::notify)
        notify(ctx, ready, peer);
      else if (How == sender::notify_peer_stores)
        notify_peer_stores(ctx, ready, peer);
      else if (How == sender::release)
        atomic_xchg<order::release>(ctx, flag, value, peer);
      else
        atomic_xchg<order::relaxed>(ctx, flag, value, peer);
  }
}

/// A peer's wait, all threads.
template <receiver Who>
HIRIS_DEVICE bool receive(const program& p, const signal_counter* ready, const std::uint64_t* flag,
                          int round, int from) {
  const auto target = static_cast<std::uint64_t>(round);
  if constexpr (Who == receiver::block)
    return block_wait_until(p.ctx, ready, target, from) == wait_status::ok;
  bool late = false;
  if (platform::thread_rank() == 5) {
    if constexpr (Who == receiver::thread) {
      late = wait_until(p.ctx, ready, target, from) != wait_status::ok;
    } else if constexpr (Who == receiver::acquire) {
      poll_word<order::acquire, scope::system>(p, flag, target);
    } else {
      poll_word<order::relaxed, scope::system>(p, flag, target);
      fence<order::acquire, scope::system>();
    }
  }
  return !platform::block_any(late);
}

template <sender How, receiver Who>
struct message_passing : one_block {
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const ready = p.signals + ctx.size;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      if (ctx.rank == 0) {
        send<How>(p, ready, p.word(0), round, block_threads);
      } else {
        if (!receive<Who>(p, ready, p.word(0), round, 0)) return;
        const int* const at = is_pushed<How> ? p.data : ctx.on(0, p.data);
        const int other = (t + 65) % block_threads;  // stored by another wave
        forbid(p, platform::load_global(at + other) != payload(round, other));
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

/// Every wave of every workgroup of the other ranks adds to one signal of rank 0, after data of its
/// own. The count is the number of them, and all data are there. Rank 0 tells when it has read.
struct many_to_one : one_block {
  static constexpr int blocks = 2;
  static int elems(int ranks) { return ranks * blocks * block_threads; }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const ready = p.signals + ctx.size;
    signal_counter* const read = ready + 1;
    const int threads = blocks * block_threads;
    const int mine = p.block * block_threads + platform::thread_rank();
    const int waves = threads / platform::wave_size * (ctx.size - 1);
    for (int round = 1; round <= p.rounds; ++round) {
      if (ctx.rank != 0) {
        const auto all_read = static_cast<std::uint64_t>((round - 1) * blocks);
        if (block_wait_until(ctx, read, all_read, 0) != wait_status::ok) return;
        const int at = ctx.rank * threads + mine;
        store(ctx, p.data + at, payload(round, at), 0);
        wave_notify_peer_stores(ctx, ready, 0);
      } else {
        const auto all = static_cast<std::uint64_t>(round) * static_cast<std::uint64_t>(waves);
        if (block_wait_until(ctx, ready, all, any_rank) != wait_status::ok) return;
        if (platform::thread_rank() == 0)
          forbid(p, platform::atomic_load<order::relaxed, scope::system>(&ready->arrivals) != all);
        for (int at = threads + mine; at < ctx.size * threads; at += threads)
          forbid(p, platform::load_global(p.data + at) != payload(round, at));
        for (int peer = 1; peer < ctx.size; ++peer) block_notify(ctx, read, peer);
      }
    }
    finish(p);
  }
};

/// Order is a peer's own: rank 0 stores to each peer and tells it, one after the other, with no
/// `quiet` in between; each sees its own data.
struct peer_by_peer : one_block {
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const ready = p.signals + ctx.size;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      if (ctx.rank == 0) {
        for (int peer = 1; peer < ctx.size; ++peer) {
          store(ctx, p.data + t, payload(round, t + peer), peer);
          block_notify_peer_stores(ctx, ready, peer);
        }
      } else {
        const auto target = static_cast<std::uint64_t>(round);
        if (block_wait_until(ctx, ready, target, 0) != wait_status::ok) return;
        const int other = (t + 65) % block_threads;
        forbid(p, platform::load_global(p.data + other) != payload(round, other + ctx.rank));
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

/// ISA2. Rank 0 stores to rank 2 and tells rank 1; rank 1 tells rank 2; rank 2 sees what rank 0
/// stored. `How` is how rank 0 tells: a notify, or `block_quiet` and a relaxed atomic.
template <sender How>
struct handed_on : one_block {
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const first = p.signals + ctx.size;
    signal_counter* const second = first + 1;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const auto target = static_cast<std::uint64_t>(round);
      if (ctx.rank == 0) {
        store(ctx, p.data + t, payload(round, t), 2);
        if constexpr (How == sender::block_quiet) {
          block_quiet();
          if (t == 0) atomic_xchg<order::relaxed>(ctx, p.word(0), target, 1);
        } else {
          block_notify_peer_stores(ctx, first, 1);
        }
      } else if (ctx.rank == 1) {
        constexpr receiver who = How == sender::block_quiet ? receiver::fence : receiver::block;
        if (!receive<who>(p, first, p.word(0), round, 0)) return;
        block_notify(ctx, second, 2);
      } else {
        if (block_wait_until(ctx, second, target, 1) != wait_status::ok) return;
        const int other = (t + 65) % block_threads;
        forbid(p, platform::load_global(p.data + other) != payload(round, other));
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

/// Rank 0 fills two slots in turn; the peers, which are slow, tell when they have read one. No
/// barrier of all.
struct slow_readers : one_block {
  static int elems(int /*ranks*/) { return 2 * block_threads; }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    signal_counter* const ready = p.signals + ctx.size;
    signal_counter* const read = p.signals;  // [size] on rank 0, one a peer
    const int t = platform::thread_rank();
    for (int round = 1; round <= p.rounds; ++round) {
      int* const slot = p.data + round % 2 * block_threads;
      if (ctx.rank == 0) {
        const auto free = static_cast<std::uint64_t>(round > 2 ? round - 2 : 0);
        for (int peer = 1; peer < ctx.size; ++peer) {
          if (block_wait_until(ctx, read + peer, free, peer) != wait_status::ok) return;
          store(ctx, slot + t, payload(round, t), peer);
          block_notify_peer_stores(ctx, ready, peer);
        }
      } else {
        const auto target = static_cast<std::uint64_t>(round);
        if (block_wait_until(ctx, ready, target, 0) != wait_status::ok) return;
        for (int i = 0; i < 20 * ctx.rank; ++i) platform::pause();
        const int other = (t + 65) % block_threads;
        forbid(p, platform::load_global(slot + other) != payload(round, other));
        block_notify(ctx, read + ctx.rank, 0);
      }
    }
    finish(p);
  }
};

}  // namespace hiris::litmus
