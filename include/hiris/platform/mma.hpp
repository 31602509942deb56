// SPDX-License-Identifier: MIT
/// @file
/// The matrix instruction of a wave: an m x n tile of fp32 plus a product of 16-bit operands.
///
/// Both operands lie in workgroup memory with k contiguous, so that a lane reads 8 consecutive k of
/// one row (of A) or one column (of B) with one 16-byte access: `row(i, chunk)` points at k = 8 *
/// chunk.
///
///     using atom = platform::mma_atom<float16, 16, 16>;
///     auto c = atom::zero();
///     for (int k = 0; k < depth; k += atom::k) {
///       auto a = atom::load_a([&](int i, int chunk) { return &s.a[i][k / 8 + chunk]; });
///       auto b = atom::load_b([&](int j, int chunk) { return &s.b[j][k / 8 + chunk]; });
///       atom::multiply_add(c, a, b);
///     }
///     atom::for_each(c, [&](int row, int col, float value) { ... });
///     atom::transform(c, [&](int row, int col, float value) { return value * factor[row]; });
///
/// Every backend specialises mma_atom<T, M, N> for T = float16 and bfloat16 with (M, N) = (16, 16),
/// amd and cpu also with (32, 32). Members: m, n, k; a_fragment, b_fragment, c_fragment (trivially
/// copyable); load_a(row), load_b(row), zero(), multiply_add(c, a, b), for_each(c, f), transform(c,
/// f). Caller: all lanes of the wave, converged, for multiply_add; each lane for itself otherwise.
#pragma once

#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"

namespace hiris::platform {

/// @tparam T float16 or bfloat16, the element type of A and B.
/// @tparam M rows of the tile. @tparam N columns of the tile.
template <class T, int M, int N>
struct mma_atom;

}  // namespace hiris::platform

#if defined(HIRIS_PLATFORM_AMD)
#include "hiris/platform/mma_amd.hpp"
#elif defined(HIRIS_PLATFORM_CUDA)
#include "hiris/platform/mma_cuda.hpp"
#else
#include "hiris/platform/mma_cpu.hpp"
#endif
