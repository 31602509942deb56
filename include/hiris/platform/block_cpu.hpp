// SPDX-License-Identifier: MIT
/// @file
/// Reductions and scans over a workgroup, on the emulator. Include block.hpp, not this.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hiris::platform {

template <class T, int Threads>
struct block_scratch {
  T value[static_cast<std::size_t>(Threads)];
};

namespace cpu {

/// Thread 0 folds the values in order; everyone gets the result.
template <class T, int Threads, class F>
T fold_block(T value, block_scratch<T, Threads>& scratch, F f) {
  block_sync();
  scratch.value[thread_rank()] = value;
  block_sync();
  if (thread_rank() == 0)
    for (int i = 1; i < Threads; ++i) scratch.value[0] = f(scratch.value[0], scratch.value[i]);
  block_sync();
  const T result = scratch.value[0];
  block_sync();
  return result;
}

}  // namespace cpu

template <class T, int Threads>
T block_reduce_add(T value, block_scratch<T, Threads>& scratch) {
  return cpu::fold_block(value, scratch, [](T a, T b) { return a + b; });
}
template <class T, int Threads>
T block_reduce_min(T value, block_scratch<T, Threads>& scratch) {
  return cpu::fold_block(value, scratch, [](T a, T b) { return std::min(a, b); });
}
template <class T, int Threads>
T block_reduce_max(T value, block_scratch<T, Threads>& scratch) {
  return cpu::fold_block(value, scratch, [](T a, T b) { return std::max(a, b); });
}

template <class T, int Threads>
T block_scan_add(T value, block_scratch<T, Threads>& scratch) {
  block_sync();
  scratch.value[thread_rank()] = value;
  block_sync();
  if (thread_rank() == 0) {
    T sum{};
    for (T& v : scratch.value) {
      const T own = v;
      v = sum;
      sum = sum + own;
    }
  }
  block_sync();
  const T result = scratch.value[thread_rank()];
  block_sync();
  return result;
}

}  // namespace hiris::platform
