// SPDX-License-Identifier: MIT
/// @file
/// The op and the operands of one rank, filled with the data of a case.
///
///     decode_rank<float16> mine(world, heap, c, flash_decode_variant::fused);
///     mine.fill(0);  mine.run();
///     mine.expect(reference_of<float16>(c, 0), "first call");
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hiris/ops/flash_decode.hpp"
#include "hiris/platform/runtime.hpp"
#include "ops/flash_decode_reference.hpp"
#include "support/device_test.hpp"

// Its kernels are compiled once for all tests: flash_decode_fp16.cpp, flash_decode_bf16.cpp.
extern template class hiris::flash_decode<hiris::float16>;
extern template class hiris::flash_decode<hiris::bfloat16>;

namespace hiris::test {

inline constexpr flash_decode_variant all_variants[] = {
    flash_decode_variant::bulk_synchronous, flash_decode_variant::independent_gather,
    flash_decode_variant::fine_grained, flash_decode_variant::fused};

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
  void fill(std::uint64_t call) { fill(call, c_); }
  void fill(std::uint64_t call, const decode_case& c) {
    const image made = image_of(call, c);
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
  /// Whether run() has left the output as it filled it. The stream is done.
  bool is_poisoned() {
    const std::vector<T> out = out_.to_host();
    return std::all_of(out.begin(), out.end(), [](T x) { return std::isnan(to_float(x)); });
  }

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
