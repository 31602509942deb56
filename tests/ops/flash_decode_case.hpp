// SPDX-License-Identifier: MIT
/// @file
/// One Flash Decode on one rank, with data that any rank can make again, and its fp64 reference.
///
/// **Tolerance.** u = 2^-11 (fp16) or 2^-8 (bf16) is the unit roundoff of T, e = 2^-24 that of
/// fp32. With n keys of which every rank and split folds its part, v the largest |V| of the
/// column's head:
///   - each weight is rounded to T before it meets V: relative u, and below the normal range of
///   fp16
///     absolute 2^-25; summed over keys and divided by the sum of weights, which is at least 1 in
///     the split of the largest score: at most (u + n 2^-25) v;
///   - a score is a sum of head_dim products and a scaling, in fp32: its error to base e is at most
///     d = (head_dim + 4) e S with S the sum of the |products|, times scale; exp turns it into a
///     relative error of a weight, in numerator and denominator: 2 d v;
///   - sums of n terms in fp32, exp2 and the folds: (n + 64) e v;
///   - the result is rounded once to T: u |out|, and 2^-25 in the subnormal range of fp16.
/// The log-sum-exp differs by d + (n + 64) e, and (|lse| + 1) 8 e of its own rounding.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiris/ops/flash_decode.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

// Its kernels are compiled once for all tests: flash_decode_fp16.cpp, flash_decode_bf16.cpp.
extern template class hiris::flash_decode<hiris::float16>;
extern template class hiris::flash_decode<hiris::bfloat16>;

namespace hiris::test {

inline constexpr flash_decode_variant all_variants[] = {
    flash_decode_variant::bulk_synchronous, flash_decode_variant::independent_gather,
    flash_decode_variant::fine_grained, flash_decode_variant::fused};

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
  float gain = 1;                                  ///< Factor of the queries: how large scores get.
  flash_decode_options options = {};

  int ranks() const { return static_cast<int>(lengths.size()); }
};

/// A case of `ranks` ranks with lengths that differ by rank and sequence, some of them 0.
inline decode_case uneven(flash_decode_problem p, int ranks, std::int32_t longest) {
  decode_case c{p, {}, 1, {}};
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
    return from_float<T>(c.gain * noise(call * 4 + 1, static_cast<std::uint64_t>(b),
                                        static_cast<std::uint64_t>(h),
                                        static_cast<std::uint64_t>(i)));
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
};

template <class T>
decode_reference reference_of(const decode_case& c, std::uint64_t call) {
  const flash_decode_problem& p = c.problem;
  const decode_values<T> value{c, call};
  constexpr double u = std::is_same_v<T, float16> ? 0x1p-11 : 0x1p-8;
  constexpr double tiny = std::is_same_v<T, float16> ? 0x1p-25 : 0;
  constexpr double e = 0x1p-24;
  decode_reference ref;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t h = 0; h < p.q_heads; ++h) {
      const std::int64_t kv = h / (p.q_heads / p.kv_heads);
      std::vector<double> scores;
      double products = 0, top = -std::numeric_limits<double>::infinity();
      for (int r = 0; r < c.ranks(); ++r)
        for (int key = 0; key < c.lengths[static_cast<std::size_t>(r)][static_cast<std::size_t>(b)];
             ++key) {
          double s = 0, absolute = 0;
          for (std::int64_t i = 0; i < p.head_dim; ++i) {
            const double x = static_cast<double>(to_float(value.q(b, h, i))) *
                             static_cast<double>(to_float(value.k(r, b, kv, key, i)));
            s += x;
            absolute += std::abs(x);
          }
          products = std::max(products, absolute);
          s *= static_cast<double>(p.scale);
          if (p.soft_cap > 0)
            s = static_cast<double>(p.soft_cap) * std::tanh(s / static_cast<double>(p.soft_cap));
          scores.push_back(s);
          top = std::max(top, s);
        }
      const auto n = static_cast<double>(scores.size());
      const double d = (static_cast<double>(p.head_dim) + 4) * e * products *
                       std::abs(static_cast<double>(p.scale));
      double sum = 0;
      for (double& s : scores) sum += s = std::exp(s - top);
      for (std::int64_t i = 0; i < p.head_dim; ++i) {
        double out = 0, most = 0;
        std::size_t at = 0;
        for (int r = 0; r < c.ranks(); ++r)
          for (int key = 0;
               key < c.lengths[static_cast<std::size_t>(r)][static_cast<std::size_t>(b)]; ++key) {
            const double x = static_cast<double>(to_float(value.v(r, b, kv, key, i)));
            out += scores[at++] * x;
            most = std::max(most, std::abs(x));
          }
        if (n > 0) out /= sum;
        ref.out.push_back(out);
        ref.out_allowed.push_back(
            n > 0 ? (u + n * tiny + 2 * d + (n + 64) * e) * most + u * std::abs(out) + tiny : 0);
      }
      const double lse = top + std::log(sum);
      ref.lse.push_back(n > 0 ? lse : -std::numeric_limits<double>::infinity());
      ref.lse_allowed.push_back(n > 0 ? d + (n + 64) * e + (std::abs(lse) + 1) * 8 * e : 0);
    }
  return ref;
}

