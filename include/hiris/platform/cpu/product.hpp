// SPDX-License-Identifier: MIT
/// @file
/// The arithmetic of a matrix instruction, once for a whole wave: C += A B^T in fp32.
///
/// Operands stand as the lanes hold them: 16 bytes a lane, lane = chunk * rows + row, 8 consecutive
/// k of a row. A tile of 16 x 16 of C is done at a time, by the widest instructions that this
/// processor has; all variants add in the order of k.
///
///     multiply_wave<float16, 16>(w.mma);   // 16x16, k = 32
///     multiply_wave<bfloat16, 32>(w.mma);  // 32x32, k = 16
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hiris/platform/cpu/wave.hpp"
#include "hiris/platform/float16.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hiris::platform::cpu {

/// Sixteen rows by sixteen columns of C, and where their operands are.
struct tile_operands {
  const std::byte* a;  ///< Of row 0, chunk 0; rows follow each other.
  const std::byte* b;  ///< The same for the columns of B.
  std::size_t stride;  ///< Bytes from a chunk to the next.
  int chunks;          ///< Of 8 k.
  float* const* c[4];  ///< For each 4 rows: the fragments of the 16 lanes that hold the columns.
  int first[4];        ///< For each 4 rows: index of the first in a fragment.
};

inline constexpr int most_k = 32;

template <class T>
void multiply_tile_plainly(const tile_operands& t) {
  float a[most_k][16], b[most_k][16], c[16][16];
  const int depth = 8 * t.chunks;
  for (int k = 0; k < depth; ++k)
    for (int i = 0; i < 16; ++i) {
      const std::size_t at =
          static_cast<std::size_t>(k / 8) * t.stride + static_cast<std::size_t>(i * 16 + k % 8 * 2);
      T x, y;
      std::memcpy(&x, t.a + at, 2);
      std::memcpy(&y, t.b + at, 2);
      a[k][i] = to_float(x);
      b[k][i] = to_float(y);
    }
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) c[i][j] = t.c[i / 4][j][t.first[i / 4] + i % 4];
  for (int k = 0; k < depth; ++k)
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) c[i][j] += a[k][i] * b[k][j];
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) t.c[i / 4][j][t.first[i / 4] + i % 4] = c[i][j];
}

#if defined(__x86_64__)

template <class T>
__attribute__((target("avx2,fma,f16c"))) void multiply_tile_avx2(const tile_operands& t) {
  alignas(32) float a[16][most_k], b[most_k][16], c[16][16];
  const int depth = 8 * t.chunks;
  for (int chunk = 0; chunk < t.chunks; ++chunk)
    for (int i = 0; i < 16; ++i) {
      const std::size_t at =
          static_cast<std::size_t>(chunk) * t.stride + static_cast<std::size_t>(i) * 16;
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(t.a + at));
      const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(t.b + at));
      alignas(32) float column[8];
      if constexpr (std::is_same_v<T, float16>) {
        _mm256_store_ps(&a[i][8 * chunk], _mm256_cvtph_ps(x));
        _mm256_store_ps(column, _mm256_cvtph_ps(y));
      } else {
        _mm256_store_ps(&a[i][8 * chunk],
                        _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)));
        _mm256_store_ps(column,
                        _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(y), 16)));
      }
      for (int k = 0; k < 8; ++k) b[8 * chunk + k][i] = column[k];
    }
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) c[i][j] = t.c[i / 4][j][t.first[i / 4] + i % 4];
  for (int i = 0; i < 16; i += 4) {
    __m256 sum[4][2];
    for (int r = 0; r < 4; ++r)
      for (int h = 0; h < 2; ++h) sum[r][h] = _mm256_load_ps(&c[i + r][8 * h]);
    for (int k = 0; k < depth; ++k) {
      const __m256 low = _mm256_load_ps(&b[k][0]);
      const __m256 high = _mm256_load_ps(&b[k][8]);
      for (int r = 0; r < 4; ++r) {
        const __m256 x = _mm256_broadcast_ss(&a[i + r][k]);
        sum[r][0] = _mm256_fmadd_ps(x, low, sum[r][0]);
        sum[r][1] = _mm256_fmadd_ps(x, high, sum[r][1]);
      }
    }
    for (int r = 0; r < 4; ++r)
      for (int h = 0; h < 2; ++h) _mm256_store_ps(&c[i + r][8 * h], sum[r][h]);
  }
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) t.c[i / 4][j][t.first[i / 4] + i % 4] = c[i][j];
}

