// SPDX-License-Identifier: MIT
// Kernels that each break one rule that platform.py adds: breaks_<rule>. Do not learn from them.
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"

using namespace hiris;
namespace pf = hiris::platform;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

KERNEL breaks_matrix_instructions(const float* a, float* c) {  // plain arithmetic
  for (int k = 0; k < 64; ++k) c[pf::thread_rank()] += a[k] * a[k + 64];
}
KERNEL breaks_wide_workgroup_memory(const float* a, float* c) {
  struct tile {
    float x[256];
  };
  auto& s = pf::gpu::block_shared<tile>();
  s.x[pf::thread_rank()] = a[pf::thread_rank()];
  pf::block_sync();
  c[pf::thread_rank()] = s.x[255 - pf::thread_rank()];
}
KERNEL breaks_passes_caches(pf::vec16* to, const pf::vec16* from) {
  pf::store_global(to + pf::lane_rank(), pf::load_global(from + pf::lane_rank()));
}
KERNEL breaks_once_a_region(pf::vec16* const* to, pf::vec16 v) {  // assumes one peer a wave
  pf::amd::words4 words = pf::amd::same_bits<pf::amd::words4>(v);
  const auto address = reinterpret_cast<std::uint64_t>(to[pf::lane_rank() % 8]);
  const auto base = static_cast<std::uint64_t>(static_cast<std::uint32_t>(
                        __builtin_amdgcn_readfirstlane(static_cast<int>(address >> 30))))
                    << 30;
  auto buffer =
      __builtin_amdgcn_make_buffer_rsrc(reinterpret_cast<void*>(base), 0, 1 << 30, 0x20000);
  __builtin_amdgcn_raw_buffer_store_b128(words, buffer, static_cast<int>(address & 0x3fffffff), 0,
                                         17);
}