/// The op and operands of one rank.
template <class T>
class decode_rank {
 public:
  decode_rank(const world& w, symmetric_heap& heap, const decode_case& c, flash_decode_variant v)
      : world_(w),
        c_(c),
        op_(heap, c.problem, v, c.options),
        q_(elems(c.problem.batch * c.problem.q_heads * c.problem.head_dim)),
        k_(elems(cache_elems())),
        v_(k_.size()),
        table_(elems(std::max<std::int64_t>(1, c.problem.batch * c.problem.max_pages))),
        lengths_(elems(c.problem.batch)),
        out_(q_.size()),
        lse_(elems(c.problem.batch * c.problem.q_heads)) {}

  flash_decode<T>& op() { return op_; }
  platform::stream stream() const { return stream_; }
  kv_cache<T> cache() const {
    return {k_.data(), v_.data(), c_.problem.page_size > 0 ? table_.data() : nullptr};
  }
  const T* q() const { return q_.data(); }
  T* q_memory() const { return q_.data(); }
  T* k_memory() const { return k_.data(); }
  T* v_memory() const { return v_.data(); }
  T* out() const { return out_.data(); }
  float* lse() const { return lse_.data(); }
  std::int32_t* lengths() const { return lengths_.data(); }
  std::int32_t* table() const { return table_.data(); }

