// SPDX-License-Identifier: MIT
#include "hiris/mma/block_multiply.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

/// Fills two stages from global memory, multiplies both, and writes the sum and how often each
/// element was reported.
template <class T, class Tile>
struct multiply_kernel {
  using multiply_type = mma::block_multiply<T, Tile>;
  static constexpr int block_threads = Tile::threads;
  static constexpr int depth = 2 * Tile::k;
  struct params {
    const T* a;  ///< [m, depth]
    const T* b;  ///< [n, depth]
    float* c;    ///< [m, n]
    int* visits;
  };
  struct shared {
    typename multiply_type::stage stage;
  };

  template <class Layout>
  static HIRIS_DEVICE void fill(platform::vec16* to, const T* from, int first_k) {
    for (int i = platform::thread_rank(); i < Layout::slots; i += block_threads) {
      const int line = i / Layout::chunks, chunk = i % Layout::chunks;
      to[Layout::slot(line, chunk)] = platform::load_global(
          reinterpret_cast<const platform::vec16*>(from + line * depth + first_k + chunk * 8));
    }
  }
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    multiply_type multiply;
    multiply.clear();
    for (int k = 0; k < depth; k += Tile::k) {
      platform::block_sync();
      fill<typename multiply_type::a_layout>(s.stage.a, p.a, k);
      fill<typename multiply_type::b_layout>(s.stage.b, p.b, k);
      platform::block_sync();
      multiply.step(s.stage);
    }
    multiply.for_each([&](int row, int col, float value) {
      platform::store_global(p.c + row * Tile::n + col, value);
      p.visits[row * Tile::n + col] += 1;
    });
  }
};

template <class T, class Tile>
void expect_product(const std::string& what) {
  using kernel = multiply_kernel<T, Tile>;
  constexpr int m = Tile::m, n = Tile::n, depth = kernel::depth;
  std::vector<T> a(std::size_t{m} * depth), b(std::size_t{n} * depth);
  const auto value = [](int i, int k) { return (i * 7 + k * 3 + i * k) % 5 - 2; };
  for (int i = 0; i < m; ++i)
    for (int k = 0; k < depth; ++k)
      a[static_cast<std::size_t>(i * depth + k)] = from_float<T>(static_cast<float>(value(i, k)));
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < depth; ++k)
      b[static_cast<std::size_t>(j * depth + k)] =
          from_float<T>(static_cast<float>(value(j + 1, k)));
  platform::device_buffer<T> a_dev(a.size()), b_dev(b.size());
  platform::device_buffer<float> c(std::size_t{m} * n);
  platform::device_buffer<int> visits(c.size());
  a_dev.copy_from(a);
  b_dev.copy_from(b);
  c.fill_with(std::byte{0xff});
  visits.fill_with(std::byte{0});
  const platform::owned_stream stream;
  platform::launch<kernel>(stream, 1, {a_dev.data(), b_dev.data(), c.data(), visits.data()});
  stream.synchronize();
  const std::vector<float> got = c.to_host();
  const std::vector<int> seen = visits.to_host();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int k = 0; k < depth; ++k) sum += value(i, k) * value(j + 1, k);
      const auto at = static_cast<std::size_t>(i * n + j);
      ASSERT_EQ(got[at], static_cast<float>(sum)) << what << ' ' << i << ' ' << j;
      ASSERT_EQ(seen[at], 1) << what << ' ' << i << ' ' << j;
    }
}

using BlockMultiply = test::device_test;

TEST_F(BlockMultiply, IsExactAndVisitsEveryElementOnce) {
  expect_product<float16, tile::skinny>("float16 skinny");
  expect_product<bfloat16, tile::skinny>("bfloat16 skinny");
  expect_product<float16, tile::medium>("float16 medium");
  expect_product<bfloat16, tile::medium>("bfloat16 medium");
  expect_product<float16, tile::square>("float16 square");
  expect_product<bfloat16, tile::square>("bfloat16 square");
}

TEST_F(BlockMultiply, LargeTilesAreForWavesOf64) {
  if constexpr (platform::wave_size == 64) {
    expect_product<float16, tile::large>("float16 large");
    expect_product<bfloat16, tile::large>("bfloat16 large");
  } else {
    GTEST_SKIP() << "waves of " << platform::wave_size;
  }
}

}  // namespace
