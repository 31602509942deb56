// SPDX-License-Identifier: MIT
/// @file
/// What a Flash Decode is asked to do, how it is going to, and what that costs. Host only, no
/// device needed.
///
///     flash_decode_problem problem{.batch = 1, .q_heads = 96, .kv_heads = 8, .head_dim = 128,
///                                  .max_kv_len = 32768};
///     flash_decode_plan plan = plan_flash_decode(problem, 264);   // places for workgroups
#pragma once

#include <algorithm>
#include <cstdint>

#include "hiris/ops/taxes.hpp"

namespace hiris {

/// How partial results travel between the ranks. See comm/partials_policies.hpp.
enum class flash_decode_variant : std::uint8_t {
  bulk_synchronous,    ///< Attend, gather, barrier of all ranks, combine: four launches; three
                       ///< where a library's all-gather is given for the two in the middle.
  independent_gather,  ///< Attend, all-gather within a kernel, combine: three launches.
  fine_grained,        ///< As before, but the combine waits record by record: three launches.
  fused                ///< The workgroup that completes a record ships it: one launch.
};

/// Name of a variant, e.g. "fine_grained".
inline const char* to_string(flash_decode_variant v) noexcept {
  switch (v) {
    case flash_decode_variant::bulk_synchronous:
      return "bulk_synchronous";
    case flash_decode_variant::independent_gather:
      return "independent_gather";
    case flash_decode_variant::fine_grained:
      return "fine_grained";
    case flash_decode_variant::fused:
      return "fused";
  }
  return "unknown";
}

/// One decode step of attention: out = softmax(cap(scale q K^T)) V over the keys of all ranks.
/// `batch`, heads, `head_dim` and `deterministic` are the same on all ranks.
struct flash_decode_problem {
  std::int64_t batch = 1;       ///< Sequences, 1 to 256.
  std::int64_t q_heads = 1;     ///< Query heads, a multiple of kv_heads.
  std::int64_t kv_heads = 1;    ///< Heads of the cache.
  std::int64_t head_dim = 128;  ///< 64 to 256, a multiple of 16.
  std::int64_t max_kv_len = 0;  ///< Most keys of a sequence on this rank; may differ between ranks.
  std::int64_t page_size = 0;   ///< Keys of a page; 0: the cache is contiguous.
  std::int64_t max_pages = 0;   ///< Columns of the block table.
  std::int64_t pages = 0;       ///< Pages of the pool.
  float scale = 1;              ///< Factor of the scores.
  float soft_cap = 0;           ///< c > 0: scores become c tanh(score / c). 0: they do not.
  bool deterministic = true;    ///< Fold the ranks in order: the same bits on all ranks, always.
};

/// Query heads of one KV head that a workgroup handles at once: rows of a matrix instruction.
inline constexpr int decode_rows = 16;
/// Keys of a step.
inline constexpr int decode_keys = 64;

/// Numbers that follow from a problem. Trivially copyable, part of the kernels' parameters.
struct flash_decode_plan {
  int batch, q_heads, kv_heads, head_dim;
  int ratio;          ///< Query heads a KV head.
  int groups_a_head;  ///< Groups of up to decode_rows query heads, a KV head.
  int groups;         ///< Of all sequences and KV heads: what is reduced on its own.
  int lse_floats;     ///< Floats for log-sum-exps at the begin of a record: its rows, padded to 4.
  int record_floats;  ///< Floats of a partial result of a group: log-sum-exps, then vectors.
  int splits;         ///< Parts into which a rank's keys of a sequence are cut.
};

/// Plans the work of one rank.
///
/// @param places Workgroups that run at once; groups x splits will be about as many.
/// @param wanted Number of splits to use; 0: choose.
inline flash_decode_plan plan_flash_decode(const flash_decode_problem& p, int places,
                                           int wanted = 0) {
  flash_decode_plan d{};
  d.batch = static_cast<int>(p.batch);
  d.q_heads = static_cast<int>(p.q_heads);
  d.kv_heads = static_cast<int>(p.kv_heads);
  d.head_dim = static_cast<int>(p.head_dim);
  d.ratio = d.q_heads / d.kv_heads;
  d.groups_a_head = (d.ratio + decode_rows - 1) / decode_rows;
  d.groups = d.batch * d.kv_heads * d.groups_a_head;
  const int rows = std::min(d.ratio, decode_rows);
  d.lse_floats = (rows + 3) / 4 * 4;
  d.record_floats = d.lse_floats + rows * d.head_dim;
  // At least two steps a split, since each costs a record that is written and read again.
  constexpr std::int64_t most = 256;
  const std::int64_t worthwhile = (p.max_kv_len + 2 * decode_keys - 1) / (2 * decode_keys);
  d.splits = static_cast<int>(
      wanted > 0 ? wanted
                 : std::clamp<std::int64_t>(std::min<std::int64_t>(places / d.groups, worthwhile),
                                            1, most));
  return d;
}

/// The taxes of one call on a rank of `world` that has keys of every sequence. Where it has none,
/// all ranks leave the vectors of its record unread: so many staged bytes less.
///
/// @param library Whether `bulk_synchronous` gathers by a library's call. It counts as a launch
///                that brings every byte once; how it waits and what it copies is its own affair.
inline taxes flash_decode_taxes(const flash_decode_plan& d, flash_decode_variant v, int world,
                                bool library = false) {
  const std::int64_t peers = world - 1;
  const std::int64_t shipped = peers * d.groups * d.record_floats * 4;  // whole records
  const std::int64_t own = std::int64_t{d.batch} * d.q_heads * (1 + d.head_dim) * 4;  // real rows
  const std::int64_t read = peers * own;
  const std::int64_t signals = peers * d.groups;
  if (v == flash_decode_variant::fused)
    return {1, 0, read, shipped, signals + d.groups};  // to its own workgroups, too
  if (peers == 0) return {2, 0, own, 0, 0};
  if (library) return {3, 0, own + read, shipped, 0};
  if (v == flash_decode_variant::bulk_synchronous) return {4, 1, own + read, shipped, 0};
  return {3, 0, own + read, shipped, signals};
}

}  // namespace hiris
