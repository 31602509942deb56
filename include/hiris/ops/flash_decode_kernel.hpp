// SPDX-License-Identifier: MIT
/// @file
/// Attention of one group of query heads over one split of a rank's keys, and how splits and ranks
/// come together: the one main loop of Flash Decode.
///
/// A workgroup walks steps of 64 keys. One buffer of shared memory holds the keys of a
/// step and then its values; the loads of the one are in flight while the other is used:
///
///     keys to shared | issue values | meet | scores | meet | values to shared | issue next keys |
///     softmax | meet | add weights x values | meet
///
/// Scores are summed in fp32, the softmax is fp32 and to base 2 with the scale folded in. The
/// workgroup that completes the last split of a group merges the splits, in order, and publishes
/// the record. A fused journey then combines in the same launch: each workgroup first makes all
/// that it makes, and only then waits, so that no wait of any rank can depend on itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/comm/partials_policies.hpp"
#include "hiris/ops/flash_decode_combine.hpp"
#include "hiris/ops/flash_decode_fold.hpp"
#include "hiris/ops/flash_decode_loader.hpp"
#include "hiris/ops/flash_decode_plan.hpp"
#include "hiris/ops/flash_decode_report.hpp"
#include "hiris/ops/flash_decode_softmax.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/mma.hpp"
#include "hiris/signal.hpp"

namespace hiris {

/// What a rank attends to, in its device memory.
template <class T>
struct decode_inputs {
  const T* q;                      ///< [batch, q_heads, head_dim]
  const T* k;                      ///< [batch, kv_heads, max_kv_len, head_dim], or a pool of pages
  const T* v;                      ///< [pages, page_size, kv_heads, head_dim].
  const std::int32_t* table;       ///< [batch, max_pages]; null: the cache is contiguous.
  const std::int32_t* kv_lengths;  ///< [batch]
  int max_kv_len, page_size, max_pages, pages;
};

/// Attends, merges the splits, publishes; combines, if the journey is fused.
///
/// @tparam HeadDim Largest head_dim: a multiple of 64.
/// @tparam Journey comm::partials_kept or comm::partials_fused.
template <class T, int HeadDim, class Journey>
struct flash_decode_kernel {
  static constexpr int block_threads = 256;
  /// Two workgroups a compute unit hide each other's waits, where workgroup memory has room for
  /// two.
  static constexpr int min_blocks_per_unit = HeadDim <= 128 ? 2 : 1;

  struct params {
    comm::partial_exchange x;
    flash_decode_plan plan;
    decode_inputs<T> in;
    decode_output<T> to;
    score_scale scale;
    std::uint64_t* split_done;  ///< [groups] splits completed, over all calls. The word in front
                                ///< of them: the claim of the report.
    float* split_records;       ///< [groups, splits, record_floats]
    decode_report* report;      ///< In host memory.
  };
  struct shared {
    platform::vec16 q[std::size_t{decode_rows * HeadDim / 8}];
    platform::vec16 tile[std::size_t{decode_keys * HeadDim / 8}];
    decode_weights<T, block_threads> weights;
    std::int64_t row_at[2][std::size_t{decode_keys}];
    int chosen;
  };

  static HIRIS_DEVICE void run(const params& p, shared& s) {
    Journey journey(p.x);
    const int items = p.plan.groups * p.plan.splits;
    for (int item = platform::block_rank(); item < items; item += platform::block_count()) {
      const int group = item / p.plan.splits;
      if (make_part(p, s, journey, group, item - group * p.plan.splits) != wait_status::ok) return;
    }
    if constexpr (Journey::ships_within) {
      for (int g = platform::block_rank(); g < p.plan.groups; g += platform::block_count())
        if (combine_group<HeadDim, block_threads>(journey, p.to, p.plan, p.x.ctx, g, s.chosen) !=
            wait_status::ok)
          return;  // recorded; the host throws it
      journey.finish(platform::block_count());
    }
  }

 private:
  using atom = platform::mma_atom<T, 16, 16>;
  static constexpr int atom_chunks = atom::k / 8;
  static constexpr int waves = block_threads / platform::wave_size;
  static constexpr int atoms = HeadDim / atom::n;              ///< Of the output, along head_dim.
  static constexpr int columns = (atoms + waves - 1) / waves;  ///< Of them, how many a wave holds.

