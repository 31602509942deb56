// SPDX-License-Identifier: MIT
/// @file
/// Reductions and scans over a workgroup on amd and cuda: shuffles in a wave, then one value a wave
/// through workgroup memory. Contract and usage: block.hpp.
///
/// rocPRIM and CUB have these too, but rocPRIM 6.4 does not compile for gfx950 (its
/// intrinsics/atomic.hpp stops with #error), and one implementation sums in one order on both. A
/// workgroup needs them once or twice a kernel, so that nothing is lost.
#pragma once

#include <cstddef>

#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris::platform {

/// Workgroup memory of a reduction or scan: a member of K::shared.
template <class T, int Threads>
struct block_scratch {
  static_assert(Threads >= 1 && Threads <= 1024, "hiris: a workgroup has 1 to 1024 threads");
  T wave_total[static_cast<std::size_t>((Threads + wave_size - 1) / wave_size)];
};

namespace gpu {

/// Lanes that the wave of this thread has: the last wave of a workgroup may be short.
template <int Threads>
HIRIS_DEVICE int wave_lanes() {
  const int rest = Threads - wave_rank() * wave_size;
  return rest < wave_size ? rest : wave_size;
}

/// Combines the values of all threads in the order of halving distances; the same on every thread.
template <class T, int Threads, class Combine>
HIRIS_DEVICE T block_reduce(T value, block_scratch<T, Threads>& scratch, Combine combine) {
  constexpr int n_waves = (Threads + wave_size - 1) / wave_size;
  const int lanes = wave_lanes<Threads>();
  for (int distance = wave_size / 2; distance > 0; distance /= 2) {
    const T other = wave_shuffle(value, lane_rank() + distance);
    if (lane_rank() + distance < lanes) value = combine(value, other);
  }
  block_sync();
  if (lane_rank() == 0) scratch.wave_total[wave_rank()] = value;
  block_sync();
  T total = scratch.wave_total[0];
  for (int wave = 1; wave < n_waves; ++wave) total = combine(total, scratch.wave_total[wave]);
  block_sync();
  return total;
}

}  // namespace gpu

/// Sum over all threads of the block, the same on every thread.
template <class T, int Threads>
HIRIS_DEVICE T block_reduce_add(T value, block_scratch<T, Threads>& scratch) {
  return gpu::block_reduce(value, scratch, [](T a, T b) { return static_cast<T>(a + b); });
}

/// Least value of all threads of the block, the same on every thread.
template <class T, int Threads>
HIRIS_DEVICE T block_reduce_min(T value, block_scratch<T, Threads>& scratch) {
  return gpu::block_reduce(value, scratch, [](T a, T b) { return b < a ? b : a; });
}

/// Greatest value of all threads of the block, the same on every thread.
template <class T, int Threads>
HIRIS_DEVICE T block_reduce_max(T value, block_scratch<T, Threads>& scratch) {
  return gpu::block_reduce(value, scratch, [](T a, T b) { return a < b ? b : a; });
}

/// Sum over the threads of lower rank; thread 0 gets 0.
template <class T, int Threads>
HIRIS_DEVICE T block_scan_add(T value, block_scratch<T, Threads>& scratch) {
  T sum = value;  // over the lanes up to this one
  for (int distance = 1; distance < wave_size; distance *= 2) {
    const T other = wave_shuffle(sum, lane_rank() - distance);
    if (lane_rank() >= distance) sum = static_cast<T>(other + sum);
  }
  T before = wave_shuffle(sum, lane_rank() - 1);  // over the lanes below this one
  if (lane_rank() == 0) before = T{0};
  block_sync();
  if (lane_rank() == gpu::wave_lanes<Threads>() - 1) scratch.wave_total[wave_rank()] = sum;
  block_sync();
  T waves = T{0};
  for (int wave = 0; wave < wave_rank(); ++wave)
    waves = static_cast<T>(waves + scratch.wave_total[wave]);
  block_sync();
  return static_cast<T>(waves + before);
}

}  // namespace hiris::platform
