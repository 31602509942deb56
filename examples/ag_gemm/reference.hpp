// SPDX-License-Identifier: MIT
/// @file
/// The product in double precision, on the host, and how far from it a correct result may be.
#pragma once

#include <array>
#include <cstdint>

namespace ag_gemm {

/// Values of all 65536 bit patterns of a 16-bit format.
using value_table = std::array<float, 65536>;

/// One product: sizes, and where its operands lie as 16-bit patterns.
struct operands {
  std::int64_t m, n, k;
  const std::uint16_t* a;  ///< [m, k]
  const std::uint16_t* b;  ///< [k, n], or [n, k] if b_is_nk
  bool b_is_nk;
  const value_table* values;
};

/// Writes columns [n_begin, n_end) of A B in fp64 to `c` [m, n], using `threads` threads.
void multiply_columns(const operands& in, std::int64_t n_begin, std::int64_t n_end, int threads,
                      double* c);

/// What a result of fp32 accumulation, rounded once to the output format, may differ by.
///
/// The sum of k products has rounding errors that behave as a random walk: with partial sums of
/// about sqrt(k) s, s = 1/3 the spread of a product of two numbers from [-1, 1], and an error of
/// 2^-24 relative (2^-23 where the matrix unit truncates) in each of k steps, about 2^-23 k s. Four
/// times that is allowed, and half a unit in the last place of the output.
struct tolerance {
  double relative;  ///< Half a unit in the last place of the output format: 2^-11, 2^-8.
  double absolute;  ///< Of the accumulation.

  tolerance(int output_digits, std::int64_t k);
  double of(double reference) const;
};

}  // namespace ag_gemm