  /// One split of a group; if it is the last to be completed, the group's record, too.
  static HIRIS_DEVICE wait_status make_part(const params& p, shared& s, Journey& journey, int group,
                                            int split) {
    const flash_decode_plan& d = p.plan;
    const decode_group at = group_at(d, group);
    float* const whole = journey.own(group);
    float* const parts = p.split_records + std::int64_t{group} * d.splits * d.record_floats;
    attend(p, s, at, split, d.splits == 1 ? whole : parts + std::int64_t{split} * d.record_floats);
    if (d.splits > 1) {
      platform::drain_stores();
      const std::uint64_t calls = journey.epoch() - p.x.words.first;
      if (!comm::block_completes(p.split_done + group,
                                 calls * static_cast<std::uint64_t>(d.splits)))
        return wait_status::ok;
      partial_fold<HeadDim, block_threads> fold(d, at.rows);
      HIRIS_NO_UNROLL
      for (int i = 0; i < d.splits; ++i) fold.add(parts + std::int64_t{i} * d.record_floats);
      store_record(fold, d, whole);
    }
    platform::block_sync();
    return journey.publish(group);
  }

  /// Writes the record of a split. All have met since shared memory was used last.
  static HIRIS_DEVICE void attend(const params& p, shared& s, const decode_group& at, int split,
                                  float* record) {
    const flash_decode_plan& d = p.plan;
    const int length = length_of(p, at.sequence);
    const int steps_of_all = (length + decode_keys - 1) / decode_keys;
    const int steps = (steps_of_all + d.splits - 1) / d.splits;
    const int first = split * steps * decode_keys;
    const int end = first + steps * decode_keys < length ? first + steps * decode_keys : length;
    s.weights.clear();
    typename atom::c_fragment sum[std::size_t{columns}];
    HIRIS_UNROLL
    for (int j = 0; j < columns; ++j) sum[j] = atom::zero();
    if (first < end) {
      load_queries(p, s, at);
      locate(p, s.row_at[0], at, first, end);
    }
    platform::block_sync();
    if (first < end) walk(p, s, at, first, end, sum);
    s.weights.finish(at.rows, record);
    platform::block_sync();
    store(s, d, at.rows, record, sum);
  }

  static HIRIS_DEVICE void walk(const params& p, shared& s, const decode_group& at, int first,
                                int end, typename atom::c_fragment (&sum)[std::size_t{columns}]) {
    const int chunks = p.plan.head_dim / 8;
    key_loader<T, HeadDim, block_threads> keys;
    value_loader<T, HeadDim, block_threads> values;
    keys.prefetch(p.in.k, s.row_at[0], chunks);
    int turn = 0;
    for (int key = first; key < end; key += decode_keys, turn ^= 1) {
      keys.commit(s.tile);
      values.prefetch(p.in.v, s.row_at[turn], chunks);
      const bool more = key + decode_keys < end;
      if (more) locate(p, s.row_at[turn ^ 1], at, key + decode_keys, end);
      platform::block_sync();
      score(s);
      platform::block_sync();
      values.commit(s.tile);
      if (more) keys.prefetch(p.in.k, s.row_at[turn ^ 1], chunks);
      s.weights.softmax(p.scale, end - key);
      platform::block_sync();
      add_values(s, sum);
      platform::block_sync();
    }
  }

  /// Scores of 16 keys a wave: [16 rows, HeadDim] by [HeadDim, 16 keys].
  static HIRIS_DEVICE void score(shared& s) {
    const int first_key = platform::wave_rank() * atom::n;
    if (first_key >= decode_keys) return;
    typename atom::c_fragment scores = atom::zero();
    HIRIS_NO_UNROLL
    for (int k = 0; k < HeadDim / atom::k; ++k) {
      const auto a = atom::load_a([&](int row, int chunk) {
        return &s.q[panel_slot<decode_rows>(row, k * atom_chunks + chunk)];
      });
      const auto b = atom::load_b([&](int col, int chunk) {
        return &s.tile[panel_slot<decode_keys>(first_key + col, k * atom_chunks + chunk)];
      });
      atom::multiply_add(scores, a, b);
    }
    atom::for_each(scores, [&](int row, int col, float value) {
      s.weights.set_score(row, first_key + col, value);
    });
  }