  /// What a call finds in device memory, on the host. NaN where no key is, so that one too many
  /// shows.
  struct image {
    std::vector<T> q, k, v;
    std::vector<std::int32_t> table, lengths;
  };
  /// @param c Lengths may be those of another case of the same problem.
  image image_of(std::uint64_t call, const decode_case& c) const {
    const flash_decode_problem& p = c.problem;
    const decode_values<T> value{c, call};
    image made{{},
               std::vector<T>(k_.size(), nan()),
               std::vector<T>(v_.size(), nan()),
               shuffled_table(call),
               c.lengths[static_cast<std::size_t>(world_.rank())]};
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.q_heads; ++h)
        for (std::int64_t i = 0; i < p.head_dim; ++i) made.q.push_back(value.q(b, h, i));
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.kv_heads; ++h)
        for (std::int64_t key = 0; key < made.lengths[static_cast<std::size_t>(b)]; ++key) {
          const std::size_t at = place(made.table, b, h, key);
          for (std::int64_t i = 0; i < p.head_dim; ++i) {
            made.k[at + static_cast<std::size_t>(i)] = value.k(world_.rank(), b, h, key, i);
            made.v[at + static_cast<std::size_t>(i)] = value.v(world_.rank(), b, h, key, i);
          }
        }
    return made;
  }
  void fill(std::uint64_t call) {
    const image made = image_of(call, c_);
    put(q_, made.q);
    put(k_, made.k);
    put(v_, made.v);
    put(table_, made.table);
    put(lengths_, made.lengths);
  }
  void run() {
    platform::fill(out_.data(), std::byte{0xff}, out_.size_bytes(), stream_);
    platform::fill(lse_.data(), std::byte{0xff}, lse_.size_bytes(), stream_);
    op_.run(stream_, q(), cache(), lengths_.data(), out_.data(), lse_.data());
  }
  std::vector<T> result() {
    op_.synchronize(stream_);
    return out_.to_host();
  }
  std::vector<float> result_lse() { return lse_.to_host(); }

  void expect(const decode_reference& ref, const std::string& what) {
    const std::vector<T> out = result();
    expect(ref, out, result_lse(), what);
  }
  void expect(const decode_reference& ref, const std::vector<T>& out, const std::vector<float>& lse,
              const std::string& what) const {
    int wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto got = static_cast<double>(to_float(out[i]));
      if (std::abs(got - ref.out[i]) <= ref.out_allowed[i]) continue;
      if (++wrong <= 3)
        ADD_FAILURE() << what << " rank " << world_.rank() << " of " << world_.size() << " out["
                      << i << "] is " << got << ", not " << ref.out[i] << " +- "
                      << ref.out_allowed[i];
    }
    for (std::size_t i = 0; i < lse.size(); ++i) {
      const auto got = static_cast<double>(lse[i]);
      if (got == ref.lse[i] || std::abs(got - ref.lse[i]) <= ref.lse_allowed[i]) continue;
      if (++wrong <= 3)
        ADD_FAILURE() << what << " rank " << world_.rank() << " lse[" << i << "] is " << got
                      << ", not " << ref.lse[i] << " +- " << ref.lse_allowed[i];
    }
    EXPECT_EQ(wrong, 0) << what;
  }

 private:
  static std::size_t elems(std::int64_t n) { return static_cast<std::size_t>(n); }
  static T nan() { return from_float<T>(std::numeric_limits<float>::quiet_NaN()); }
  std::int64_t cache_elems() const {
    const flash_decode_problem& p = c_.problem;
    const std::int64_t keys = p.page_size > 0 ? p.pages * p.page_size : p.batch * p.max_kv_len;
    return std::max<std::int64_t>(1, keys * p.kv_heads * p.head_dim);
  }
  /// Every page of the table another one of the pool, in an order that depends on rank and call.
  std::vector<std::int32_t> shuffled_table(std::uint64_t call) const {
    std::vector<std::int32_t> pool(elems(std::max<std::int64_t>(c_.problem.pages, 1)));
    std::iota(pool.begin(), pool.end(), 0);
    for (std::size_t i = pool.size(); i > 1; --i) {
      const float x = noise(call, i, static_cast<std::uint64_t>(world_.rank()), 77) * 0.5f + 0.5f;
      std::swap(pool[i - 1],
                pool[std::min(i - 1, static_cast<std::size_t>(x * static_cast<float>(i)))]);
    }
    pool.resize(table_.size());
    return pool;
  }
  std::size_t place(const std::vector<std::int32_t>& table, std::int64_t b, std::int64_t h,
                    std::int64_t key) const {
    const flash_decode_problem& p = c_.problem;
    if (p.page_size == 0) return elems(((b * p.kv_heads + h) * p.max_kv_len + key) * p.head_dim);
    const std::int64_t page = table[elems(b * p.max_pages + key / p.page_size)];
    return elems(((page * p.page_size + key % p.page_size) * p.kv_heads + h) * p.head_dim);
  }
  template <class U>
  void put(platform::device_buffer<U>& to, const std::vector<U>& from) {
    platform::copy(to.data(), from.data(), from.size() * sizeof(U), stream_);
    stream_.synchronize();
  }

  const world& world_;
  decode_case c_;
  platform::owned_stream stream_;
  flash_decode<T> op_;
  platform::device_buffer<T> q_, k_, v_;
  platform::device_buffer<std::int32_t> table_, lengths_;
  platform::device_buffer<T> out_;
  platform::device_buffer<float> lse_;
};

}  // namespace hiris::test
