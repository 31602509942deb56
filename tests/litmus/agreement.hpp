// SPDX-License-Identifier: MIT
/// @file
/// What all must agree on: store buffering (SB), load buffering (LB), independent reads of
/// independent writes (IRIW), coherence of one word; and what the scope of a device carries.
#pragma once

#include <cstdint>

#include "litmus/program.hpp"

namespace hiris::litmus {

/// Where the word lies that a rank stores to.
enum class place { own_memory, peer_memory };

/// SB. Both ranks store to a word each, fence, and look at the other's: not both can have seen the
/// old value. Only seq_cst fences promise it; `Fenced` false is the program without, which may see
/// it.
template <bool Fenced, place At>
struct store_buffering : one_block {
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    constexpr auto relaxed = order::relaxed;
    constexpr auto system = scope::system;
    std::uint64_t* const on_peer = ctx.on(1 - ctx.rank, p.word(0));
    std::uint64_t* const mine = At == place::own_memory ? p.word(0) : on_peer;
    const std::uint64_t* const others = At == place::own_memory ? on_peer : p.word(0);
    std::uint64_t* const seen = p.word(1);  // what this rank saw of the other's word
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      if (platform::thread_rank() == 0) {
        platform::atomic_store<relaxed, system>(mine, value);
        if (Fenced) fence<order::seq_cst, system>();
        const std::uint64_t other = platform::atomic_load<relaxed, system>(others);
        platform::atomic_store<relaxed, system>(seen, other);
      }
      if (!next_round(p, epoch)) return;
      if (platform::thread_rank() == 0) {
        const std::uint64_t theirs =
            platform::atomic_load<relaxed, system>(ctx.on(1 - ctx.rank, seen));
        const std::uint64_t ours = platform::atomic_load<relaxed, system>(seen);
        forbid(p, theirs != value && ours != value);
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

/// LB. Each rank loads the other's word, acquiring, then stores its own, releasing: not both can
/// have seen what the other stored after.
struct load_buffering : one_block {
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    constexpr auto relaxed = order::relaxed;
    constexpr auto system = scope::system;
    std::uint64_t* const seen = p.word(1);
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      if (platform::thread_rank() == 0) {
        const std::uint64_t other =
            platform::atomic_load<order::acquire, system>(ctx.on(1 - ctx.rank, p.word(0)));
        platform::atomic_store<order::release, system>(p.word(0), value);
        platform::atomic_store<relaxed, system>(seen, other);
      }
      if (!next_round(p, epoch)) return;
      if (platform::thread_rank() == 0) {
        const std::uint64_t theirs =
            platform::atomic_load<relaxed, system>(ctx.on(1 - ctx.rank, seen));
        const std::uint64_t ours = platform::atomic_load<relaxed, system>(seen);
        forbid(p, theirs == value && ours == value);
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

/// IRIW. Ranks 0 and 1 write a word each; ranks 2 and 3 read both in opposite order, with seq_cst
/// fences between: they agree which came first.
struct independent_reads : one_block {
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    constexpr auto relaxed = order::relaxed;
    constexpr auto system = scope::system;
    std::uint64_t* const x = ctx.on(0, p.word(0));
    std::uint64_t* const y = ctx.on(1, p.word(0));
    std::uint64_t* const late = p.word(1);  // the second read was old although the first was new
    std::uint64_t epoch = 0;
    for (int round = 1; round <= p.rounds; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      if (platform::thread_rank() == 0) {
        if (ctx.rank < 2) {
          platform::atomic_store<relaxed, system>(p.word(0), value);
        } else {
          const std::uint64_t first = platform::atomic_load<relaxed, system>(ctx.rank == 2 ? x : y);
          fence<order::seq_cst, system>();
          const std::uint64_t second =
              platform::atomic_load<relaxed, system>(ctx.rank == 2 ? y : x);
          platform::atomic_store<relaxed, system>(
              late, first == value && second != value ? value : std::uint64_t{0});
        }
      }
      if (!next_round(p, epoch)) return;
      if (ctx.rank == 2 && platform::thread_rank() == 0)
        forbid(p, platform::atomic_load<relaxed, system>(late) == value &&
                      platform::atomic_load<relaxed, system>(ctx.on(3, late)) == value);
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }
};

/// CoRR and CoWR. A count that only goes up is never seen to go down, by relaxed loads of any rank,
/// and a rank sees its own last addition. At the end no addition is lost.
struct coherence : one_block {
  static constexpr int additions_a_round = 6;
  static HIRIS_DEVICE void run(const program& p, shared&) {
    const context& ctx = p.ctx;
    std::uint64_t* const count = ctx.on(0, p.word(0));
    std::uint64_t epoch = 0;
    if (platform::thread_rank() == 0) {
      std::uint64_t last = 0;
      for (int i = 0; i < additions_a_round * p.rounds; ++i) {
        const std::uint64_t before = atomic_add<order::relaxed>(ctx, p.word(0), 1, 0);
        forbid(p, before < last);
        last = before + 1;
        for (int look = 0; look < 7; ++look) {
          const std::uint64_t now = platform::atomic_load<order::relaxed, scope::system>(count);
          forbid(p, now < last);
          last = now;
        }
      }
    }
    if (!next_round(p, epoch)) return;
    const auto all = static_cast<std::uint64_t>(additions_a_round * p.rounds * ctx.size);
    if (platform::thread_rank() == 0)
      forbid(p, platform::atomic_load<order::relaxed, scope::system>(count) != all);
    finish(p);
  }
};

/// What orders the two sides of `within`.
enum class means {
  loads,    ///< A releasing atomic; loads that acquire.
  atomics,  ///< A releasing atomic; relaxed loads, then an atomic that acquires.
  fences    ///< A release fence, a relaxed atomic; relaxed loads, then an acquire fence.
};

/// MP within a device, between two workgroups at agent scope, or within a workgroup, between two
/// waves at its scope: the first stores plainly and adds, the second waits and looks. Each rank for
/// itself.
template <scope S, means By>
struct within : one_block {
  static constexpr int blocks = S == scope::agent ? 2 : 1;

  static HIRIS_DEVICE int side(const program& p) {
    return S == scope::agent ? p.block : platform::wave_rank();
  }
  static HIRIS_DEVICE int threads() {
    return S == scope::agent ? platform::block_threads() : platform::wave_size;
  }
  static HIRIS_DEVICE int rank() { return platform::thread_rank() % threads(); }

  /// All threads of a side meet.
  static HIRIS_DEVICE void meet() {
    if constexpr (S == scope::agent)
      platform::block_sync();
    else
      platform::wave_sync();
  }
  static HIRIS_DEVICE void tell(const program& p, std::uint64_t* word) {
    platform::drain_stores();
    meet();
    if (rank() != 0) return;
    if (By == means::fences) fence<order::release, S>();
    constexpr order how = By == means::fences ? order::relaxed : order::release;
    atomic_add<how, S>(p.ctx, word, 1, p.ctx.rank);
  }
  static HIRIS_DEVICE void await(const program& p, std::uint64_t* word, std::uint64_t target) {
    if (rank() == 0) {
      poll_word<By == means::loads ? order::acquire : order::relaxed, S>(p, word, target);
      if (By == means::atomics) atomic_add<order::acquire, S>(p.ctx, word, 0, p.ctx.rank);
      if (By == means::fences) fence<order::acquire, S>();
    }
    meet();
  }

  static HIRIS_DEVICE void run(const program& p, shared&) {
    std::uint64_t* const sent = p.word(0);
    std::uint64_t* const read = p.word(1);
    for (int round = 1; round <= p.rounds; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      if (side(p) == 0) {
        await(p, read, value - 1);
        platform::store_global(p.data + rank(), payload(round, rank()));
        tell(p, sent);
      } else if (side(p) == 1) {
        await(p, sent, value);
        const int other = (rank() + 65) % threads();
        forbid(p, platform::load_global(p.data + other) != payload(round, other));
        tell(p, read);
      }
    }
    finish(p);
  }
};

}  // namespace hiris::litmus