  /// A part of head_dim a wave: [16 rows, 64 keys] by [64 keys, columns x 16].
  static HIRIS_DEVICE void add_values(shared& s,
                                      typename atom::c_fragment (&sum)[std::size_t{columns}]) {
    const int first_col = platform::wave_rank() * (columns * atom::n);
    if (first_col >= HeadDim) return;
    HIRIS_UNROLL
    for (int j = 0; j < columns; ++j)
      atom::transform(sum[j], [&](int row, int, float v) { return v * s.weights.factor(row); });
    HIRIS_UNROLL
    for (int k = 0; k < decode_keys / atom::k; ++k) {
      const auto a = atom::load_a(
          [&](int row, int chunk) { return s.weights.weight_chunk(row, k * atom_chunks + chunk); });
      HIRIS_UNROLL
      for (int j = 0; j < columns; ++j) {
        const auto b = atom::load_b([&](int col, int chunk) {
          return &s.tile[panel_slot<HeadDim>(first_col + j * atom::n + col,
                                             k * atom_chunks + chunk)];
        });
        atom::multiply_add(sum[j], a, b);
      }
    }
  }

  static HIRIS_DEVICE void store(const shared& s, const flash_decode_plan& d, int rows,
                                 float* record,
                                 const typename atom::c_fragment (&sum)[std::size_t{columns}]) {
    const int first_col = platform::wave_rank() * (columns * atom::n);
    if (first_col >= HeadDim) return;
    HIRIS_UNROLL
    for (int j = 0; j < columns; ++j)
      atom::for_each(sum[j], [&](int row, int col, float value) {
        const int column = first_col + j * atom::n + col;
        if (row < rows && column < d.head_dim)
          platform::store_global(record + d.lse_floats + row * d.head_dim + column,
                                 value * s.weights.factor(row));
      });
  }

  static HIRIS_DEVICE void load_queries(const params& p, shared& s, const decode_group& at) {
    constexpr int of_row = HeadDim / 8;
    const flash_decode_plan& d = p.plan;
    const T* const from =
        p.in.q + (std::int64_t{at.sequence} * d.q_heads + at.first_head) * d.head_dim;
    for (int i = platform::thread_rank(); i < decode_rows * of_row; i += block_threads) {
      const int row = i / of_row;
      const int chunk = i % of_row;
      s.q[panel_slot<decode_rows>(row, chunk)] =
          row < at.rows && chunk < d.head_dim / 8
              ? tile::load_chunk(from + std::int64_t{row} * d.head_dim + chunk * 8)
              : tile::zero_chunk();
    }
  }

  static HIRIS_DEVICE int length_of(const params& p, int sequence) {
    const int given = platform::wave_uniform(platform::load_global(p.in.kv_lengths + sequence));
    if (given >= 0 && given <= p.in.max_kv_len) return given;
    if (platform::thread_rank() == 0)
      report_bad_input(p.report, p.split_done - 1, decode_fault::length, sequence, given,
                       p.in.max_kv_len);
    return given < 0 ? 0 : p.in.max_kv_len;
  }

  /// Where the rows of a step lie in the cache. Meet before they are read.
  static HIRIS_DEVICE void locate(const params& p, std::int64_t* row_at, const decode_group& at,
                                  int first, int end) {
    const int thread = platform::thread_rank();
    if (thread >= decode_keys) return;
    const flash_decode_plan& d = p.plan;
    const int key = first + thread;
    std::int64_t row = no_row;
    if (key < end && p.in.table == nullptr) {
      row = (std::int64_t{at.sequence} * d.kv_heads + at.kv_head) * p.in.max_kv_len + key;
    } else if (key < end) {
      const int column = key / p.in.page_size;
      const int page =
          platform::load_global(p.in.table + std::int64_t{at.sequence} * p.in.max_pages + column);
      if (page >= 0 && page < p.in.pages)
        row = (std::int64_t{page} * p.in.page_size + (key - column * p.in.page_size)) * d.kv_heads +
              at.kv_head;
      else
        report_bad_input(p.report, p.split_done - 1, decode_fault::page, at.sequence, page,
                         p.in.pages - 1);
    }
    row_at[thread] = row == no_row ? no_row : row * d.head_dim;
  }
};

}  // namespace hiris
