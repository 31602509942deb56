// SPDX-License-Identifier: MIT
/// @file
/// Merges partial results of attention: of the splits of a rank, and of the ranks.
///
/// A record has for each row a vector, already divided by its sum of weights, and the log-sum-exp
/// of its scores to base 2, both fp32. Two merge into
///
///     lse = log2(2^a + 2^b),    o = 2^(a - lse) o_a + 2^(b - lse) o_b
///
/// which is associative and commutative but for rounding; (anything, -inf) is its neutral element,
/// to the bit. The vector of a neutral record is never looked at.
///
/// **Rounding.** With e = 2^-24, exp2 and log2 good to 2 ulp, and v the largest |element| of the
/// records in a column, a fold of n records is off by at most (13 n + 4) e v in its vector and
/// (12 n + |lse|) e in its log-sum-exp, in whatever order: each of n steps multiplies and adds once
/// and rounds a weight 2^x by 4 e and by ln(2) |x| e of its argument, in numerator and denominator
/// alike. Where the records are such results themselves, off by x in their log-sum-exps and y v in
/// their vectors, x and (y + 2 ln(2) x) v come on top. So two merges of the same records, in any
/// order and any bracketing, differ by no more than the sum of their bounds; in the same order and
/// bracketing they have the same bits.
///
///     partial_fold<128, 256> fold(plan, rows);
///     fold.add(record);  fold.add(other);
///     fold.for_each([&](int row, int column, const float (&value)[4], float lse) { ... });
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "hiris/ops/flash_decode_plan.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/math.hpp"

namespace hiris {

/// Logarithm of nothing.
inline constexpr float no_lse = -std::numeric_limits<float>::infinity();

/// A workgroup's merge of records: each thread holds quads of four columns of a row.
///
/// @tparam MaxDim  Largest head_dim. @tparam Threads Of the workgroup.
template <int MaxDim, int Threads>
class partial_fold {
 public:
  /// @param rows Rows that are real.
  HIRIS_DEVICE partial_fold(const flash_decode_plan& d, int rows)
      : row_quads_(d.head_dim / 4), quads_(rows * row_quads_), lse_floats_(d.lse_floats) {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      part_[i] = {};
      part_[i].most = no_lse;
    }
  }

  /// Merges a record in. Caller: each thread for itself.
  HIRIS_DEVICE void add(const float* record) {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int quad = platform::thread_rank() + i * Threads;
      if (quad < quads_) merge(part_[i], record, quad);
    }
  }

  /// Calls f(row, column, four values, log-sum-exp to base 2) for the quads of this thread. Where
  /// there was no key at all, the values are 0 and the logarithm is -inf.
  template <class F>
  HIRIS_DEVICE void for_each(F f) const {
    HIRIS_UNROLL
    for (int i = 0; i < each; ++i) {
      const int quad = platform::thread_rank() + i * Threads;
      if (quad >= quads_) continue;
      const part& p = part_[i];
      const float inverse = p.sum > 0 ? 1.0f / p.sum : 0.0f;
      const float value[4] = {p.value[0] * inverse, p.value[1] * inverse, p.value[2] * inverse,
                              p.value[3] * inverse};
      const float lse = p.sum > 0 ? p.most + platform::log2(p.sum) : no_lse;
      const int row = quad / row_quads_;
      f(row, (quad - row * row_quads_) * 4, value, lse);
    }
  }

 private:
  static constexpr int each = (decode_rows * MaxDim / 4 + Threads - 1) / Threads;
  struct part {
    float most;      ///< Largest log-sum-exp so far.
    float sum;       ///< Sum of 2^(lse - most).
    float value[4];  ///< Sum of 2^(lse - most) times the vectors.
  };

  HIRIS_DEVICE void merge(part& p, const float* record, int quad) const {
    const float lse = platform::load_global(record + quad / row_quads_);
    if (lse == no_lse) return;
    const platform::vec16 bits = platform::load_global(
        reinterpret_cast<const platform::vec16*>(record + lse_floats_ + quad * 4));
    const float most = lse > p.most ? lse : p.most;
    const float keep = platform::exp2(p.most - most);
    const float weight = platform::exp2(lse - most);
    p.most = most;
    p.sum = p.sum * keep + weight;
    HIRIS_UNROLL
    for (int e = 0; e < 4; ++e)
      p.value[e] = p.value[e] * keep + weight * detail::float_of(bits.word[e]);
  }

  int row_quads_, quads_, lse_floats_;
  part part_[std::size_t{each}];
};

/// Writes a fold as a record. Caller: all threads of the workgroup that folded.
template <class Fold>
HIRIS_DEVICE void store_record(const Fold& fold, const flash_decode_plan& d, float* record) {
  fold.for_each([&](int row, int column, const float(&value)[4], float lse) {
    platform::vec16 bits;
    for (int e = 0; e < 4; ++e) bits.word[e] = detail::bits_of(value[e]);
    platform::store_global(
        reinterpret_cast<platform::vec16*>(record + d.lse_floats + row * d.head_dim + column),
        bits);
    if (column == 0) platform::store_global(record + row, lse);
  });
}

}  // namespace hiris
