// SPDX-License-Identifier: MIT
/// @file
/// The device contract on cuda: ranks, rendezvous, shuffles, time. Atomics and memory accesses are
/// in the file that this one includes. The contract itself is in device.hpp.
///
///     if (platform::lane_rank() == 0) per_wave[platform::wave_rank()] = platform::wave_ballot(x);
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/device_cuda_memory.hpp"

namespace hiris::platform {

/// Lanes of a wave (a warp).
inline constexpr int wave_size = 32;

namespace cuda_detail {
inline constexpr unsigned all_lanes = 0xffffffffu;  // lanes that have ended do not count
}

/// Rank of this thread in its workgroup, 0 .. block_threads()-1.
HIRIS_DEVICE int thread_rank() { return static_cast<int>(threadIdx.x); }
/// Rank of this lane in its wave.
HIRIS_DEVICE int lane_rank() { return thread_rank() % wave_size; }
/// Rank of this wave in its workgroup.
HIRIS_DEVICE int wave_rank() { return thread_rank() / wave_size; }
/// Rank of this workgroup in the launch.
HIRIS_DEVICE int block_rank() { return static_cast<int>(blockIdx.x); }
/// Workgroups in the launch.
HIRIS_DEVICE int block_count() { return static_cast<int>(gridDim.x); }
/// Threads in a workgroup.
HIRIS_DEVICE int block_threads() { return static_cast<int>(blockDim.x); }

/// All threads of the workgroup meet; what they wrote to any memory is visible to each other.
HIRIS_DEVICE void block_sync() { __syncthreads(); }
/// The lanes of the wave meet; what they wrote to any memory is visible to each other.
HIRIS_DEVICE void wave_sync() { __syncwarp(); }
/// Whether `condition` holds for any thread of the workgroup; all threads meet.
HIRIS_DEVICE bool block_any(bool condition) { return __syncthreads_or(condition ? 1 : 0) != 0; }

/// The lanes of the wave for which `condition` holds, one bit each.
HIRIS_DEVICE std::uint64_t wave_ballot(bool condition) {
  return __ballot_sync(cuda_detail::all_lanes, condition ? 1 : 0);
}

/// The value that `lane` (modulo wave_size) of the wave passed.
template <class T>
HIRIS_DEVICE T wave_shuffle(T value, int lane) {
  static_assert(std::is_trivially_copyable_v<T>, "hiris: a shuffle moves bytes");
  struct words {
    unsigned word[(sizeof(T) + 3) / 4];
  };
  words moved{};
  std::memcpy(&moved, &value, sizeof(T));
  for (unsigned& word : moved.word)
    word = __shfl_sync(cuda_detail::all_lanes, word, lane, wave_size);
  std::memcpy(&value, &moved, sizeof(T));
  return value;
}

/// The value that the lane whose rank differs in the bits of `mask` passed.
template <class T>
HIRIS_DEVICE T wave_shuffle_xor(T value, int mask) {
  return wave_shuffle(value, lane_rank() ^ mask);
}

/// `value`, which all lanes of the wave hold alike. A hint that matters on amd only.
template <class T>
HIRIS_DEVICE T wave_uniform(T value) {
  return value;
}

/// `value`, as if it were computed here: what follows from it is not kept in registers over a loop.
/// For addresses whose arithmetic is cheaper than the registers that they would hold.
HIRIS_DEVICE int recomputed(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// Sixteen loaded bytes until they are used. A type that matters on amd only.
using held16 = vec16;
HIRIS_DEVICE held16 hold(const vec16& loaded) { return loaded; }
HIRIS_DEVICE vec16 let_go(const held16& held) { return held; }

/// Gives way for a moment; belongs in every loop that waits.
HIRIS_DEVICE void pause() { __nanosleep(20); }

/// Wall clock in nanoseconds, monotonic on one device. Moves in steps of up to a microsecond.
HIRIS_DEVICE std::uint64_t clock_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Statistics are the emulator's.
HIRIS_DEVICE void count(counter /*what*/, std::uint64_t /*n*/) {}
HIRIS_DEVICE void require(bool /*holds*/, const char* /*text*/) {}

}  // namespace hiris::platform
