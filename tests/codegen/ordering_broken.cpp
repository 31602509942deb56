// SPDX-License-Identifier: MIT
// Kernels that each break one rule of ordering.py: breaks_<rule>__[<how>_]<order>_<scope>, with the
// order and the scope that they claim. Do not learn from them.
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"

using namespace hiris;
namespace pf = hiris::platform;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

namespace {

template <scope S>
HIRIS_DEVICE void tell(std::uint32_t* p) {
  pf::atomic_store<order::relaxed, S>(p, 1u);
}
template <scope S>
HIRIS_DEVICE std::uint32_t ask(const std::uint32_t* p) {
  return pf::atomic_load<order::relaxed, S>(p);
}
HIRIS_DEVICE void put(pf::vec16* data, pf::vec16 v, std::uint32_t word) {
  v.word[0] += word;
  pf::store_global(data + pf::thread_rank(), v);
}
HIRIS_DEVICE void put(pf::vec16* data, std::uint32_t word) { put(data, {{1, 2, 3, 4}}, word); }
HIRIS_DEVICE pf::vec16 get(const pf::vec16* data) {
  return pf::load_global(data + pf::thread_rank());
}

/// Data, a fence of one order and scope, a relaxed store at another scope.
template <order O, scope Fenced, scope Told>
HIRIS_DEVICE void send(pf::vec16* data, std::uint32_t* p) {
  put(data, 1);
  pf::fence<O, Fenced>();
  tell<Told>(p);
}
/// A relaxed load at one scope, a fence of one order and another scope, data.
template <order O, scope Asked, scope Fenced>
HIRIS_DEVICE void receive(const pf::vec16* data, const std::uint32_t* p, pf::vec16* out) {
  const std::uint32_t seen = ask<Asked>(p);
  pf::fence<O, Fenced>();
  put(out, get(data), seen);
}

}  // namespace

KERNEL breaks_no_flat__relaxed_agent(float** table, float value) {
  float* volatile hidden = table[pf::thread_rank()];
  *hidden = value;
}

// ---- the scope of an access
KERNEL breaks_at_scope__relaxed_agent(const std::uint32_t* p, pf::vec16* out) {
  put(out, ask<scope::workgroup>(p));
}
KERNEL breaks_at_scope__relaxed_system(const std::uint32_t* p, pf::vec16* out) {
  put(out, ask<scope::workgroup>(p));
}
KERNEL breaks_at_scope__relaxed_workgroup(const std::uint32_t* p, pf::vec16* out) {
  put(out, ask<scope::agent>(p));  // pays for more
}

// ---- releases
KERNEL breaks_release_waits__narrow_release_system(pf::vec16* data, std::uint32_t* p) {
  send<order::release, scope::agent, scope::system>(data, p);
}
KERNEL breaks_release_waits__narrow_release_agent(pf::vec16* data, std::uint32_t* p) {
  send<order::release, scope::workgroup, scope::agent>(data, p);
}
KERNEL breaks_release_waits__alone_release_system(std::uint32_t* p) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");  // clang leaves the wait out: nothing of its own
  tell<scope::system>(p);
}
KERNEL breaks_release_waits__alone_release_agent(std::uint32_t* p) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  tell<scope::agent>(p);
}

// ---- acquires
KERNEL breaks_acquire_invalidates__narrow_acquire_system(const pf::vec16* data,
                                                         const std::uint32_t* p, pf::vec16* out) {
  receive<order::acquire, scope::system, scope::agent>(data, p, out);
}
KERNEL breaks_acquire_invalidates__narrow_acquire_agent(const pf::vec16* data,
                                                        const std::uint32_t* p, pf::vec16* out) {
  receive<order::acquire, scope::agent, scope::workgroup>(data, p, out);
}
KERNEL breaks_acquire_invalidates__late_acquire_system(const pf::vec16* data,
                                                       const std::uint32_t* p, pf::vec16* out) {
  const std::uint32_t seen = ask<scope::system>(p);
  const pf::vec16 early = get(data);
  pf::fence<order::acquire, scope::system>();
  put(out, early, seen);
}

// ---- what stands where
KERNEL breaks_in_order__stored_late_release_workgroup(pf::vec16* data, std::uint32_t* p) {
  pf::fence<order::release, scope::workgroup>();
  tell<scope::workgroup>(p);
  put(data, 1);
}
KERNEL breaks_in_order__read_early_acquire_workgroup(const pf::vec16* data, const std::uint32_t* p,
                                                     pf::vec16* out) {
  const pf::vec16 early = get(data);
  pf::fence<order::acq_rel, scope::workgroup>();
  put(out, early, ask<scope::workgroup>(p));
}
KERNEL breaks_in_order__workgroup_memory_release_agent(pf::vec16* data, std::uint32_t* p) {
  struct words {
    std::uint32_t word[256];
  };
  auto& s = pf::gpu::block_shared<words>();
  put(data, 1);
  pf::drain_stores();
  s.word[pf::thread_rank()] = 1;
  tell<scope::agent>(p);
  p[pf::thread_rank() + 1] = s.word[255 - pf::thread_rank()];
}

// ---- what nobody asked for
KERNEL breaks_pays_no_more__relaxed_system(pf::vec16* data, std::uint32_t* p) {
  send<order::release, scope::system, scope::system>(data, p);
}
KERNEL breaks_pays_no_more__release_system(pf::vec16* data, std::uint32_t* p) {
  send<order::acq_rel, scope::system, scope::system>(data, p);
}
KERNEL breaks_pays_no_more__acquire_system(const pf::vec16* data, const std::uint32_t* p,
                                           pf::vec16* out) {
  receive<order::acq_rel, scope::system, scope::system>(data, p, out);
}
KERNEL breaks_pays_no_more__release_agent(pf::vec16* data, std::uint32_t* p) {
  send<order::release, scope::system, scope::agent>(data, p);
}
KERNEL breaks_pays_no_more__acquire_agent(const pf::vec16* data, const std::uint32_t* p,
                                          pf::vec16* out) {
  receive<order::acquire, scope::agent, scope::system>(data, p, out);
}
KERNEL breaks_pays_no_more__acq_rel_workgroup(const pf::vec16* data, const std::uint32_t* p,
                                              pf::vec16* out) {
  receive<order::acq_rel, scope::workgroup, scope::agent>(data, p, out);
}
KERNEL breaks_pays_no_more__twice_release_system(pf::vec16* data, std::uint32_t* p) {
  pf::fence<order::release, scope::system>();
  send<order::release, scope::system, scope::system>(data, p);
}

KERNEL breaks_native_add__relaxed_system(float* p, float v) {  // not atomic at all
  pf::store_global(p, pf::load_global(p) + v);
}
