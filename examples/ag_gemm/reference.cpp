// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <thread>
#include <vector>

namespace ag_gemm {
namespace {

constexpr std::int64_t block_n = 64;
constexpr std::int64_t block_k = 256;
constexpr std::int64_t block_m = 4;

/// B[k0 .. k0+kn, n0 .. n0+nn] as doubles, rows of block_n, zeros where the block sticks out.
void read_panel(const operands& in, std::int64_t k0, std::int64_t kn, std::int64_t n0,
                std::int64_t nn, double* panel) {
  std::fill(panel, panel + block_k * block_n, 0.0);
  for (std::int64_t x = 0; x < kn; ++x)
    for (std::int64_t j = 0; j < nn; ++j) {
      const std::int64_t at = in.b_is_nk ? (n0 + j) * in.k + k0 + x : (k0 + x) * in.n + n0 + j;
      panel[x * block_n + j] = static_cast<double>((*in.values)[in.b[at]]);
    }
}

/// c[rows, block_n] += a[rows, kn] panel[kn, block_n] with rows <= block_m.
void multiply_panel(const double* a, const double* panel, std::int64_t kn, double* c) {
  for (std::int64_t j0 = 0; j0 < block_n; j0 += 8) {
    double sum[block_m][8] = {};
    for (std::int64_t x = 0; x < kn; ++x)
      for (std::int64_t i = 0; i < block_m; ++i)
        for (std::int64_t j = 0; j < 8; ++j)
          sum[i][j] += a[i * block_k + x] * panel[x * block_n + j0 + j];
    for (std::int64_t i = 0; i < block_m; ++i)
      for (std::int64_t j = 0; j < 8; ++j) c[i * block_n + j0 + j] += sum[i][j];
  }
}

/// Columns [n0, n0+nn), nn <= block_n, for all rows.
void multiply_block(const operands& in, std::int64_t n0, std::int64_t nn, double* c) {
  const std::int64_t row_blocks = (in.m + block_m - 1) / block_m;
  std::vector<double> panel(block_k * block_n);
  std::vector<double> sums(static_cast<std::size_t>(row_blocks * block_m * block_n), 0.0);
  double a[block_m * block_k];
  for (std::int64_t k0 = 0; k0 < in.k; k0 += block_k) {
    const std::int64_t kn = std::min(block_k, in.k - k0);
    read_panel(in, k0, kn, n0, nn, panel.data());
    for (std::int64_t block = 0; block < row_blocks; ++block) {
      std::fill(a, a + block_m * block_k, 0.0);
      for (std::int64_t i = 0; i < std::min(block_m, in.m - block * block_m); ++i)
        for (std::int64_t x = 0; x < kn; ++x)
          a[i * block_k + x] =
              static_cast<double>((*in.values)[in.a[(block * block_m + i) * in.k + k0 + x]]);
      multiply_panel(a, panel.data(), kn, sums.data() + block * block_m * block_n);
    }
  }
  for (std::int64_t i = 0; i < in.m; ++i)
    std::copy_n(sums.data() + i * block_n, nn, c + i * in.n + n0);
}

}  // namespace

void multiply_columns(const operands& in, std::int64_t n_begin, std::int64_t n_end, int threads,
                      double* c) {
  auto work = [&](std::int64_t first) {
    for (std::int64_t n0 = n_begin + first * block_n; n0 < n_end; n0 += threads * block_n)
      multiply_block(in, n0, std::min(block_n, n_end - n0), c);
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads; ++t) helpers.emplace_back(work, t);
  work(0);
  for (std::thread& helper : helpers) helper.join();
}

tolerance::tolerance(int output_digits, std::int64_t k)
    : relative(std::ldexp(1.0, -output_digits)),
      absolute(4 * std::ldexp(1.0, -23) * static_cast<double>(k) / 3) {}

double tolerance::of(double reference) const { return relative * std::abs(reference) + absolute; }

}  // namespace ag_gemm
