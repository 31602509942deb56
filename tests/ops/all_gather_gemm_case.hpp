// SPDX-License-Identifier: MIT
/// @file
/// One all-gather + GEMM on one rank, with data whose product is known exactly.
///
/// Elements are small integers made from (call, row, k) and (rank, k, column), so that sums below
/// 2^24 are exact in fp32 and a wrong tile, a stale slot or a lost column shows in every bit.
///
///     test::gemm_rank<float16> mine(world, heap, problem, strategy::push);
///     mine.fill_a(0);  mine.run(stream);  mine.expect_exact(0);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hiris/ops/all_gather_gemm.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

// Compiled once for all tests: all_gather_gemm_fp16.cpp, all_gather_gemm_bf16.cpp.
extern template class hiris::all_gather_gemm<hiris::float16>;
extern template class hiris::all_gather_gemm<hiris::bfloat16>;
extern template class hiris::all_gather_gemm<hiris::float16, hiris::matrix_layout::row_major,
                                             float>;
extern template class hiris::all_gather_gemm<hiris::bfloat16, hiris::matrix_layout::row_major,
                                             float>;

namespace hiris::test {

/// A value of -2 .. 2 that depends on all three numbers.
inline int coded(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  std::uint64_t h =
      x * 0x9E3779B97F4A7C15ull + y * 0xC2B2AE3D27D4EB4Full + z * 0x165667B19E3779F9ull;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9ull;
  return static_cast<int>((h >> 40) % 5) - 2;
}

/// The strategies that can be asked for, `automatic` left out.
inline constexpr strategy all_strategies[] = {strategy::bulk_synchronous, strategy::pull,
                                              strategy::push, strategy::push_fused};

/// The operands of one rank, and what C must be.
template <class T, matrix_layout B = matrix_layout::row_major, class Out = float>
class gemm_rank {
 public:
  using op_type = all_gather_gemm<T, B, Out>;

  /// @param skew Elements by which B and C are moved off their alignment.
  gemm_rank(const world& w, symmetric_heap& heap, const all_gather_gemm_problem& p, strategy s,
            all_gather_gemm_options options = {}, std::size_t skew = 0)
      : world_(w),
        p_(p),
        skew_(skew),
        op_(heap, p, s, options),
        a_(heap.allocate<T>(p.m * longest(p) + static_cast<std::int64_t>(skew))),
        b_(static_cast<std::size_t>(p.k() * p.n) + skew),
        c_(static_cast<std::size_t>(p.m * p.n) + skew) {
    std::vector<T> b(b_.size());
    for (std::int64_t k = 0; k < p.k(); ++k)
      for (std::int64_t n = 0; n < p.n; ++n)
        b[skew +
          static_cast<std::size_t>(B == matrix_layout::row_major ? k * p.n + n : n * p.k() + k)] =
            from_float<T>(static_cast<float>(b_value(k, n)));
    b_.copy_from(b);
  }

  op_type& op() { return op_; }
  platform::stream stream() const { return stream_; }
  T* a() const { return a_.data() + skew_; }
  Out* c() const { return c_.data() + skew_; }
  const T* b() const { return b_.data() + skew_; }

  /// This rank's shard of a call, as bits for the host.
  std::vector<T> shard(std::uint64_t call) const {
    const std::int64_t mine = p_.k_shards[static_cast<std::size_t>(world_.rank())];
    const std::int64_t begin = begin_of(world_.rank());
    std::vector<T> a(static_cast<std::size_t>(p_.m * mine));
    for (std::int64_t m = 0; m < p_.m; ++m)
      for (std::int64_t k = 0; k < mine; ++k)
        a[static_cast<std::size_t>(m * mine + k)] =
            from_float<T>(static_cast<float>(a_value(call, m, begin + k)));
    return a;
  }
  void fill_a(std::uint64_t call) {
    const std::vector<T> a = shard(call);
    platform::copy(this->a(), a.data(), a.size() * sizeof(T), stream_);
    stream_.synchronize();
  }
  /// All bytes 0xff: NaN in every format.
  void poison_c() { platform::fill(c_.data(), std::byte{0xff}, c_.size_bytes(), stream_); }

  /// Whether C is as poison_c() left it. The stream is done.
  bool is_poisoned() const {
    const std::vector<Out> c = c_.to_host();
    return std::all_of(c.begin(), c.end(), [](Out x) { return std::isnan(to_float(x)); });
  }

  void run() { op_.run(stream_, a(), b(), c()); }

  /// Waits, and compares C with the product of `call`, exactly.
  void expect_exact(std::uint64_t call, const std::string& what = {}) {
    op_.synchronize(stream_);
    compare(c_.to_host(), call, what);
  }

  void compare(const std::vector<Out>& c, std::uint64_t call, const std::string& what) const {
    int wrong = 0;
    for (std::int64_t m = 0; m < p_.m; ++m)
      for (std::int64_t n = 0; n < p_.n; ++n) {
        long sum = 0;
        for (std::int64_t k = 0; k < p_.k(); ++k) sum += a_value(call, m, k) * b_value(k, n);
        const float got = to_float(c[skew_ + static_cast<std::size_t>(m * p_.n + n)]);
        const float expected = to_float(from_float<Out>(static_cast<float>(sum)));
        if (got == expected) continue;
        if (++wrong <= 3)
          ADD_FAILURE() << what << " rank " << world_.rank() << " of " << world_.size() << " call "
                        << call << " C[" << m << ", " << n << "] is " << got << ", not "
                        << expected;
      }
    EXPECT_EQ(wrong, 0) << what << " rank " << world_.rank() << " of " << world_.size();
  }

 private:
  static std::int64_t longest(const all_gather_gemm_problem& p) {
    std::int64_t most = 1;
    for (const std::int64_t k : p.k_shards) most = std::max(most, k);
    return most;
  }
  std::int64_t begin_of(int rank) const {
    std::int64_t k = 0;
    for (int r = 0; r < rank; ++r) k += p_.k_shards[static_cast<std::size_t>(r)];
    return k;
  }
  static int a_value(std::uint64_t call, std::int64_t m, std::int64_t k) {
    return coded(call + 1, static_cast<std::uint64_t>(m), static_cast<std::uint64_t>(k));
  }
  int b_value(std::int64_t k, std::int64_t n) const {
    return coded(static_cast<std::uint64_t>(world_.rank()) + 1000, static_cast<std::uint64_t>(k),
                 static_cast<std::uint64_t>(n));
  }

  const world& world_;
  all_gather_gemm_problem p_;
  std::size_t skew_;
  platform::owned_stream stream_;
  op_type op_;
  symmetric_array<T> a_;
  platform::device_buffer<T> b_;
  platform::device_buffer<Out> c_;
};

/// Splits k over the ranks as evenly as it goes, the first ranks getting more.
inline std::vector<std::int64_t> split(std::int64_t k, int world_size) {
  std::vector<std::int64_t> shards;
  for (int r = 0; r < world_size; ++r)
    shards.push_back(k / world_size + (r < k % world_size ? 1 : 0));
  return shards;
}

}  // namespace hiris::test
