// SPDX-License-Identifier: MIT
/// @file
/// The matrix instructions of CDNA (MFMA) behind mma_atom. Contract and usage: mma.hpp.
///
/// A lane reads 8 consecutive k of row `lane % M`, the chunk being `lane / M`. On gfx950 one
/// instruction takes all eight. On gfx90a and gfx942 two take four each; they then see k in another
/// order than memory has, but A and B alike, and a sum over k does not mind.
/// Result: register r of a lane is row 8 * (r / 4) + 4 * (lane / 32) + r % 4 of a 32x32 tile, row
/// 4 * (lane / 16) + r of a 16x16 tile; column lane % N. (Lane layouts: AMD matrix instruction
/// calculator.)
#pragma once

#include <hip/hip_runtime.h>

#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/mma.hpp"

namespace hiris::platform {
namespace amd {

using half4 = _Float16 __attribute__((ext_vector_type(4)));
using half8 = _Float16 __attribute__((ext_vector_type(8)));
using short4 = short __attribute__((ext_vector_type(4)));
using bf16x8 = __bf16 __attribute__((ext_vector_type(8)));
using float4 = float __attribute__((ext_vector_type(4)));
using float16x = float __attribute__((ext_vector_type(16)));

/// Half of a fragment, as the instructions of gfx90a and gfx942 take it.
template <class Half>
struct halves {
  Half half[2];
};

/// The matrix instructions of an architecture, by type of the elements and of the accumulators.
template <bool DoubleK>
struct instructions {
  static HIRIS_DEVICE float4 multiply_add(float16, vec16 a, vec16 b, float4 c) {
    const auto x = same_bits<halves<half4>>(a);
    const auto y = same_bits<halves<half4>>(b);
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(x.half[0], y.half[0], c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16f16(x.half[1], y.half[1], c, 0, 0, 0);
  }
  static HIRIS_DEVICE float4 multiply_add(bfloat16, vec16 a, vec16 b, float4 c) {
    const auto x = same_bits<halves<short4>>(a);
    const auto y = same_bits<halves<short4>>(b);
    c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.half[0], y.half[0], c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.half[1], y.half[1], c, 0, 0, 0);
  }
  static HIRIS_DEVICE float16x multiply_add(float16, vec16 a, vec16 b, float16x c) {
    const auto x = same_bits<halves<half4>>(a);
    const auto y = same_bits<halves<half4>>(b);
    c = __builtin_amdgcn_mfma_f32_32x32x8f16(x.half[0], y.half[0], c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8f16(x.half[1], y.half[1], c, 0, 0, 0);
  }
  static HIRIS_DEVICE float16x multiply_add(bfloat16, vec16 a, vec16 b, float16x c) {
    const auto x = same_bits<halves<short4>>(a);
    const auto y = same_bits<halves<short4>>(b);
    c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x.half[0], y.half[0], c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x.half[1], y.half[1], c, 0, 0, 0);
  }
};

/// gfx950.
template <>
struct instructions<true> {
  static HIRIS_DEVICE float4 multiply_add(float16, vec16 a, vec16 b, float4 c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(same_bits<half8>(a), same_bits<half8>(b), c, 0, 0,
                                                  0);
  }
  static HIRIS_DEVICE float4 multiply_add(bfloat16, vec16 a, vec16 b, float4 c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(same_bits<bf16x8>(a), same_bits<bf16x8>(b), c, 0,
                                                   0, 0);
  }
  static HIRIS_DEVICE float16x multiply_add(float16, vec16 a, vec16 b, float16x c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_f16(same_bits<half8>(a), same_bits<half8>(b), c, 0, 0,
                                                  0);
  }
  static HIRIS_DEVICE float16x multiply_add(bfloat16, vec16 a, vec16 b, float16x c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(same_bits<bf16x8>(a), same_bits<bf16x8>(b), c, 0,
                                                   0, 0);
  }
};

/// Accumulators of a lane: M * N / 64 floats.
template <int M>
struct accumulators;
template <>
struct accumulators<16> {
  using type = float4;
};
template <>
struct accumulators<32> {
  using type = float16x;
};

}  // namespace amd

template <class T, int M>
requires(M == 16 || M == 32) struct mma_atom<T, M, M> {
  static constexpr int m = M;
  static constexpr int n = M;
  static constexpr int k = 8 * wave_size / M;

  struct a_fragment {
    vec16 values;
  };
  struct b_fragment {
    vec16 values;
  };
  struct c_fragment {
    typename amd::accumulators<M>::type values;
  };

  template <class Row>
  static HIRIS_DEVICE a_fragment load_a(Row row) {
    return {*row(lane_rank() % M, lane_rank() / M)};
  }
  template <class Row>
  static HIRIS_DEVICE b_fragment load_b(Row row) {
    return {*row(lane_rank() % M, lane_rank() / M)};
  }
  static HIRIS_DEVICE c_fragment zero() { return {}; }

  /// c += a * b, over k. All lanes of the wave, converged.
  static HIRIS_DEVICE void multiply_add(c_fragment& c, const a_fragment& a, const b_fragment& b) {
    using instructions = amd::instructions<amd_has_double_k>;
    c.values = instructions::multiply_add(T{}, a.values, b.values, c.values);
  }

  /// Calls f(row, col, value) for each element that this lane holds; four rows in a column follow
  /// each other.
  template <class F>
  static HIRIS_DEVICE void for_each(const c_fragment& c, F f) {
    const int col = lane_rank() % M;
    const int first_row = 4 * (lane_rank() / M);
#pragma unroll
    for (int r = 0; r < M * M / wave_size; ++r)
      f((M == 32 ? 8 * (r / 4) : 0) + first_row + r % 4, col, c.values[r]);
  }

  /// Sets each element that this lane holds to f(row, col, value).
  template <class F>
  static HIRIS_DEVICE void transform(c_fragment& c, F f) {
    const int col = lane_rank() % M;
    const int first_row = 4 * (lane_rank() / M);
#pragma unroll
    for (int r = 0; r < M * M / wave_size; ++r)
      c.values[r] = f((M == 32 ? 8 * (r / 4) : 0) + first_row + r % 4, col, c.values[r]);
  }
};

}  // namespace hiris::platform
