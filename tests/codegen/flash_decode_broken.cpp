// SPDX-License-Identifier: MIT
// Kernels that each break one rule that flash_decode.py adds: breaks_<rule>. Do not learn from
// them.
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"

using namespace hiris;
namespace pf = hiris::platform;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

/// More values alive at once than a workgroup of this size has registers for.
extern "C" __global__ __launch_bounds__(1024) void breaks_spills(float* out, const float* in) {
  constexpr int values = 400;
  float held[values];
  HIRIS_UNROLL
  for (int i = 0; i < values; ++i) held[i] = pf::load_global(in + i * 1024 + pf::thread_rank());
  pf::block_sync();
  HIRIS_UNROLL
  for (int i = 0; i < values; ++i)
    pf::store_global(out + i * 1024 + pf::thread_rank(), held[values - 1 - i]);
}
KERNEL breaks_multiplies(const float* a, float* c, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k] * a[k + pf::thread_rank()];
  c[pf::thread_rank()] = sum;
}
/// Each load is waited for before the next one leaves.
KERNEL breaks_loads_together(const pf::vec16* in, std::uint32_t* out, int n) {
  std::uint32_t sum = 0;
  HIRIS_UNROLL
  for (int i = 0; i < 8; ++i) {
    const pf::vec16 v = pf::load_global(in + i * n + pf::thread_rank());
    sum += v.word[0] ^ v.word[1] ^ v.word[2] ^ v.word[3];
    pf::drain_stores();
  }
  pf::store_global(out + pf::thread_rank(), sum);
}
