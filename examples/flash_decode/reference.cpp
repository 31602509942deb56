// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <thread>

#include "hiris/platform/float16.hpp"
#include "values.hpp"

namespace flash_decode_example {
namespace {

double number(std::uint64_t which, int rank, std::int64_t index) {
  return static_cast<double>(hiris::to_float(
      value_of(which, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(index))));
}

/// All query heads of one KV head of one sequence, keys [begin, end).
void attend_part(const attention_shape& s, int rank, std::int64_t b, std::int64_t kv,
                 std::int64_t begin, std::int64_t end, std::vector<double>& sums) {
  const std::int64_t ratio = s.q_heads / s.kv_heads;
  const std::int64_t record = s.head_dim + 4;
  const auto dim = static_cast<std::size_t>(s.head_dim);
  std::vector<double> q(static_cast<std::size_t>(ratio) * dim), k(dim), v(dim);
  for (std::size_t i = 0; i < q.size(); ++i)
    q[i] = number(1, 0, (b * s.q_heads + kv * ratio) * s.head_dim + static_cast<std::int64_t>(i));
  sums.assign(static_cast<std::size_t>(ratio * record), 0);
  for (std::int64_t r = 0; r < ratio; ++r)
    sums[static_cast<std::size_t>(r * record)] = -std::numeric_limits<double>::infinity();
  for (std::int64_t key = begin; key < end; ++key) {
    const std::int64_t row = ((b * s.kv_heads + kv) * s.kv_len + key) * s.head_dim;
    for (std::size_t i = 0; i < dim; ++i) {
      k[i] = number(2, rank, row + static_cast<std::int64_t>(i));
      v[i] = number(3, rank, row + static_cast<std::int64_t>(i));
    }
    for (std::int64_t r = 0; r < ratio; ++r) {
      double* const sum = &sums[static_cast<std::size_t>(r * record)];
      const double* const mine = &q[static_cast<std::size_t>(r) * dim];
      double score = 0, size = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        score += mine[i] * k[i];
        size += std::abs(mine[i] * k[i]);
      }
      score *= s.scale;
      if (score > sum[0]) {
        const double keep = std::exp(sum[0] - score);
        for (std::int64_t i = 1; i < record; ++i)
          if (i != 2) sum[i] *= i == 3 ? keep * keep : keep;
        sum[0] = score;
      }
      const double weight = std::exp(score - sum[0]);
      sum[1] += weight;
      sum[2] = std::max(sum[2], size);
      sum[3] += weight * weight;
      for (std::size_t i = 0; i < dim; ++i) sum[4 + i] += weight * v[i];
    }
  }
}

/// Adds b to a, both of the form that attend() returns for one head.
void add(double* a, const double* b, std::int64_t record) {
  if (b[1] == 0) return;
  const double most = std::max(a[0], b[0]);
  const double keep = a[1] == 0 ? 0 : std::exp(a[0] - most), weight = std::exp(b[0] - most);
  for (std::int64_t i = 1; i < record; ++i)
    if (i == 3)
      a[i] = a[i] * keep * keep + b[i] * weight * weight;
    else if (i != 2)
      a[i] = a[i] * keep + b[i] * weight;
  a[2] = std::max(a[2], b[2]);
  a[0] = most;
}

}  // namespace

std::vector<double> attend(const attention_shape& s, int rank, int threads) {
  const std::int64_t record = s.head_dim + 4, ratio = s.q_heads / s.kv_heads;
  std::vector<double> all(static_cast<std::size_t>(s.batch * s.q_heads * record), 0);
  for (std::int64_t i = 0; i < s.batch * s.q_heads; ++i)
    all[static_cast<std::size_t>(i * record)] = -std::numeric_limits<double>::infinity();
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t kv = 0; kv < s.kv_heads; ++kv) {
      std::vector<std::vector<double>> parts(static_cast<std::size_t>(threads));
      std::vector<std::thread> workers;
      for (int t = 0; t < threads; ++t)
        workers.emplace_back([&, t] {
          attend_part(s, rank, b, kv, s.kv_len * t / threads, s.kv_len * (t + 1) / threads,
                      parts[static_cast<std::size_t>(t)]);
        });
      for (std::thread& worker : workers) worker.join();
      for (const auto& part : parts)
        for (std::int64_t r = 0; r < ratio; ++r)
          add(&all[static_cast<std::size_t>((b * s.q_heads + kv * ratio + r) * record)],
              &part[static_cast<std::size_t>(r * record)], record);
    }
  return all;
}

expectation merge(const attention_shape& s, const std::vector<std::vector<double>>& ranks,
                  double keys) {
  constexpr double u = 0x1p-11, tiny = 0x1p-25, e = 0x1p-24;
  const std::int64_t record = s.head_dim + 4;
  std::vector<double> all = ranks.front();
  expectation x;
  for (std::int64_t h = 0; h < s.batch * s.q_heads; ++h) {
    double* const sum = &all[static_cast<std::size_t>(h * record)];
    for (std::size_t r = 1; r < ranks.size(); ++r)
      add(sum, &ranks[r][static_cast<std::size_t>(h * record)], record);
    const double of_score = (static_cast<double>(s.head_dim) + 4) * e * sum[2] * std::abs(s.scale);
    const double spread = sum[1] > 0 ? std::sqrt(sum[3]) / sum[1] : 0;
    const double of_weights = 8 * (u + (std::sqrt(keys) + 64) * e) * spread;
    for (std::int64_t i = 0; i < s.head_dim; ++i) {
      const double out = sum[1] > 0 ? sum[4 + i] / sum[1] : 0;
      x.out.push_back(out);
      x.allowed.push_back(u * std::abs(out) + tiny + of_weights + 2 * of_score +
                          (sum[1] > 0 ? keys * tiny / sum[1] : 0));
    }
  }
  return x;
}

}  // namespace flash_decode_example
