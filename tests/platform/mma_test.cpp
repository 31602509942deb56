// SPDX-License-Identifier: MIT
// The matrix instruction of a wave: exact on integers, both formats, every shape of the backend.
#include "hiris/platform/mma.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "platform/conformance.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;

/// Every wave multiplies A [m, depth] by B^T [n, depth], with its own sign; C begins at zero.
template <class Atom, class T, int Steps>
struct product_kernel {
  static constexpr int block_threads = 4 * pf::wave_size;
  static constexpr int depth = Steps * Atom::k;
  struct params {
    const T* a;
    const T* b;
    float* c;      // [4, m, n]
    int* visited;  // [m, n]: how often for_each came by in wave 0
  };
  struct shared {
    alignas(16) T a[static_cast<unsigned>(Atom::m)][static_cast<unsigned>(depth)];
    alignas(16) T b[4][static_cast<unsigned>(Atom::n)][static_cast<unsigned>(depth)];
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    const int wave = pf::wave_rank();
    for (int i = pf::thread_rank(); i < Atom::m * depth; i += block_threads)
      s.a[i / depth][i % depth] = p.a[i];
    for (int i = pf::thread_rank(); i < 4 * Atom::n * depth; i += block_threads) {
      const int from = i % (Atom::n * depth);
      const float scale = static_cast<float>(i / (Atom::n * depth) + 1);
      s.b[i / (Atom::n * depth)][from / depth][from % depth] =
          from_float<T>(to_float(p.b[from]) * scale);
    }
    pf::block_sync();
    auto c = Atom::zero();
    for (int k = 0; k < depth; k += Atom::k) {
      const auto a = Atom::load_a([&](int i, int chunk) {
        return reinterpret_cast<const pf::vec16*>(&s.a[i][k + 8 * chunk]);
      });
      const auto b = Atom::load_b([&](int j, int chunk) {
        return reinterpret_cast<const pf::vec16*>(&s.b[wave][j][k + 8 * chunk]);
      });
      Atom::multiply_add(c, a, b);
    }
    const auto place = [](int row, int col) { return static_cast<float>(row * Atom::n + col); };
    Atom::transform(c, [&](int row, int col, float value) { return value + place(row, col); });
    Atom::for_each(c, [&](int row, int col, float value) {
      p.c[(wave * Atom::m + row) * Atom::n + col] = value - place(row, col);
      if (wave == 0)
        pf::atomic_fetch_add<order::relaxed, scope::agent>(p.visited + row * Atom::n + col, 1);
    });
  }
};

template <class Tag>
class Mma : public test::conformance {};

template <class T, int N>
struct shape {
  using element = T;
  static constexpr int n = N;
};

/// Waves of 64 lanes have both shapes, others 16 x 16 only.
constexpr bool exists(int n) { return n == 16 || pf::wave_size == 64; }

using shapes = ::testing::Types<shape<float16, 16>, shape<bfloat16, 16>, shape<float16, 32>,
                                shape<bfloat16, 32>>;
TYPED_TEST_SUITE(Mma, shapes);

template <class T, int N, class Fixture>
void expect_exact() {
  using atom = pf::mma_atom<T, N, N>;
  using kernel = product_kernel<atom, T, 3>;
  constexpr int depth = kernel::depth;
  static_assert(atom::m == N && atom::n == N && atom::k % 8 == 0);
  std::vector<T> a(static_cast<std::size_t>(N * depth)), b(a.size());
  const auto value_a = [](int i, int k) { return static_cast<float>((i * 7 + k * 3) % 31 - 15); };
  const auto value_b = [](int j, int k) { return static_cast<float>((j * 5 + k * 11) % 29 - 14); };
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < depth; ++k) {
      a[static_cast<std::size_t>(i * depth + k)] = from_float<T>(value_a(i, k));
      b[static_cast<std::size_t>(i * depth + k)] = from_float<T>(value_b(i, k));
    }
  pf::owned_stream stream;
  pf::device_buffer<T> da(a.size()), db(b.size());
  pf::device_buffer<float> dc(static_cast<std::size_t>(4 * N * N));
  pf::device_buffer<int> visited(static_cast<std::size_t>(N * N));
  da.copy_from(a);
  db.copy_from(b);
  dc.fill_with(std::byte{0xff});
  visited.fill_with(std::byte{0});
  pf::launch<kernel>(stream, 1, {da.data(), db.data(), dc.data(), visited.data()});
  stream.synchronize();
  const std::vector<float> c = dc.to_host();
  for (int wave = 0; wave < 4; ++wave)
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j) {
        float sum = 0;
        for (int k = 0; k < depth; ++k)
          sum += value_a(i, k) * value_b(j, k) * static_cast<float>(wave + 1);
        ASSERT_EQ(c[static_cast<std::size_t>((wave * N + i) * N + j)], sum)
            << "wave " << wave << " row " << i << " column " << j;
      }
  EXPECT_EQ(visited.to_host(), std::vector<int>(static_cast<std::size_t>(N * N), 1));
}

TYPED_TEST(Mma, IsExactOnIntegers) {
  using T = typename TypeParam::element;
  if constexpr (exists(TypeParam::n)) {
    expect_exact<T, TypeParam::n, TestFixture>();
  } else {
    GTEST_SKIP() << "no such shape on this backend";
  }
}

/// Values that only an fp32 accumulator holds: 2^12 products of 2^6 and ones.
TYPED_TEST(Mma, AccumulatesInFp32) {
  using T = typename TypeParam::element;
  constexpr int n = TypeParam::n;
  if constexpr (exists(n)) {
    using kernel = product_kernel<pf::mma_atom<T, n, n>, T, 2>;
    constexpr int depth = kernel::depth;
    std::vector<T> a(static_cast<std::size_t>(n * depth), from_float<T>(0.0f)), b = a;
    for (int i = 0; i < n; ++i) {
      a[static_cast<std::size_t>(i * depth)] = from_float<T>(256.0f);
      a[static_cast<std::size_t>(i * depth + depth - 1)] = from_float<T>(1.0f);
      b[static_cast<std::size_t>(i * depth)] = from_float<T>(8192.0f);
      b[static_cast<std::size_t>(i * depth + depth - 1)] = from_float<T>(1.0f);
    }
    pf::owned_stream stream;
    pf::device_buffer<T> da(a.size()), db(b.size());
    pf::device_buffer<float> dc(static_cast<std::size_t>(4 * n * n));
    pf::device_buffer<int> visited(static_cast<std::size_t>(n * n));
    da.copy_from(a);
    db.copy_from(b);
    visited.fill_with(std::byte{0});
    pf::launch<kernel>(stream, 1, {da.data(), db.data(), dc.data(), visited.data()});
    stream.synchronize();
    for (int i = 0; i < n * n; ++i)
      ASSERT_EQ(dc.to_host()[static_cast<std::size_t>(i)], 2097153.0f);
  } else {
    GTEST_SKIP() << "no such shape on this backend";
  }
}

}  // namespace
