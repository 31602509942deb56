// SPDX-License-Identifier: MIT
/// @file
/// Cases of Flash Decode: data that any rank can make again, the fp64 result, and how far from it a
/// kernel may be.
///
///     decode_case c = uneven({.batch = 3, .q_heads = 6, .kv_heads = 2, .head_dim = 64}, 4, 70);
///     const decode_reference ref = reference_of<float16>(c, 0);
///
/// **Tolerance.** u = 2^-11 (fp16) or 2^-8 (bf16) is the unit roundoff of T, e = 2^-24 that of
/// fp32. With n keys of which every rank and split folds its part, v the largest |V| of the
/// column's head:
///   - each weight is rounded to T before it meets V: relative u, and below the normal range of
///     fp16 absolute 2^-25; summed over keys and divided by the sum of weights, which is at least 1
///     in the split of the largest score: at most (u + n 2^-25) v;
///   - a score is a sum of head_dim products, a scaling and a difference to the largest, in fp32:
///     its error to base e is at most d = (head_dim + 4) e S with S the sum of the |products|,
///     times scale, and 6 e S more with a soft cap, whose tanh is good to 2 ulp; exp turns it into
///     a relative error of a weight, in numerator and denominator: 2 d v;
///   - sums of n terms in fp32, exp2 and the folds: (n + 64) e v;
///   - the result is rounded once to T: u |out|, and 2^-25 in the subnormal range of fp16.
/// The log-sum-exp differs by d + (n + 64) e, and (|lse| + 1) 8 e of its own rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "hiris/ops/flash_decode.hpp"
#include "hiris/platform/float16.hpp"

namespace hiris::test {

/// A value in [-1, 1] that depends on all four numbers.
inline float noise(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  std::uint64_t h = a * 0x9E3779B97F4A7C15ull + b * 0xC2B2AE3D27D4EB4Full +
                    c * 0x165667B19E3779F9ull + d * 0xD6E8FEB86659FD93ull;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9ull;
  h ^= h >> 32;
  return static_cast<float>(static_cast<std::int64_t>(h & 0xffffff)) / 8388607.5f - 1.0f;
}

/// A case: the problem, and how many keys each rank has of each sequence.
struct decode_case {
  flash_decode_problem problem;
  std::vector<std::vector<std::int32_t>> lengths;  ///< [world][batch]
  flash_decode_options options = {};

  int ranks() const { return static_cast<int>(lengths.size()); }
};

/// A case of `ranks` ranks with lengths that differ by rank and sequence, some of them 0.
inline decode_case uneven(flash_decode_problem p, int ranks, std::int32_t longest) {
  decode_case c{p, {}, {}};
  for (int r = 0; r < ranks; ++r) {
    std::vector<std::int32_t> mine;
    for (int b = 0; b < p.batch; ++b) {
      const int turn = (r * 5 + b * 3) % 7;
      mine.push_back(turn == 6 ? 0 : std::max(1, longest - turn * longest / 6));
    }
    c.lengths.push_back(mine);
  }
  c.problem.max_kv_len = longest;
  if (p.page_size > 0) {
    c.problem.max_pages = (longest + p.page_size - 1) / p.page_size;
    c.problem.pages = c.problem.max_pages * p.batch + 3;
  }
  return c;
}

/// Values as every rank makes them, rounded to T.
template <class T>
struct decode_values {
  const decode_case& c;
  std::uint64_t call = 0;

  T q(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return from_float<T>(noise(call * 4 + 1, static_cast<std::uint64_t>(b),
                               static_cast<std::uint64_t>(h), static_cast<std::uint64_t>(i)));
  }
  T k(int rank, std::int64_t b, std::int64_t h, std::int64_t key, std::int64_t i) const {
    return from_float<T>(noise(call * 4 + 2, id(rank, b, h), static_cast<std::uint64_t>(key),
                               static_cast<std::uint64_t>(i)));
  }
  T v(int rank, std::int64_t b, std::int64_t h, std::int64_t key, std::int64_t i) const {
    return from_float<T>(noise(call * 4 + 3, id(rank, b, h), static_cast<std::uint64_t>(key),
                               static_cast<std::uint64_t>(i)));
  }

