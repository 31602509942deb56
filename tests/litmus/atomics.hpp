// SPDX-License-Identifier: MIT
/// @file
/// Message passing by each of the atomic operations: its release sends, its acquire receives.
#pragma once

#include <cstdint>

#include "litmus/program.hpp"

namespace hiris::litmus {

/// Operations that an atomic word knows. `sub_number`: of floating point, which is an addition.
enum class operation { add, sub, sub_number, inc, min, max, and_, or_, xor_, xchg, cas };

template <operation Op>
struct word_of {
  using type = std::uint64_t;
};
template <>
struct word_of<operation::sub_number> {
  using type = double;
};

/// Rank 0 stores plainly, and changes a word of each peer by the operation, releasing. A peer polls
/// relaxed until the word has changed, and carries out the same operation, acquiring: it sees the
/// data. Then it puts the word back.
template <operation Op>
struct passing_by : one_block {
  using word = typename word_of<Op>::type;
  static constexpr bool goes_down = Op == operation::min || Op == operation::and_;

  static HIRIS_DEVICE std::uint64_t untouched() { return goes_down ? ~std::uint64_t{0} : 0; }

  template <order Order>
  static HIRIS_DEVICE void change(const context& ctx, word* at, int to) {
    if constexpr (Op == operation::add)
      atomic_add<Order>(ctx, at, 1, to);
    else if constexpr (Op == operation::sub || Op == operation::sub_number)
      atomic_sub<Order>(ctx, at, 1, to);
    else if constexpr (Op == operation::inc)
      atomic_inc<Order>(ctx, at, to);
    else if constexpr (Op == operation::min)
      atomic_min<Order>(ctx, at, 1, to);
    else if constexpr (Op == operation::max)
      atomic_max<Order>(ctx, at, 1, to);
    else if constexpr (Op == operation::and_)
      atomic_and<Order>(ctx, at, 1, to);
    else if constexpr (Op == operation::or_)
      atomic_or<Order>(ctx, at, 1, to);
    else if constexpr (Op == operation::xor_)
      atomic_xor<Order>(ctx, at, 1, to);
    else if constexpr (Op == operation::xchg)
      atomic_xchg<Order>(ctx, at, 1, to);
    else
      atomic_cas<Order>(ctx, at, 0, 1, to);
  }

  static HIRIS_DEVICE void run(const program& p, one_block::shared&) {
    const context& ctx = p.ctx;
    std::uint64_t* const bits = p.word(0);
    word* const at = (word*)bits;
    const int t = platform::thread_rank();
    std::uint64_t epoch = 0;
    if (t == 5) platform::atomic_store<order::relaxed, scope::system>(bits, untouched());
    if (!next_round(p, epoch)) return;
    for (int round = 1; round <= p.rounds; ++round) {
      if (ctx.rank == 0 && t == 77) {
        for (int i = 0; i < block_threads; ++i)
          platform::store_global(p.data + i, payload(round, i));
        for (int peer = 1; peer < ctx.size; ++peer) change<order::release>(ctx, at, peer);
      } else if (ctx.rank != 0) {
        if (t == 5) {
          await_change(p, bits);
          change<order::acquire>(ctx, at, ctx.rank);
        }
        platform::block_sync();
        forbid(p, platform::load_global(ctx.on(0, p.data) + t) != payload(round, t));
        if (t == 5) platform::atomic_store<order::relaxed, scope::system>(bits, untouched());
      }
      if (!next_round(p, epoch)) return;
    }
    finish(p);
  }

  /// Bounded. Caller: a thread.
  static HIRIS_DEVICE void await_change(const program& p, const std::uint64_t* bits) {
    const std::uint64_t start_ns = platform::clock_ns();
    while (platform::atomic_load<order::relaxed, scope::system>(bits) == untouched()) {
      if (platform::clock_ns() - start_ns > p.ctx.budget_ns) return forbid(p, true);
      platform::pause();
    }
  }
};

}  // namespace hiris::litmus
