// SPDX-License-Identifier: MIT
// Fences, atomics, loads and stores of each order and scope, whose assembly ordering.py holds to
// what that order and scope need, and to no more: <what>_<order>_<scope>. Data are 16 bytes wide,
// words that order them 4.
#include "hiris/atomic.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/signal.hpp"

using namespace hiris;
namespace pf = hiris::platform;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

namespace {

/// Data to memory and to workgroup memory, then `access`, then other data and what it returned.
template <class Access>
HIRIS_DEVICE void around(pf::vec16* data, pf::vec16* out, Access access) {
  struct words {
    std::uint32_t word[256];
  };
  auto& s = pf::gpu::block_shared<words>();
  const int t = pf::thread_rank();
  s.word[t] = static_cast<std::uint32_t>(t);
  pf::store_global(data + t, pf::vec16{{1, 2, 3, 4}});
  const std::uint32_t seen = access();
  pf::vec16 v = pf::load_global(data + 256 + t);
  v.word[0] += seen;
  v.word[1] += s.word[255 - t];
  pf::store_global(out + t, v);
}

}  // namespace

#define FENCE(o, s)                                                                  \
  KERNEL fence_##o##_##s(pf::vec16* data, pf::vec16* out, const std::uint32_t* seen, \
                         std::uint32_t* told) {                                      \
    around(data, out, [&] {                                                          \
      const std::uint32_t v = pf::atomic_load<order::relaxed, scope::s>(seen);       \
      hiris::fence<order::o, scope::s>();                                            \
      pf::atomic_store<order::relaxed, scope::s>(told, 1u);                          \
      return v;                                                                      \
    });                                                                              \
  }
#define ATOMIC(o, s)                                                                      \
  KERNEL atomic_##o##_##s(context ctx, pf::vec16* data, pf::vec16* out, std::uint32_t* p, \
                          int to) {                                                       \
    around(data, out, [&] { return atomic_add<order::o, scope::s>(ctx, p, 1, to); });     \
  }
#define LOAD(o, s)                                                                 \
  KERNEL load_##o##_##s(pf::vec16* data, pf::vec16* out, const std::uint32_t* p) { \
    around(data, out, [&] { return pf::atomic_load<order::o, scope::s>(p); });     \
  }
#define STORE(o, s)                                                           \
  KERNEL store_##o##_##s(pf::vec16* data, pf::vec16* out, std::uint32_t* p) { \
    around(data, out, [&] {                                                   \
      pf::atomic_store<order::o, scope::s>(p, 1u);                            \
      return 0u;                                                              \
    });                                                                       \
  }
#define EACH_SCOPE(what, o) what(o, workgroup) what(o, agent) what(o, system)

EACH_SCOPE(FENCE, acquire)
EACH_SCOPE(FENCE, release)
EACH_SCOPE(FENCE, acq_rel)
EACH_SCOPE(FENCE, seq_cst)
EACH_SCOPE(ATOMIC, relaxed)
EACH_SCOPE(ATOMIC, acquire)
EACH_SCOPE(ATOMIC, release)
EACH_SCOPE(ATOMIC, acq_rel)
EACH_SCOPE(ATOMIC, seq_cst)
EACH_SCOPE(LOAD, relaxed)
EACH_SCOPE(LOAD, acquire)
EACH_SCOPE(LOAD, seq_cst)
EACH_SCOPE(STORE, relaxed)
EACH_SCOPE(STORE, release)
EACH_SCOPE(STORE, seq_cst)

// ---- a wave that has stored nothing; others of its workgroup may have
KERNEL alone_release_agent(std::uint32_t* p) {
  pf::atomic_store<order::release, scope::agent>(p, 1u);
}
KERNEL alone_release_system(std::uint32_t* p) {
  pf::atomic_store<order::release, scope::system>(p, 1u);
}

// ---- sums of floats
KERNEL float_add_relaxed_system(float* p, float v) {
  pf::atomic_fetch_add<order::relaxed, scope::system>(p, v);
}
KERNEL float_max_relaxed_system(float* p, float v) {
  pf::atomic_fetch_max<order::relaxed, scope::system>(p, v);
}