#define HIRIS_CPU_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

// The zero-masking forms, all bits set: g++ 12 warns of uninitialised values in the plain ones
// (GCC bug 105593); the instructions are the same.
inline constexpr __mmask16 all16 = 0xffff;
inline constexpr __mmask8 all8 = 0xff;

/// Transposes 4 x 4 words in each quarter of four registers.
HIRIS_CPU_AVX512 inline void transpose_quarters(__m512 (&v)[4]) {
  const __m512 a = _mm512_maskz_unpacklo_ps(all16, v[0], v[1]);
  const __m512 b = _mm512_maskz_unpackhi_ps(all16, v[0], v[1]);
  const __m512 c = _mm512_maskz_unpacklo_ps(all16, v[2], v[3]);
  const __m512 d = _mm512_maskz_unpackhi_ps(all16, v[2], v[3]);
  v[0] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(all8, _mm512_castps_pd(a), _mm512_castps_pd(c)));
  v[1] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(all8, _mm512_castps_pd(a), _mm512_castps_pd(c)));
  v[2] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(all8, _mm512_castps_pd(b), _mm512_castps_pd(d)));
  v[3] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(all8, _mm512_castps_pd(b), _mm512_castps_pd(d)));
}

/// Four times 16 bytes in one register.
HIRIS_CPU_AVX512 inline __m512 load_quarters(const void* p0, const void* p1, const void* p2,
                                             const void* p3) {
  __m512 v = _mm512_zextps128_ps512(_mm_loadu_ps(static_cast<const float*>(p0)));
  v = _mm512_maskz_insertf32x4(all16, v, _mm_loadu_ps(static_cast<const float*>(p1)), 1);
  v = _mm512_maskz_insertf32x4(all16, v, _mm_loadu_ps(static_cast<const float*>(p2)), 2);
  return _mm512_maskz_insertf32x4(all16, v, _mm_loadu_ps(static_cast<const float*>(p3)), 3);
}

