// SPDX-License-Identifier: MIT
/// @file
/// Attention in fp64 on the host: each rank over its own keys, then merged.
#pragma once

#include <cstdint>
#include <vector>

namespace flash_decode_example {

/// Sizes of one rank's part.
struct attention_shape {
  std::int64_t batch, q_heads, kv_heads, head_dim, kv_len;
  double scale;
};

/// Sums over a rank's keys, for each of [batch, q_heads]: largest score, sum of weights, largest
/// sum of |products| of a score, sum of squared weights, weighted sum of values. [batch, q_heads,
/// head_dim + 4]
std::vector<double> attend(const attention_shape& s, int rank, int threads);

/// The output of all ranks and what a result may be off by. With u = 2^-11, e = 2^-24 and values of
/// at most 1:
///   - the result is rounded to fp16 once: u |out|, and 2^-25 below its normal range;
///   - each weight is rounded by up to u, up or down as it happens, and is added in fp32 with an
///     error that grows like a random walk: for n weights w, (u + sqrt(n) e) |w| / sum |w|, where
///     |w| is the root of the sum of squares; eight times that is allowed;
///   - a score errs by head_dim fp32 sums of its products, in numerator and denominator;
///   - weights below 2^-14 are multiples of 2^-24.
struct expectation {
  std::vector<double> out, allowed;  ///< [batch, q_heads, head_dim]
};
expectation merge(const attention_shape& s, const std::vector<std::vector<double>>& ranks,
                  double keys);

}  // namespace flash_decode_example
