// SPDX-License-Identifier: MIT
/// @file
/// The device contract on amd: ranks, rendezvous, shuffles, time. Atomics and memory accesses are
/// in the two files that this one includes. The contract itself is in device.hpp.
///
///     if (platform::lane_rank() == 0) per_wave[platform::wave_rank()] = platform::wave_ballot(x);
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/device_amd_atomic.hpp"
#include "hiris/platform/device_amd_memory.hpp"

namespace hiris::platform {

/// Lanes of a wave. CDNA knows no other width.
inline constexpr int wave_size = 64;

/// Rank of this thread in its workgroup, 0 .. block_threads()-1.
HIRIS_DEVICE int thread_rank() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
/// Rank of this lane in its wave.
HIRIS_DEVICE int lane_rank() { return thread_rank() % wave_size; }
/// Rank of this wave in its workgroup. The compiler is told that all lanes agree on it, so that
/// addresses made of it stay in scalar registers.
HIRIS_DEVICE int wave_rank() { return __builtin_amdgcn_readfirstlane(thread_rank() / wave_size); }
/// Rank of this workgroup in the launch.
HIRIS_DEVICE int block_rank() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
/// Workgroups in the launch.
HIRIS_DEVICE int block_count() { return static_cast<int>(gridDim.x); }
/// Threads in a workgroup.
HIRIS_DEVICE int block_threads() { return static_cast<int>(blockDim.x); }

/// All threads of the workgroup meet; what they wrote to workgroup memory is visible to each other.
/// Does NOT wait for other waves' stores to global memory: drain_stores() first where that matters.
HIRIS_DEVICE void block_sync() { __syncthreads(); }

/// The lanes of the wave meet; what they wrote to workgroup memory is visible to each other.
HIRIS_DEVICE void wave_sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/// Whether `condition` holds for any thread of the workgroup; all threads meet.
HIRIS_DEVICE bool block_any(bool condition) { return __syncthreads_or(condition ? 1 : 0) != 0; }

/// The lanes of the wave for which `condition` holds, one bit each.
HIRIS_DEVICE std::uint64_t wave_ballot(bool condition) {
  return __builtin_amdgcn_ballot_w64(condition);
}

/// The value that `lane` (modulo wave_size) of the wave passed.
template <class T>
HIRIS_DEVICE T wave_shuffle(T value, int lane) {
  static_assert(std::is_trivially_copyable_v<T>, "hiris: a shuffle moves bytes");
  struct words {
    int word[(sizeof(T) + 3) / 4];
  };
  words moved{};
  if constexpr (sizeof(T) == sizeof(words))
    moved = __builtin_bit_cast(words, value);
  else
    std::memcpy(&moved, &value, sizeof(T));
  for (int& word : moved.word) word = __builtin_amdgcn_ds_bpermute(lane * 4, word);
  if constexpr (sizeof(T) == sizeof(words))
    return __builtin_bit_cast(T, moved);
  else
    std::memcpy(&value, &moved, sizeof(T));
  return value;
}

/// The value that the lane whose rank differs in the bits of `mask` passed.
template <class T>
HIRIS_DEVICE T wave_shuffle_xor(T value, int mask) {
  return wave_shuffle(value, lane_rank() ^ mask);
}

/// `value`, which all lanes of the wave hold alike, in scalar registers: branches on it and
/// addresses made from it then cost no vector instructions. Of 4 or 8 bytes.
template <class T>
HIRIS_DEVICE T wave_uniform(T value) {
  static_assert(sizeof(T) % 4 == 0, "hiris: wave_uniform takes whole words");
  struct words {
    int word[sizeof(T) / 4];
  };
  words same = __builtin_bit_cast(words, value);
  for (int& word : same.word) word = __builtin_amdgcn_readfirstlane(word);
  return __builtin_bit_cast(T, same);
}

/// `value`. A hint that matters on cuda only.
HIRIS_DEVICE int recomputed(int value) { return value; }

/// Gives way for some 64 clocks; belongs in every loop that waits.
HIRIS_DEVICE void pause() { __builtin_amdgcn_s_sleep(1); }

/// Wall clock in nanoseconds, monotonic on one device. CDNA's real-time counter runs at 100 MHz
/// whatever the core clock does (hipDeviceAttributeWallClockRate says so: 100,000 kHz).
HIRIS_DEVICE std::uint64_t clock_ns() { return __builtin_amdgcn_s_memrealtime() * 10; }

/// Statistics are the emulator's.
HIRIS_DEVICE void count(counter /*what*/, std::uint64_t /*n*/) {}
HIRIS_DEVICE void require(bool /*holds*/, const char* /*text*/) {}

}  // namespace hiris::platform
