// SPDX-License-Identifier: MIT
/// @file
/// The two 16-bit floating-point formats, as plain bits that every platform stores alike.
///
/// Conversions are written in integer and fp32 arithmetic that gives the same bits on host and
/// device of every platform: round to nearest even, subnormals kept, NaN stays NaN.
///
///     auto h = from_float<float16>(0.1f);   // bits 0x2e66
///     float x = to_float(h);                // 0.0999755859375
#pragma once

#include <cstdint>

#include "hiris/platform/config.hpp"

namespace hiris {

/// IEEE binary16: 1 sign, 5 exponent, 10 mantissa bits. Bit-compatible with `__half`.
struct float16 {
  std::uint16_t bits;
};

/// Upper half of an fp32: 1 sign, 8 exponent, 7 mantissa bits. Bit-compatible with
/// `__hip_bfloat16`.
struct bfloat16 {
  std::uint16_t bits;
};

namespace detail {

HIRIS_HOST_DEVICE std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);  // memcpy is the host's alone in HIP
}

HIRIS_HOST_DEVICE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

}  // namespace detail

/// The value as fp32; exact. A signalling NaN becomes quiet.
HIRIS_HOST_DEVICE float to_float(float16 value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  std::uint32_t bits;
  if (magnitude > 0x7c00u) {
    bits = 0x7fc00000u | ((magnitude & 0x3ffu) << 13);
  } else if (magnitude == 0x7c00u) {
    bits = 0x7f800000u;
  } else if (magnitude >= 0x400u) {
    bits = (magnitude << 13) + (112u << 23);
  } else {  // zero or subnormal: a multiple of 2^-24
    bits = detail::bits_of(static_cast<float>(magnitude) * 5.9604644775390625e-8f);
  }
  return detail::float_of(sign | bits);
}

/// The value as fp32; exact.
HIRIS_HOST_DEVICE float to_float(bfloat16 value) {
  return detail::float_of(static_cast<std::uint32_t>(value.bits) << 16);
}

/// The value itself, so that generic code may convert any element type.
HIRIS_HOST_DEVICE float to_float(float value) { return value; }

/// Rounds to the nearest value of T, ties to even; beyond the largest becomes infinity.
///
/// @tparam T float16, bfloat16 or float.
template <class T>
HIRIS_HOST_DEVICE T from_float(float value);

template <>
HIRIS_HOST_DEVICE float from_float<float>(float value) {
  return value;
}

template <>
HIRIS_HOST_DEVICE bfloat16 from_float<bfloat16>(float value) {
  const std::uint32_t bits = detail::bits_of(value);
  const std::uint32_t rounded = (bits & 0x7fffffffu) > 0x7f800000u
                                    ? (bits | 0x00400000u) >> 16
                                    : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return {static_cast<std::uint16_t>(rounded)};
}

template <>
HIRIS_HOST_DEVICE float16 from_float<float16>(float value) {
  const std::uint32_t bits = detail::bits_of(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x47800000u) {  // 65536 and more
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: 0.5 has an ulp of 2^-24 above it
    half = detail::bits_of(detail::float_of(magnitude) + 0.5f) - 0x3f000000u;
  } else {  // a carry out of the mantissa is the next exponent, or infinity
    half = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace hiris
