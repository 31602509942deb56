// SPDX-License-Identifier: MIT
/// @file
/// The softmax of a step of 16 x 64 scores in workgroup memory, online: with the largest score so
/// far.
///
/// Scores are fp32 and to base 2. A row is shared by neighbouring lanes of one wave. Weights take
/// the place of the scores, as elements of the type of V, in chunks that the matrix instruction
/// reads.
///
///     weights.clear();
///     ... weights.set_score(row, key, score); meet; weights.softmax(scale, keys); meet;
///     ... use weights.weight_chunk(row, chunk), sums times weights.factor(row); meet; next step
///     weights.finish(rows, lse); meet; use sums times weights.factor(row)
#pragma once

#include <cstddef>
#include <cstdint>

#include "hiris/ops/flash_decode_fold.hpp"
#include "hiris/ops/flash_decode_plan.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/math.hpp"

namespace hiris {

/// How a product of q and k becomes a score to base 2.
struct score_scale {
  float factor;  ///< scale log2(e); with a cap: scale / cap.
  float cap;     ///< cap log2(e); 0: none.

  HIRIS_DEVICE float operator()(float product) const {
    return cap > 0 ? cap * platform::tanh(product * factor) : product * factor;
  }
};

/// See the file. All calls are for all threads of the workgroup, but set_score, weight_chunk and
/// factor for each thread itself.
template <class T, int Threads>
class decode_weights {
 public:
  HIRIS_DEVICE void clear() {
    if (platform::thread_rank() < decode_rows) {
      most_[platform::thread_rank()] = no_lse;
      factor_[platform::thread_rank()] = 1;
    }
    sum_[platform::thread_rank()] = 0;
  }

  HIRIS_DEVICE void set_score(int row, int key, float product) {
    at_[row * stride + key / 4].word[key % 4] = detail::bits_of(product);
  }

  /// Turns scores into weights.
  ///
  /// @param keys Keys that are real, from the first on; the others weigh nothing.
  HIRIS_DEVICE void softmax(const score_scale& scale, int keys) {
    const int row = platform::thread_rank() / threads_a_row;
    const int first = platform::thread_rank() % threads_a_row * each;
    float score[std::size_t{each}];
    const float before = most_[row];
    float most = before;
    HIRIS_UNROLL
    for (int e = 0; e < each; ++e) {
      const int key = first + e;
      const float product = detail::float_of(at_[row * stride + key / 4].word[key % 4]);
      score[e] = key < keys ? scale(product) : no_lse;
      most = score[e] > most ? score[e] : most;
    }
    HIRIS_UNROLL
    for (int mask = 1; mask < threads_a_row; mask *= 2) {
      const float other = platform::wave_shuffle_xor(most, mask);
      most = other > most ? other : most;
    }
    const float base = most == no_lse ? 0 : most;  // all scores -inf: weights 0, not NaN
    const float keep = platform::exp2(before - base);
    float sum = sum_[platform::thread_rank()] * keep;
    std::uint32_t pair[std::size_t{each / 2}];
    HIRIS_UNROLL
    for (int e = 0; e < each; e += 2) {
      const float low = platform::exp2(score[e] - base);
      const float high = platform::exp2(score[e + 1] - base);
      sum += low + high;
      pair[e / 2] = from_float<T>(low).bits | static_cast<std::uint32_t>(from_float<T>(high).bits)
                                                  << 16;
    }
    platform::wave_sync();  // the row's lanes have read its scores
    HIRIS_UNROLL
    for (int e = 0; e < each; e += 2)
      at_[row * stride + (first + e) / 8].word[(first + e) % 8 / 2] = pair[e / 2];
    sum_[platform::thread_rank()] = sum;
    if (first == 0) {
      most_[row] = most;
      factor_[row] = keep;
    }
  }

  /// Eight weights of a row, k contiguous.
  HIRIS_DEVICE const platform::vec16* weight_chunk(int row, int chunk) const {
    return &at_[row * stride + chunk];
  }
  /// What the sums of a row are to be multiplied by before the next are added.
  HIRIS_DEVICE float factor(int row) const { return factor_[row]; }

  /// Stores the log-sum-exps to base 2 of the first `rows` rows, and makes factor() the inverse of
  /// the sum of weights, or 0.
  HIRIS_DEVICE void finish(int rows, float* lse) {
    const int row = platform::thread_rank() / threads_a_row;
    float sum = sum_[platform::thread_rank()];
    HIRIS_UNROLL
    for (int mask = 1; mask < threads_a_row; mask *= 2)
      sum += platform::wave_shuffle_xor(sum, mask);
    if (platform::thread_rank() % threads_a_row != 0) return;
    factor_[row] = sum > 0 ? 1.0f / sum : 0;
    if (row < rows)
      platform::store_global(lse + row, sum > 0 ? most_[row] + platform::log2(sum) : no_lse);
  }

 private:
  static constexpr int threads_a_row = Threads / decode_rows;
  static constexpr int each = decode_keys / threads_a_row;
  static constexpr int stride =
      decode_keys / 4 + 1;  ///< Chunks; odd, so that rows spread over banks.
  static_assert(threads_a_row <= platform::wave_size && each % 2 == 0);

  platform::vec16 at_[std::size_t{decode_rows * stride}];
  float sum_[std::size_t{Threads}];  ///< Each thread's own, in place of a register over the loop.
  float most_[std::size_t{decode_rows}];
  float factor_[std::size_t{decode_rows}];
};

}  // namespace hiris
