// SPDX-License-Identifier: MIT
// The fused GEMM of each strategy, whose main loop gemm.py holds to its rules.
#include "hiris/comm/bulk_synchronous.hpp"
#include "hiris/comm/pull.hpp"
#include "hiris/comm/push.hpp"
#include "hiris/ops/all_gather_gemm_kernel.hpp"
#include "hiris/platform/launch.hpp"

using namespace hiris;

namespace {

template <template <class> class Comm, class T, matrix_layout B, class Tile>
using gemm = all_gather_gemm_kernel<Comm<T>, gemm_types<T, B, T>, Tile>;

template <class K>
HIRIS_DEVICE void run(const typename K::params& p) {
  K::run(p, platform::gpu::block_shared<typename K::shared>());
}

using pull_square = gemm<comm::pull, float16, matrix_layout::col_major, tile::square>;
using push_square = gemm<comm::push, float16, matrix_layout::col_major, tile::square>;
using fused_square = gemm<comm::push_fused, bfloat16, matrix_layout::col_major, tile::square>;
using bulk_large = gemm<comm::bulk_synchronous, bfloat16, matrix_layout::col_major, tile::large>;
using push_rows = gemm<comm::push, float16, matrix_layout::row_major, tile::square>;
using push_skinny = gemm<comm::push, float16, matrix_layout::row_major, tile::skinny>;

}  // namespace

#define KERNEL(name, K) \
  extern "C" __global__ __launch_bounds__(K::block_threads) void name(K::params p) { run<K>(p); }

KERNEL(gemm_pull_square, pull_square)
KERNEL(gemm_push_square, push_square)
KERNEL(gemm_push_fused_square, fused_square)
KERNEL(gemm_bulk_large, bulk_large)
KERNEL(gemm_push_row_major_square, push_rows)
KERNEL(gemm_push_row_major_skinny, push_skinny)
