// SPDX-License-Identifier: MIT
// Kernels around one primitive each, whose assembly primitives.py holds to the rules of the
// hardware. Which rules a kernel is held to stands in primitives.py.
#include "hiris/atomic.hpp"
#include "hiris/barrier.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"

using namespace hiris;

#define KERNEL extern "C" __global__ __launch_bounds__(256) void

// ---- senders
KERNEL block_put_notify(context ctx, float* inbox, const float* tile, signal_counter* s, int to,
                        std::uint64_t n) {
  block_put(ctx, inbox, tile, to, n);
  block_notify_peer_stores(ctx, s, to);
}
KERNEL block_copy_notify(context ctx, float* inbox, const float* tile, signal_counter* s, int to,
                         std::uint64_t n) {
  block_copy(ctx, inbox, tile, to, ctx.rank, n);
  block_notify_peer_stores(ctx, s, to);
}
KERNEL block_store_notify(context ctx, double* inbox, double value, signal_counter* s, int to) {
  store(ctx, inbox + platform::thread_rank(), value, to);
  block_notify_peer_stores(ctx, s, to);
}
KERNEL block_plain_notify(context ctx, float* mine, float value, signal_counter* s, int to) {
  platform::store_global(mine + platform::thread_rank(), value);
  block_notify(ctx, s, to);
}
KERNEL wave_put_notify(context ctx, float* inbox, const float* tile, signal_counter* s, int to,
                       std::uint64_t n) {
  wave_put(ctx, inbox, tile, to, n);
  wave_notify_peer_stores(ctx, s, to);
}
KERNEL thread_store_notify(context ctx, double* inbox, double value, signal_counter* s, int to) {
  store(ctx, inbox, value, to);
  notify_peer_stores(ctx, s, to);
}
KERNEL thread_plain_notify(context ctx, float* mine, float value, signal_counter* s, int to) {
  platform::store_global(mine, value);
  notify(ctx, s, to);
}

// Relaxed, and looked up before: a look-up would wait for the stores by the way.
KERNEL thread_quiet(context ctx, double* inbox, double value, std::uint64_t* flag, int to) {
  std::uint64_t* const theirs = ctx.on(to, flag);
  store(ctx, inbox, value, to);
  quiet();
  platform::publish_add<scope::system>(theirs, 1);
}
KERNEL wave_quiet(context ctx, double* inbox, double value, std::uint64_t* flag, int to) {
  std::uint64_t* const theirs = ctx.on(to, flag);
  store(ctx, inbox + platform::thread_rank(), value, to);
  hiris::wave_quiet();
  if (platform::lane_rank() == 0) platform::publish_add<scope::system>(theirs, 1);
}
KERNEL block_quiet(context ctx, double* inbox, double value, std::uint64_t* flag, int to) {
  std::uint64_t* const theirs = ctx.on(to, flag);
  store(ctx, inbox + platform::thread_rank(), value, to);
  hiris::block_quiet();
  if (platform::thread_rank() == 0) platform::publish_add<scope::system>(theirs, 1);
}

// ---- bulk
#define BULK(name, ...)                                                            \
  KERNEL bulk_##name(context ctx, float* to_ptr, const float* from_ptr, int other, \
                     std::uint64_t n) {                                            \
    name(ctx, to_ptr, from_ptr, other, __VA_OPT__(__VA_ARGS__, ) n);               \
  }
BULK(get)
BULK(wave_get)
BULK(block_get)
BULK(put)
BULK(wave_put)
BULK(block_put)
BULK(copy, ctx.rank)
BULK(wave_copy, ctx.rank)
BULK(block_copy, ctx.rank)

// ---- receivers
KERNEL block_wait_consume(context ctx, const signal_counter* s, std::uint64_t target,
                          const float* inbox, float* out, int at) {
  if (block_wait_until(ctx, s, target, any_rank) != wait_status::ok) return;
  out[platform::thread_rank()] = inbox[at] + inbox[platform::thread_rank()];  // uniform and not
}
KERNEL thread_wait_consume(context ctx, const signal_counter* s, std::uint64_t target,
                           const float* inbox, float* out, int at) {
  if (wait_until(ctx, s, target, 0) != wait_status::ok) return;
  out[platform::thread_rank()] = inbox[at] + inbox[platform::thread_rank()];
}
KERNEL block_wait_pull(context ctx, const signal_counter* s, std::uint64_t target,
                       const float* theirs, float* out, int from) {
  const float* const remote = ctx.on(from, theirs);
  if (block_wait_until(ctx, s, target, from) != wait_status::ok) return;
  out[platform::thread_rank()] = platform::load_global(remote + platform::thread_rank());
}
KERNEL barrier_exchange(context ctx, signal_counter* s, std::uint64_t epoch, float* mine,
                        float value, int from) {
  float* const theirs = ctx.on(from, mine);
  platform::store_global(mine + platform::thread_rank(), value);
  if (block_barrier(ctx, s, epoch) != wait_status::ok) return;
  mine[platform::thread_rank() + 256] =
      platform::load_global(theirs + 255 - platform::thread_rank());
}

// ---- every width of a peer access
template <class T>
HIRIS_DEVICE void send(context ctx, T* inbox, T value, signal_counter* s, int to) {
  store(ctx, inbox + platform::thread_rank(), value, to);
  block_notify_peer_stores(ctx, s, to);
}
KERNEL block_store1_notify(context ctx, std::uint8_t* inbox, std::uint8_t v, signal_counter* s,
                           int to) {
  send(ctx, inbox, v, s, to);
}
KERNEL block_store2_notify(context ctx, std::uint16_t* inbox, std::uint16_t v, signal_counter* s,
                           int to) {
  send(ctx, inbox, v, s, to);
}
KERNEL block_store4_notify(context ctx, float* inbox, float v, signal_counter* s, int to) {
  send(ctx, inbox, v, s, to);
}
KERNEL block_store16_notify(context ctx, platform::vec16* inbox, platform::vec16 v,
                            signal_counter* s, int to) {
  send(ctx, inbox, v, s, to);
}
KERNEL load_widths(context ctx, const std::uint8_t* a, const std::uint16_t* b, const float* c,
                   const double* d, double* out, int from) {
  const int t = platform::thread_rank();
  out[t] = load(ctx, a + t, from) + load(ctx, b + t, from) + load(ctx, c + t, from) +
           load(ctx, d + t, from);
}
KERNEL load16(context ctx, const platform::vec16* in, platform::vec16* out, int from) {
  const int t = platform::thread_rank();
  platform::store_global(out + t, load(ctx, in + t, from));
}
