// SPDX-License-Identifier: MIT
// Kernels around one name of the amd backend each, whose assembly platform.py holds to its rules.
#include "hiris/platform/block.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/mma.hpp"

using namespace hiris;
namespace pf = hiris::platform;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

namespace {

/// One tile product from workgroup memory, k = 64, as the GEMM does it.
template <class T, int M>
HIRIS_DEVICE void multiply(const pf::vec16* a, const pf::vec16* b, float* c, int n) {
  using atom = pf::mma_atom<T, M, M>;
  struct tiles {
    pf::vec16 a[M][8];
    pf::vec16 b[M][8];
  };
  auto& s = pf::gpu::block_shared<tiles>();
  auto sum = atom::zero();
  for (int tile = 0; tile < n; ++tile) {
    for (int i = pf::thread_rank(); i < M * 8; i += 256) {
      s.a[i / 8][(i ^ (i / 8)) % 8] = pf::load_global(a + tile * M * 8 + i);
      s.b[i / 8][(i ^ (i / 8)) % 8] = pf::load_global(b + tile * M * 8 + i);
    }
    pf::block_sync();
#pragma unroll
    for (int k = 0; k < 64; k += atom::k) {
      const auto x =
          atom::load_a([&](int i, int chunk) { return &s.a[i][(k / 8 + chunk) ^ (i % 8)]; });
      const auto y =
          atom::load_b([&](int j, int chunk) { return &s.b[j][(k / 8 + chunk) ^ (j % 8)]; });
      atom::multiply_add(sum, x, y);
    }
    pf::block_sync();
  }
  atom::for_each(sum, [&](int row, int col, float v) { pf::store_global(c + row * M + col, v); });
}

}  // namespace

// ---- matrix instructions
KERNEL mma_f16_16(const pf::vec16* a, const pf::vec16* b, float* c, int n) {
  multiply<float16, 16>(a, b, c, n);
}
KERNEL mma_bf16_16(const pf::vec16* a, const pf::vec16* b, float* c, int n) {
  multiply<bfloat16, 16>(a, b, c, n);
}
KERNEL mma_f16_32(const pf::vec16* a, const pf::vec16* b, float* c, int n) {
  multiply<float16, 32>(a, b, c, n);
}
KERNEL mma_bf16_32(const pf::vec16* a, const pf::vec16* b, float* c, int n) {
  multiply<bfloat16, 32>(a, b, c, n);
}

// ---- 16-byte peer accesses: lanes of one wave may write to different peers
KERNEL peer_copy(pf::vec16* const* to, const pf::vec16* const* from) {
  pf::peer_store(to[pf::lane_rank() % 8] + pf::lane_rank(),
                 pf::peer_load(from[pf::lane_rank() % 8] + pf::lane_rank()));
}

// ---- reductions
KERNEL reduce(const float* in, float* out) {
  auto& scratch = pf::gpu::block_shared<pf::block_scratch<float, 256>>();
  const float total = pf::block_reduce_add(pf::load_global(in + pf::thread_rank()), scratch);
  if (pf::thread_rank() == 0) pf::store_global(out, total);
}
