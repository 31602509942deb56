// SPDX-License-Identifier: MIT
/// @file
/// The matrix instruction on the emulator, in gfx942's lane layout. Include mma.hpp, not this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "hiris/platform/cpu/product.hpp"
#include "hiris/platform/cpu/workgroup.hpp"

namespace hiris::platform {

namespace cpu {

/// Results of an N x N product that a lane holds.
template <int N>
inline constexpr std::size_t results = static_cast<std::size_t>(N) * N / lanes_per_wave;

/// What a lane of an N x N product holds: 8 k of one row and of one column, N N / 64 results.
template <class T, int N>
struct mma_on_wave {
  static constexpr int m = N, n = N, k = 512 / N;
  struct a_fragment {
    vec16 value;
  };
  struct b_fragment {
    vec16 value;
  };
  struct c_fragment {
    float value[results<N>];
  };

  template <class Row>
  static a_fragment load_a(Row row) {
    return {*row(here.current->index % N, here.current->index / N)};
  }
  template <class Row>
  static b_fragment load_b(Row row) {
    return {*row(here.current->index % N, here.current->index / N)};
  }
  static c_fragment zero() { return {}; }

  static void multiply_add(c_fragment& c, const a_fragment& a, const b_fragment& b) {
    lane& self = *here.current;
    wave& w = *self.owner;
    if (w.alive != ~std::uint64_t{0}) [[unlikely]] {
      w.group->failure = describe_place(*w.group) + ": " + to_string(kind) + " in wave " +
                         std::to_string(w.rank) + ", which has " +
                         std::to_string(std::popcount(w.alive)) + " of 64 lanes: all must be alive";
      fail(self);
    }
    std::memcpy(w.mma.a[self.index], &a, 16);
    std::memcpy(w.mma.b[self.index], &b, 16);
    w.mma.c[self.index] = c.value;
    meet(kind, [](wave& all) { multiply_wave<T, N>(all.mma); });
  }

  template <class F>
  static void for_each(const c_fragment& c, F f) {
    const int index = here.current->index;
    for (int v = 0; v < static_cast<int>(results<N>); ++v) {
      const int row = N == 16 ? 4 * (index / 16) + v : 8 * (v / 4) + 4 * (index / 32) + v % 4;
      f(row, index % N, c.value[v]);
    }
  }

  template <class F>
  static void transform(c_fragment& c, F f) {
    const int index = here.current->index;
    for (int v = 0; v < static_cast<int>(results<N>); ++v) {
      const int row = N == 16 ? 4 * (index / 16) + v : 8 * (v / 4) + 4 * (index / 32) + v % 4;
      c.value[v] = f(row, index % N, c.value[v]);
    }
  }

 private:
  static constexpr operation_kind kind =
      std::is_same_v<T, float16>
          ? (N == 16 ? operation_kind::mma_f16_16 : operation_kind::mma_f16_32)
          : (N == 16 ? operation_kind::mma_bf16_16 : operation_kind::mma_bf16_32);
};

/// The instructions themselves, for code that is written with them: four 16-bit values a lane are
/// k = 4 (lane / N) + i of v_mfma_f32_16x16x16 and 32x32x8, eight are those of gfx950's doubled k.
template <class T, int N>
void mfma(float (&c)[results<N>], const T (&a)[4], const T (&b)[4]) {
  using atom = mma_on_wave<T, N>;
  typename atom::a_fragment x{};  // the upper half is zero: half the k
  typename atom::b_fragment y{};
  typename atom::c_fragment z;
  std::memcpy(&x, a, sizeof a);
  std::memcpy(&y, b, sizeof b);
  std::memcpy(&z, c, sizeof c);
  atom::multiply_add(z, x, y);
  std::memcpy(c, &z, sizeof c);
}
template <class T, int N>
void mfma(float (&c)[results<N>], const T (&a)[8], const T (&b)[8]) {
  using atom = mma_on_wave<T, N>;
  typename atom::a_fragment x;
  typename atom::b_fragment y;
  typename atom::c_fragment z;
  std::memcpy(&x, a, sizeof a);
  std::memcpy(&y, b, sizeof b);
  std::memcpy(&z, c, sizeof c);
  atom::multiply_add(z, x, y);
  std::memcpy(c, &z, sizeof c);
}

}  // namespace cpu

template <>
struct mma_atom<float16, 16, 16> : cpu::mma_on_wave<float16, 16> {};
template <>
struct mma_atom<float16, 32, 32> : cpu::mma_on_wave<float16, 32> {};
template <>
struct mma_atom<bfloat16, 16, 16> : cpu::mma_on_wave<bfloat16, 16> {};
template <>
struct mma_atom<bfloat16, 32, 32> : cpu::mma_on_wave<bfloat16, 32> {};

}  // namespace hiris::platform
