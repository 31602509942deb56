// SPDX-License-Identifier: MIT
// The product of a wave: every variant of instructions that this processor has gives the same,
// exact on integers, and the same on what is special in the formats.
#include "hiris/platform/cpu/product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

using namespace hiris;
namespace cpu = hiris::platform::cpu;

template <class T, int N>
struct layout {
  using element = T;
  static constexpr int n = N;
};

template <class Layout>
class Product : public ::testing::Test {
 protected:
  using value_type = typename Layout::element;
  static constexpr int rows = Layout::n;

  Product() {
    for (int lane = 0; lane < 64; ++lane) operands_.c[lane] = c_[lane];
  }
  static void put(std::byte (&lanes)[64][16], int row, int k, value_type value) {
    std::memcpy(lanes[k / 8 * rows + row] + k % 8 * 2, &value, 2);
  }
  float& c(int row, int column) {
    if (rows == 16) return c_[row / 4 * 16 + column][row % 4];
    return c_[row / 4 % 2 * 32 + column][row / 8 * 4 + row % 4];
  }
  void multiply(cpu::tile_function f) {
    for (int row = 0; row < rows; row += 16)
      for (int column = 0; column < rows; column += 16)
        f(cpu::tile_at<rows>(operands_, row, column));
  }

  cpu::mma_operands operands_{};
  float c_[64][16] = {};
};
using layouts = ::testing::Types<layout<float16, 16>, layout<float16, 32>, layout<bfloat16, 16>,
                                 layout<bfloat16, 32>>;
TYPED_TEST_SUITE(Product, layouts);

TYPED_TEST(Product, EveryVariantIsExactOnIntegers) {
  using T = typename TypeParam::element;
  constexpr int n = TypeParam::n, depth = 512 / n;
  const auto a = [](int i, int k) { return static_cast<float>((i * 7 + k * 3) % 61 - 30); };
  const auto b = [](int k, int j) { return static_cast<float>((j * 5 + k * 11) % 59 - 29); };
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < depth; ++k) {
      this->put(this->operands_.a, i, k, from_float<T>(a(i, k)));
      this->put(this->operands_.b, i, k, from_float<T>(b(k, i)));
    }
  int variants = 0;
  for (const auto f : cpu::tile_functions<T>()) {
    if (f == nullptr) continue;
    ++variants;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) this->c(i, j) = static_cast<float>(i * n + j);
    this->multiply(f);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = static_cast<float>(i * n + j);
        for (int k = 0; k < depth; ++k) sum += a(i, k) * b(k, j);
        ASSERT_EQ(this->c(i, j), sum) << "variant " << variants << " at " << i << ", " << j;
      }
  }
  EXPECT_GE(variants, 1);
}

/// A times one: each value of A, also subnormal, infinite and NaN, reaches C as it is.
TYPED_TEST(Product, SpecialValuesPass) {
  using T = typename TypeParam::element;
  constexpr int n = TypeParam::n;
  constexpr std::uint16_t special[] = {0x0001, 0x03ff, 0x0080, 0x8001, 0x7c00, 0xff80, 0x7fff};
  for (const std::uint16_t bits : special) {
    const T value{bits};
    for (int i = 0; i < n; ++i) {
      this->put(this->operands_.a, i, 0, value);
      this->put(this->operands_.b, i, 0, from_float<T>(1.0f));
    }
    for (const auto f : cpu::tile_functions<T>()) {
      if (f == nullptr) continue;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) this->c(i, j) = 0;
      this->multiply(f);
      if (std::isnan(to_float(value))) {
        EXPECT_TRUE(std::isnan(this->c(n - 1, 3)));
      } else {
        EXPECT_EQ(this->c(n - 1, 3), to_float(value));
      }
    }
  }
}

}  // namespace
