// SPDX-License-Identifier: MIT
/// @file
/// What a thread can do on the device: ranks, rendezvous, scoped atomics, wide peer accesses, time.
///
/// Names of hiris::platform, the same on amd, cuda and cpu. docs/porting.md has the whole contract.
///
///     namespace pf = hiris::platform;
///     const std::uint64_t vote = pf::wave_ballot(x > 0);   // all lanes of the wave, converged
///     pf::peer_store(to + pf::thread_rank(), value);       // up to 16 bytes, written through
///     pf::drain_stores();                                  // every wave ...
///     pf::block_sync();                                    // ... before one thread tells
///     if (pf::thread_rank() == 0) pf::publish_add<scope::system>(&arrivals, 1);
///
/// Ranks       int thread_rank() lane_rank() wave_rank() block_rank() block_count()
///             block_threads(); constexpr int wave_size. A block is one-dimensional.
/// Rendezvous  block_sync() wave_sync() block_any(bool); wave_shuffle(v, lane)
///             wave_shuffle_xor(v, mask) wave_ballot(bool). All lanes that have not ended take
///             part. A shuffle moves any trivially copyable type; lane numbers wrap at wave_size.
/// Atomics     atomic_load atomic_store atomic_exchange atomic_compare_exchange and atomic_fetch_
///             add sub and or xor min max, all <order, scope>; fence<order, scope>(). Order and
///             scope are written at every call.
/// Publishing  drain_stores(): what publish_add needs of every thread that has stored;
///             publish_add<scope>(p, n): the signal that follows drain_stores() and block_sync();
///             complete_stores(): this wave's stores are complete at system scope.
/// Peer data   peer_load peer_store: 1, 2, 4, 8, 16 bytes, system scope, past the caches;
///             load_global: a plain load of the same sizes that may hit caches. held16 hold(v)
///             let_go(h): what was loaded ahead, 16 bytes, from the load to its use.
/// Waiting     pause() in every spin; clock_ns() is monotonic wall time.
/// Counting    count(counter, n): the emulator's statistics, nothing elsewhere.
/// Checking    require(holds, text): the emulator ends the kernel with the text; nothing elsewhere.
#pragma once

#include <cstdint>

#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"

namespace hiris::platform {

/// Sixteen bytes that move with one instruction.
struct alignas(16) vec16 {
  std::uint32_t word[4];
};

/// What the emulator counts a device, so that a test can hold an op to its stated taxes.
enum class counter : std::uint8_t {
  global_barriers,  ///< Barriers of all ranks, counted once a rank.
  signals,          ///< Arrivals sent to any rank.
  remote_bytes      ///< Bytes of data read from or written to another device.
};

}  // namespace hiris::platform

#if defined(HIRIS_PLATFORM_AMD)
#include "hiris/platform/device_amd.hpp"
#elif defined(HIRIS_PLATFORM_CUDA)
#include "hiris/platform/device_cuda.hpp"
#else
#include "hiris/platform/device_cpu.hpp"
#endif