template <class T>
HIRIS_CPU_AVX512 void multiply_tile_avx512(const tile_operands& t) {
  alignas(64) float a[16][most_k], b[most_k][16];
  const int depth = 8 * t.chunks;
  for (int chunk = 0; chunk < t.chunks; ++chunk) {
    const std::byte* rows = t.a + static_cast<std::size_t>(chunk) * t.stride;
    const std::byte* columns = t.b + static_cast<std::size_t>(chunk) * t.stride;
    for (int i = 0; i < 16; i += 2) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i * 16));
      __m512 wide;
      if constexpr (std::is_same_v<T, float16>) {
        wide = _mm512_maskz_cvtph_ps(all16, x);
      } else {
        wide = _mm512_castsi512_ps(
            _mm512_maskz_slli_epi32(all16, _mm512_maskz_cvtepu16_epi32(all16, x), 16));
      }
      _mm256_store_ps(&a[i][8 * chunk], _mm512_maskz_extractf32x8_ps(all8, wide, 0));
      _mm256_store_ps(&a[i + 1][8 * chunk], _mm512_maskz_extractf32x8_ps(all8, wide, 1));
    }
    __m512 v[4];  // quarter q of v[m]: the 8 k of column 4 q + m
    for (int m = 0; m < 4; ++m)
      v[m] = load_quarters(columns + m * 16, columns + (m + 4) * 16, columns + (m + 8) * 16,
                           columns + (m + 12) * 16);
    transpose_quarters(v);  // v[d]: k = 2 d and 2 d + 1 of all columns
    for (int d = 0; d < 4; ++d) {
      const __m512i pair = _mm512_castps_si512(v[d]);
      __m512 even, odd;
      if constexpr (std::is_same_v<T, float16>) {
        even = _mm512_maskz_cvtph_ps(all16, _mm512_maskz_cvtepi32_epi16(all16, pair));
        odd = _mm512_maskz_cvtph_ps(
            all16, _mm512_maskz_cvtepi32_epi16(all16, _mm512_maskz_srli_epi32(all16, pair, 16)));
      } else {
        even = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all16, pair, 16));
        odd = _mm512_castsi512_ps(
            _mm512_and_si512(pair, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
      }
      _mm512_store_ps(b[8 * chunk + 2 * d], even);
      _mm512_store_ps(b[8 * chunk + 2 * d + 1], odd);
    }
  }
  __m512 sum[4][4];
  for (int q = 0; q < 4; ++q) {
    float* const* lanes = t.c[q];
    for (int m = 0; m < 4; ++m)
      sum[q][m] = load_quarters(lanes[m] + t.first[q], lanes[m + 4] + t.first[q],
                                lanes[m + 8] + t.first[q], lanes[m + 12] + t.first[q]);
    transpose_quarters(sum[q]);
  }
  for (int k = 0; k < depth; ++k) {
    const __m512 y = _mm512_load_ps(b[k]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      sum[i / 4][i % 4] = _mm512_fmadd_ps(_mm512_set1_ps(a[i][k]), y, sum[i / 4][i % 4]);
  }
  for (int q = 0; q < 4; ++q) {
    float* const* lanes = t.c[q];
    transpose_quarters(sum[q]);
    for (int m = 0; m < 4; ++m) {
      _mm_storeu_ps(lanes[m] + t.first[q], _mm512_maskz_extractf32x4_ps(all8, sum[q][m], 0));
      _mm_storeu_ps(lanes[m + 4] + t.first[q], _mm512_maskz_extractf32x4_ps(all8, sum[q][m], 1));
      _mm_storeu_ps(lanes[m + 8] + t.first[q], _mm512_maskz_extractf32x4_ps(all8, sum[q][m], 2));
      _mm_storeu_ps(lanes[m + 12] + t.first[q], _mm512_maskz_extractf32x4_ps(all8, sum[q][m], 3));
    }
  }
}

#undef HIRIS_CPU_AVX512
#endif

using tile_function = void (*)(const tile_operands&);

/// The variants that this processor can run, the best last; null for those that it cannot.
template <class T>
std::array<tile_function, 3> tile_functions() {
  std::array<tile_function, 3> functions{multiply_tile_plainly<T>, nullptr, nullptr};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))  // those have f16c
    functions[1] = multiply_tile_avx2<T>;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    functions[2] = multiply_tile_avx512<T>;
#endif
  return functions;
}

/// The best of them.
template <class T>
tile_function choose_tile_function() {
  const auto functions = tile_functions<T>();
  return functions[2] != nullptr   ? functions[2]
         : functions[1] != nullptr ? functions[1]
                                   : functions[0];
}

/// The operands of 16 rows and 16 columns of an N x N instruction, in the lane layout of gfx942: a
/// lane's fragment of C holds column lane % N; for N = 16 rows 4 (lane / 16) + v, for N = 32 rows
/// 8 (v / 4) + 4 (lane / 32) + v % 4.
template <int N>
tile_operands tile_at(const mma_operands& w, int row, int column) {
  tile_operands t;
  t.a = w.a[row];
  t.b = w.b[column];
  t.stride = N * 16;
  t.chunks = lanes_per_wave / N;
  for (int q = 0; q < 4; ++q) {
    const int quad = row / 4 + q;
    t.c[q] = w.c + (N == 16 ? 16 * quad : quad % 2 * 32 + column);
    t.first[q] = N == 16 ? 0 : quad / 2 * 4;
  }
  return t;
}

/// One N x N matrix instruction of a wave.
template <class T, int N>
void multiply_wave(const mma_operands& w) {
  static const tile_function multiply_tile = choose_tile_function<T>();
  for (int row = 0; row < N; row += 16)
    for (int column = 0; column < N; column += 16) multiply_tile(tile_at<N>(w, row, column));
}

}  // namespace hiris::platform::cpu
