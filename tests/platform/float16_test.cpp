// SPDX-License-Identifier: MIT
// The 16-bit formats: every value of both, rounding at every boundary, host against device.
#include "hiris/platform/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {

using namespace hiris;

/// The value of a binary16 by its definition.
double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Float16, EveryValueConvertsExactlyAndBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const float16 h{static_cast<std::uint16_t>(i)};
    const double expected = value_of(h.bits);
    const float got = to_float(h);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << i;
      const float16 back = from_float<float16>(got);
      ASSERT_TRUE((back.bits & 0x7fff) > 0x7c00) << i;
      ASSERT_EQ(back.bits >> 15, i >> 15);
    } else {
      ASSERT_EQ(static_cast<double>(got), expected) << i;
      ASSERT_EQ(std::signbit(got), i >= 32768) << i;
      ASSERT_EQ(from_float<float16>(got).bits, i);
    }
  }
}

TEST(Float16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (std::uint16_t i = 0; i < 0x7c00; ++i) {
    const double low = value_of(i);
    const double high = i == 0x7bff ? 65536.0 : value_of(static_cast<std::uint16_t>(i + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact: 12 bits
    const std::uint16_t even = i % 2 == 0 ? i : static_cast<std::uint16_t>(i + 1);
    ASSERT_EQ(from_float<float16>(middle).bits, even) << i;
    ASSERT_EQ(from_float<float16>(-middle).bits, even | 0x8000) << i;
    ASSERT_EQ(from_float<float16>(std::nextafterf(middle, 0.0f)).bits, i);
    ASSERT_EQ(from_float<float16>(std::nextafterf(middle, 1e9f)).bits, i + 1);
  }
}

TEST(Float16, LargeSmallAndStrange) {
  EXPECT_EQ(from_float<float16>(65519.996f).bits, 0x7bff);
  EXPECT_EQ(from_float<float16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(from_float<float16>(1e30f).bits, 0x7c00);
  EXPECT_EQ(from_float<float16>(-HUGE_VALF).bits, 0xfc00);
  EXPECT_EQ(from_float<float16>(std::ldexp(1.0f, -25)).bits, 0);  // a tie with zero
  EXPECT_EQ(from_float<float16>(-0.0f).bits, 0x8000);
  EXPECT_EQ(from_float<float16>(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(from_float<float16>(0.1f).bits, 0x2e66);
}

TEST(Bfloat16, EveryValueConvertsExactlyAndBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const bfloat16 b{static_cast<std::uint16_t>(i)};
    const float got = to_float(b);
    std::uint32_t bits;
    std::memcpy(&bits, &got, sizeof bits);
    if (std::isnan(got)) {
      const bfloat16 back = from_float<bfloat16>(got);
      ASSERT_TRUE((back.bits & 0x7fff) > 0x7f80) << i;
    } else {
      ASSERT_EQ(bits, i << 16);
      ASSERT_EQ(from_float<bfloat16>(got).bits, i);
    }
  }
}

TEST(Bfloat16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (std::uint32_t i = 0; i < 0x7f80; ++i) {
    const std::uint32_t bits = i << 16 | 0x8000u;
    float middle;
    std::memcpy(&middle, &bits, sizeof bits);
    ASSERT_EQ(from_float<bfloat16>(middle).bits, i + i % 2) << i;
    ASSERT_EQ(from_float<bfloat16>(std::nextafterf(middle, 0.0f)).bits, i);
    ASSERT_EQ(from_float<bfloat16>(std::nextafterf(middle, HUGE_VALF)).bits, i + 1);
  }
}

TEST(Bfloat16, NanWithLowBitsOnlyStaysNan) {
  const std::uint32_t bits = 0x7f800001;
  float nan;
  std::memcpy(&nan, &bits, sizeof bits);
  EXPECT_GT(from_float<bfloat16>(nan).bits & 0x7fff, 0x7f80);
}

TEST(Float, IsItsOwnElementType) { EXPECT_EQ(to_float(from_float<float>(0.1f)), 0.1f); }

}  // namespace
