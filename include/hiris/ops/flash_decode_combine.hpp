// SPDX-License-Identifier: MIT
/// @file
/// The end of Flash Decode on every rank: the records of all ranks become the output. One code for
/// all variants; the policy knows when a record may be read, and where it lies.
///
///     for (int g = block_rank(); g < plan.groups; g += block_count())
///       status = combine_group<256, 256>(comm, output, plan, ctx, g, shared.chosen);
#pragma once

#include <cstdint>

#include "hiris/comm/partials_policies.hpp"
#include "hiris/context.hpp"
#include "hiris/ops/flash_decode_fold.hpp"
#include "hiris/ops/flash_decode_plan.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/signal.hpp"

namespace hiris {

/// Where the result goes.
template <class T>
struct decode_output {
  T* out;              ///< [batch, q_heads, head_dim]
  float* lse;          ///< [batch, q_heads], natural logarithm; null: not asked for.
  bool deterministic;  ///< Fold in the order of the ranks.
};

/// What a group is.
struct decode_group {
  int sequence;    ///< In the batch.
  int kv_head;     ///< Whose keys it reads.
  int first_head;  ///< Its first query head.
  int rows;        ///< Query heads.
};

/// The group with a number.
HIRIS_DEVICE decode_group group_at(const flash_decode_plan& d, int group) {
  const int head = group / d.groups_a_head;
  const int first = (group - head * d.groups_a_head) * decode_rows;
  const int sequence = head / d.kv_heads;
  const int kv_head = head - sequence * d.kv_heads;
  const int left = d.ratio - first;
  return {sequence, kv_head, kv_head * d.ratio + first, left < decode_rows ? left : decode_rows};
}

namespace detail {

/// Folds the records of all ranks: in rank order, so that every rank gets the same bits, or the own
/// one first and then as they come.
template <class Fold, class Comm>
HIRIS_DEVICE wait_status fold_ranks(Fold& fold, Comm& comm, const context& ctx, bool in_order,
                                    int group, int& chosen) {
  if constexpr (Comm::awaits) {
    if (!in_order && ctx.size <= 64) {
      const wait_status own = comm.ready(ctx.rank, group);
      if (own != wait_status::ok) return own;
      fold.add(comm.record(ctx.rank, group));
      std::uint64_t pending =
          (ctx.size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ctx.size) - 1) &
          ~(std::uint64_t{1} << ctx.rank);
      while (pending != 0) {
        if (platform::thread_rank() == 0) chosen = comm.first_come(group, pending);
        platform::block_sync();
        const int source = platform::wave_uniform(chosen);
        const wait_status status = comm.ready(source, group);
        platform::block_sync();  // all have read `chosen`
        if (status != wait_status::ok) return status;
        fold.add(comm.record(source, group));
        pending &= ~(std::uint64_t{1} << source);
      }
      return wait_status::ok;
    }
  }
  HIRIS_NO_UNROLL
  for (int source = 0; source < ctx.size; ++source) {
    const wait_status status = comm.ready(source, group);
    if (status != wait_status::ok) return status;
    fold.add(comm.record(source, group));
  }
  return wait_status::ok;
}

}  // namespace detail

/// Computes the output of one group.
///
/// Caller   all threads of the workgroup, converged.
///
/// @tparam MaxDim  Largest head_dim. @tparam Threads Of the workgroup.
/// @param chosen   A word of workgroup memory.
template <int MaxDim, int Threads, class T, class Comm>
HIRIS_DEVICE wait_status combine_group(Comm& comm, const decode_output<T>& to,
                                       const flash_decode_plan& d, const context& ctx, int group,
                                       int& chosen) {
  constexpr float ln_2 = 0.693147180559945309f;
  const decode_group at = group_at(d, group);
  partial_fold<MaxDim, Threads> fold(d, at.rows);
  const wait_status status = detail::fold_ranks(fold, comm, ctx, to.deterministic, group, chosen);
  if (status != wait_status::ok) return status;
  const std::int64_t first = std::int64_t{at.sequence} * d.q_heads + at.first_head;
  fold.for_each([&](int row, int column, const float(&value)[4], float lse) {
    std::uint64_t bits = 0;
    for (int e = 0; e < 4; ++e)
      bits |= static_cast<std::uint64_t>(from_float<T>(value[e]).bits) << (16 * e);
    platform::store_global(
        reinterpret_cast<std::uint64_t*>(to.out + (first + row) * d.head_dim + column), bits);
    if (column == 0 && to.lse != nullptr) platform::store_global(to.lse + first + row, lse * ln_2);
  });
  return wait_status::ok;
}

/// Ships this rank's records, for variants that do it in a kernel of its own.
///
/// @tparam Comm A policy of comm/partials_policies.hpp.
template <class Comm>
struct flash_decode_gather_kernel {
  static constexpr int block_threads = 256;
  using params = comm::partial_exchange;
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p);
    for (int item = platform::block_rank(); item < comm.items(); item += platform::block_count())
      if (comm.ship(item) != wait_status::ok) return;  // recorded; the host throws it
    const wait_status end = comm.settle();
    static_cast<void>(end);
  }
};

/// Combines in a kernel of its own.
template <class T, class Comm>
struct flash_decode_combine_kernel {
  static constexpr int block_threads = 256;
  struct params {
    comm::partial_exchange x;
    flash_decode_plan plan;
    decode_output<T> to;
  };
  struct shared {
    int chosen;
  };

  static HIRIS_DEVICE void run(const params& p, shared& s) {
    Comm comm(p.x);
    if constexpr (!Comm::awaits)  // what a wait before it has let through may still be written
      if (block_has_failed(p.x.ctx)) return;
    for (int g = platform::block_rank(); g < p.plan.groups; g += platform::block_count())
      if (combine_group<256, block_threads>(comm, p.to, p.plan, p.x.ctx, g, s.chosen) !=
          wait_status::ok)
        return;  // recorded; the host throws it
    comm.finish(platform::block_count());
  }
};

}  // namespace hiris
