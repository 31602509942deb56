// SPDX-License-Identifier: MIT
// Kernels that each break one rule of primitives.py: breaks_<rule> or breaks_<rule>__<how>. They
// are there to show that the rule sees it. Do not learn from them.
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"

using namespace hiris;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

namespace {

HIRIS_DEVICE int thread() { return platform::thread_rank(); }

HIRIS_DEVICE void add(signal_counter* s) { platform::publish_add<scope::system>(&s->arrivals, 1); }

template <order O, scope S = scope::system>
HIRIS_DEVICE void spin(const signal_counter* s, std::uint64_t target) {
  while (!detail::reached(platform::atomic_load<O, S>(&s->arrivals), target)) platform::pause();
}

template <order O>
HIRIS_DEVICE void fence() {
  platform::fence<O, scope::system>();
}

}  // namespace

// ---- the address space, private memory
KERNEL breaks_no_flat(float** table, float value) {
  float* volatile hidden = table[thread()];
  *hidden = value;
}
KERNEL breaks_no_scratch(float* out, const float* in, int n) {
  float local[64];
  for (int i = 0; i < n; ++i) local[(i * 7 + thread()) % 64] = in[i];
  out[thread()] = local[n % 64];
}

// ---- senders
KERNEL breaks_written_through(float* inbox, float value, signal_counter* s) {
  platform::store_global(inbox + thread(), value);  // plain: stays in this device's L2
  block_quiet();
  if (thread() == 0) add(s);
}
KERNEL breaks_drained_before_barrier(platform::vec16* inbox, platform::vec16 value,
                                     signal_counter* s) {
  platform::peer_store(inbox + thread(), value);
  platform::block_sync();  // waits for nobody's stores
  platform::drain_stores();
  if (thread() == 0) add(s);
}
KERNEL breaks_drained_before_barrier__one_wave(platform::vec16* inbox, platform::vec16 value,
                                               signal_counter* s) {
  platform::peer_store(inbox + thread(), value);
  if (platform::wave_rank() == 0) platform::drain_stores();  // the others do not
  platform::block_sync();
  if (thread() == 0) add(s);
}
KERNEL breaks_drained_before_signal(platform::vec16* inbox, platform::vec16 value,
                                    signal_counter* s) {
  platform::peer_store(inbox + thread(), value);
  platform::block_sync();
  if (thread() == 0) add(s);
}
KERNEL breaks_barrier_before_signal(platform::vec16* inbox, platform::vec16 value,
                                    signal_counter* s) {
  platform::peer_store(inbox + thread(), value);
  platform::drain_stores();
  if (thread() == 0) add(s);  // the other waves may not have come this far
}
KERNEL breaks_signals_at_system_scope__agent(signal_counter* s, std::uint64_t* old) {
  // asks for the old value, too, so that gfx90a, whose scopes look alike, has something to see
  *old = platform::atomic_fetch_add<order::relaxed, scope::agent>(&s->arrivals, std::uint64_t{1});
}
KERNEL breaks_signals_at_system_scope__every_wave_twice(signal_counter* s, signal_counter* t) {
  add(s);
  add(t);
}
KERNEL breaks_no_write_back(platform::vec16* inbox, platform::vec16 value, signal_counter* s) {
  platform::peer_store(inbox + thread(), value);
  block_quiet();
  if (thread() == 0)
    platform::atomic_fetch_add<order::release, scope::system>(&s->arrivals, std::uint64_t{1});
}
KERNEL breaks_written_back_before_signal(float* mine, float value, signal_counter* s) {
  platform::store_global(mine + thread(), value);
  block_quiet();
  if (thread() == 0) add(s);
}
KERNEL breaks_written_back_once(float* mine, float value, signal_counter* s) {
  platform::store_global(mine + thread(), value);
  ::fence<order::release>();  // in every wave
  platform::block_sync();
  if (thread() == 0) add(s);
}