 private:
  static std::uint64_t id(int rank, std::int64_t b, std::int64_t h) {
    return static_cast<std::uint64_t>(rank) * 1000003 + static_cast<std::uint64_t>(b) * 1009 +
           static_cast<std::uint64_t>(h);
  }
};

/// The exact result and what it may be off by.
struct decode_reference {
  std::vector<double> out, out_allowed, lse, lse_allowed;
  double largest_score = 0, least_score = 0;  ///< Scaled, before the cap.
};

/// A case in fp64.
template <class T>
class decode_exact {
 public:
  decode_exact(const decode_case& c, std::uint64_t call) : p_(c.problem) {
    const decode_values<T> value{c, call};
    for (std::int64_t b = 0; b < p_.batch; ++b)
      for (std::int64_t h = 0; h < p_.kv_heads; ++h) {
        head& made = heads_.emplace_back();
        std::vector<double> keys;
        for (int r = 0; r < c.ranks(); ++r)
          for (int key = 0;
               key < c.lengths[static_cast<std::size_t>(r)][static_cast<std::size_t>(b)]; ++key)
            for (std::int64_t i = 0; i < p_.head_dim; ++i) {
              keys.push_back(static_cast<double>(to_float(value.k(r, b, h, key, i))));
              made.values.push_back(static_cast<double>(to_float(value.v(r, b, h, key, i))));
            }
        const std::int64_t ratio = p_.q_heads / p_.kv_heads;
        for (std::int64_t q = h * ratio; q < (h + 1) * ratio; ++q)
          multiply(made, keys, value, b, q);
      }
  }

  /// The largest |q k| of all, without scale; 0 if there are no keys.
  double largest_product() const {
    double most = 0;
    for (const head& h : heads_)
      for (const row& r : h.rows)
        for (const double s : r.products) most = std::max(most, std::abs(s));
    return most;
  }

  /// @param scale,soft_cap In place of those of the problem.
  decode_reference reference(float scale, float soft_cap) const {
    decode_reference ref;
    for (const head& h : heads_)
      for (const row& r : h.rows) add(ref, h, r, static_cast<double>(scale), soft_cap);
    return ref;
  }

 private:
  struct row {  ///< Of one query head.
    std::vector<double> products;
    double absolute = 0;  ///< The largest sum of |products| of a key.
  };
  struct head {                  ///< A sequence and KV head; keys of all ranks.
    std::vector<double> values;  ///< [keys, head_dim]
    std::vector<row> rows;
  };

  void multiply(head& made, const std::vector<double>& keys, const decode_values<T>& value,
                std::int64_t b, std::int64_t q) {
    const auto dim = static_cast<std::size_t>(p_.head_dim);
    std::vector<double> query;
    for (std::int64_t i = 0; i < p_.head_dim; ++i)
      query.push_back(static_cast<double>(to_float(value.q(b, q, i))));
    row& r = made.rows.emplace_back();
    for (std::size_t at = 0; at < keys.size(); at += dim) {
      double s = 0, absolute = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        s += query[i] * keys[at + i];
        absolute += std::abs(query[i] * keys[at + i]);
      }
      r.products.push_back(s);
      r.absolute = std::max(r.absolute, absolute);
    }
  }

  void add(decode_reference& ref, const head& h, const row& r, double scale, float soft_cap) const {
    constexpr double u = std::is_same_v<T, float16> ? 0x1p-11 : 0x1p-8;
    constexpr double tiny = std::is_same_v<T, float16> ? 0x1p-25 : 0;
    constexpr double e = 0x1p-24;
    const auto dim = static_cast<std::size_t>(p_.head_dim);
    const auto cap = static_cast<double>(soft_cap);
    double top = -std::numeric_limits<double>::infinity();
    std::vector<double> weights;
    for (const double product : r.products) {
      const double s = product * scale;
      ref.largest_score = std::max(ref.largest_score, s);
      ref.least_score = std::min(ref.least_score, s);
      weights.push_back(cap > 0 ? cap * std::tanh(s / cap) : s);
      top = std::max(top, weights.back());
    }
    const auto n = static_cast<double>(weights.size());
    const double d =
        (static_cast<double>(dim) + (cap > 0 ? 10 : 4)) * e * r.absolute * std::abs(scale);
    double sum = 0;
    for (double& w : weights) sum += w = std::exp(w - top);
    std::vector<double> out(dim, 0), most(dim, 0);
    for (std::size_t key = 0; key < weights.size(); ++key)
      for (std::size_t i = 0; i < dim; ++i) {
        const double x = h.values[key * dim + i];
        out[i] += weights[key] * x;
        most[i] = std::max(most[i], std::abs(x));
      }
    for (std::size_t i = 0; i < dim; ++i) {
      if (n > 0) out[i] /= sum;
      ref.out.push_back(out[i]);
      ref.out_allowed.push_back(n > 0 ? (u + n * tiny + 2 * d + (n + 64) * e) * most[i] +
                                            u * std::abs(out[i]) + tiny
                                      : 0);
    }
    const double lse = top + std::log(sum);
    ref.lse.push_back(n > 0 ? lse : -std::numeric_limits<double>::infinity());
    ref.lse_allowed.push_back(n > 0 ? d + (n + 64) * e + (std::abs(lse) + 1) * 8 * e : 0);
  }

  flash_decode_problem p_;
  std::vector<head> heads_;  ///< [batch, kv_heads]
};

template <class T>
decode_reference reference_of(const decode_case& c, std::uint64_t call) {
  return decode_exact<T>(c, call).reference(c.problem.scale, c.problem.soft_cap);
}

}  // namespace hiris::test
