// SPDX-License-Identifier: MIT
/// @file
/// The matrix instruction of a warp (mma.sync.m16n8k16) behind mma_atom. Contract and usage:
/// mma.hpp.
///
/// A 16x16 tile is two instructions side by side. Four 8x8 matrices are read with one ldmatrix:
/// lane l gives the address of row l % 16, k chunk l / 16, which is at once the order that A wants,
/// and that B wants for its two halves. (Fragment layouts: PTX ISA, "Matrix fragments for
/// mma.m16n8k16".)
#pragma once

#include <cstdint>
#include <type_traits>

#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/mma.hpp"

namespace hiris::platform {
namespace cuda_detail {

/// Four 8x8 matrices of 16-bit elements; `row` is the row that this lane gives the address of.
HIRIS_DEVICE vec16 load_matrices(const vec16* row) {
  vec16 v;
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
               : "r"(address)
               : "memory");
  return v;
}

HIRIS_DEVICE void multiply_add(float16, float (&c)[4], const vec16& a, std::uint32_t b0,
                               std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b0), "r"(b1));
}
HIRIS_DEVICE void multiply_add(bfloat16, float (&c)[4], const vec16& a, std::uint32_t b0,
                               std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b0), "r"(b1));
}

}  // namespace cuda_detail

template <class T>
struct mma_atom<T, 16, 16> {
  static constexpr int m = 16;
  static constexpr int n = 16;
  static constexpr int k = 16;

  struct a_fragment {
    vec16 values;  // rows 0-7 and 8-15 of k 0-7, then of k 8-15
  };
  struct b_fragment {
    vec16 values;  // likewise columns
  };
  struct c_fragment {
    float values[2][4];  // [half of the columns][element]
  };

  /// All lanes of the wave, converged.
  template <class Row>
  static HIRIS_DEVICE a_fragment load_a(Row row) {
    return {cuda_detail::load_matrices(row(lane_rank() % 16, lane_rank() / 16))};
  }
  /// All lanes of the wave, converged.
  template <class Row>
  static HIRIS_DEVICE b_fragment load_b(Row row) {
    return {cuda_detail::load_matrices(row(lane_rank() % 16, lane_rank() / 16))};
  }
  static HIRIS_DEVICE c_fragment zero() { return {}; }

  /// c += a * b, over k. All lanes of the wave, converged.
  static HIRIS_DEVICE void multiply_add(c_fragment& c, const a_fragment& a, const b_fragment& b) {
    cuda_detail::multiply_add(T{}, c.values[0], a.values, b.values.word[0], b.values.word[2]);
    cuda_detail::multiply_add(T{}, c.values[1], a.values, b.values.word[1], b.values.word[3]);
  }

  /// Calls f(row, col, value) for each element that this lane holds; two columns in a row follow
  /// each other.
  template <class F>
  static HIRIS_DEVICE void for_each(const c_fragment& c, F f) {
    const int row = lane_rank() / 4;
    const int col = lane_rank() % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int r = 0; r < 4; ++r) f(row + r / 2 * 8, half * 8 + col + r % 2, c.values[half][r]);
    }
  }

  /// Sets each element that this lane holds to f(row, col, value).
  template <class F>
  static HIRIS_DEVICE void transform(c_fragment& c, F f) {
    const int row = lane_rank() / 4;
    const int col = lane_rank() % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int r = 0; r < 4; ++r)
        c.values[half][r] = f(row + r / 2 * 8, half * 8 + col + r % 2, c.values[half][r]);
    }
  }
};

}  // namespace hiris::platform