// ---- receivers
KERNEL breaks_polls_at_system_scope(const signal_counter* s, std::uint64_t target,
                                    const volatile std::uint64_t* plain, float* out) {
  // workgroup scope: may be answered by a cache for ever
  while (*const_cast<const std::uint64_t*>(plain) + out[0] < target) {
    platform::pause();
    platform::fence<order::acq_rel, scope::workgroup>();
  }
  out[1] = static_cast<float>(s->arrivals);
}
KERNEL breaks_no_acquire_in_spin(const signal_counter* s, std::uint64_t target, const float* inbox,
                                 float* out) {
  spin<order::acquire>(s, target);
  out[thread()] = inbox[thread()];
}
KERNEL breaks_acquires_once__none(const signal_counter* s, std::uint64_t target, const float* inbox,
                                  float* out) {
  spin<order::relaxed>(s, target);
  out[thread()] = inbox[thread()];
}
KERNEL breaks_acquires_once__two(const signal_counter* s, std::uint64_t target, const float* inbox,
                                 float* out) {
  spin<order::relaxed>(s, target);
  ::fence<order::acquire>();
  platform::block_sync();
  out[thread()] = inbox[thread()];
  ::fence<order::acquire>();
  out[thread()] += inbox[thread() + 256];
}
KERNEL breaks_writes_back_and_acquires_once__two(signal_counter* s, std::uint64_t target) {
  for (int peer = 1; peer < 3; ++peer)  // one after the other, and unrolled
    platform::atomic_fetch_add<order::release, scope::system>(&s[peer].arrivals, std::uint64_t{1});
  spin<order::relaxed>(s, target);
  ::fence<order::acquire>();
}
KERNEL breaks_writes_back_and_acquires_once__none(signal_counter* s, std::uint64_t target) {
  platform::atomic_fetch_add<order::release, scope::system>(&s[1].arrivals, std::uint64_t{1});
  spin<order::relaxed>(s, target);
}
KERNEL breaks_acquires_before_use(const signal_counter* s, std::uint64_t target, const float* inbox,
                                  float* out) {
  spin<order::relaxed>(s, target);
  const float early = inbox[thread()];
  ::fence<order::acquire>();
  out[thread()] = early;
}
KERNEL breaks_acquires_before_barrier(const signal_counter* s, std::uint64_t target,
                                      const float* inbox, float* out) {
  if (thread() == 0) spin<order::relaxed>(s, target);
  platform::block_sync();
  if (thread() == 0) ::fence<order::acquire>();  // the other waves are past it
  out[thread()] = inbox[thread()];
}
KERNEL breaks_no_scalar_load_after_acquire(const signal_counter* s, std::uint64_t target,
                                           const float* __restrict__ inbox,
                                           float* __restrict__ out) {
  spin<order::relaxed>(s, target);
  ::fence<order::acquire>();
  out[thread()] = inbox[3];  // "never written while this kernel runs"
}
KERNEL breaks_no_scalar_load_after_acquire__within_a_device(const signal_counter* s,
                                                            std::uint64_t target,
                                                            const float* __restrict__ inbox,
                                                            float* __restrict__ out, int at) {
  spin<order::relaxed, scope::agent>(s, target);
  platform::fence<order::acquire, scope::agent>();
  out[thread()] = inbox[at];
}

// ---- bulk
KERNEL breaks_wide(context ctx, float* inbox, const float* tile, int to, int n) {
  for (int i = thread(); i < n; i += 256)
    store(ctx, inbox + i, platform::load_global(tile + i), to);
}
KERNEL breaks_four_in_flight(platform::vec16* inbox, const platform::vec16* tile, int n) {
  for (int i = thread(); i < n; i += 256) {
    platform::peer_store(inbox + i, platform::load_global(tile + i));
    platform::drain_stores();
  }
}
KERNEL breaks_read_past_caches(platform::vec16* mine, const platform::vec16* theirs, int n) {
  for (int i = thread(); i < n; i += 256)
    platform::store_global(mine + i, platform::load_global(theirs + i));
}
