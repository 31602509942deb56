// SPDX-License-Identifier: MIT
// Kernels that each break one rule that gemm.py adds: breaks_<rule>. Do not learn from them.
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/mma.hpp"

using namespace hiris;
namespace pf = hiris::platform;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

namespace {

using atom = pf::mma_atom<float16, 16, 16>;

struct stage {
  pf::vec16 a[16][4];
};

/// A fragment from workgroup memory as `load` reads it.
template <class Load>
HIRIS_DEVICE void multiply(atom::c_fragment& c, Load load) {
  atom::a_fragment a{load(pf::lane_rank())};
  atom::b_fragment b{load(pf::lane_rank() ^ 1)};
  atom::multiply_add(c, a, b);
}

HIRIS_DEVICE void put(const atom::c_fragment& c, float* out) {
  atom::for_each(c, [&](int row, int col, float v) { out[row * 16 + col] = v; });
}

}  // namespace

KERNEL breaks_multiplies_in_loop(const float* a, float* c, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k] * a[k + pf::thread_rank()];
  c[pf::thread_rank()] = sum;
}
KERNEL breaks_wide_fragments(const pf::vec16* a, float* out, int n) {
  auto& s = pf::gpu::block_shared<stage>();
  auto c = atom::zero();
  for (int k = 0; k < n; ++k) {
    s.a[pf::lane_rank() / 4][pf::lane_rank() % 4] = pf::load_global(a + k * 64 + pf::lane_rank());
    pf::block_sync();
    multiply(c, [&](int i) {  // word by word, from lines apart
      pf::vec16 v;
      for (int w = 0; w < 4; ++w) v.word[w] = s.a[(i + 5 * w) % 16][i % 4].word[w];
      return v;
    });
    pf::block_sync();
  }
  put(c, out);
}
KERNEL breaks_wide_loads(const std::uint16_t* a, float* out, int n) {
  auto c = atom::zero();
  for (int k = 0; k < n; ++k)
    multiply(c, [&](int i) {  // element by element
      pf::vec16 v;
      for (int w = 0; w < 4; ++w)
        v.word[w] = pf::load_global(a + (k * 8 + 2 * w) * 64 + i) |
                    static_cast<std::uint32_t>(pf::load_global(a + (k * 8 + 2 * w + 1) * 64 + i))
                        << 16;
      return v;
    });
  put(c, out);
}
KERNEL breaks_loads_in_flight(const pf::vec16* a, float* out, int n) {
  auto& s = pf::gpu::block_shared<stage>();
  auto c = atom::zero();
  for (int k = 0; k < n; ++k) {  // loaded when it is needed
    s.a[pf::lane_rank() / 4][pf::lane_rank() % 4] = pf::load_global(a + k * 64 + pf::lane_rank());
    pf::block_sync();
    multiply(c, [&](int i) { return s.a[i / 4][i % 4]; });
    pf::block_sync();
  }
  put(c, out);
}
KERNEL breaks_wide_commits(const std::uint16_t* a, std::uint16_t* out) {
  auto& s = pf::gpu::block_shared<stage>();
  auto* const elements = reinterpret_cast<std::uint16_t*>(&s);
  elements[pf::thread_rank() * 2] = pf::load_global(a + pf::thread_rank());
  pf::block_sync();
  pf::store_global(out + pf::thread_rank(), elements[511 - pf::thread_rank() * 2]);
}
KERNEL breaks_no_acquire_in_spin(const std::uint64_t* signal, std::uint64_t target) {
  while (pf::atomic_load<order::acquire, scope::system>(signal) < target) pf::pause();
}
