// SPDX-License-Identifier: MIT
/// @file
/// What launching needs to know of cuda: workgroup memory is dynamic, since static memory ends at
/// 48 KiB, and more than that has to be asked for. Usage: see launch.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <type_traits>

#include "hiris/platform/config.hpp"
#include "hiris/platform/hip.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime_error.hpp"

/// Read in place, in constant memory, instead of from a copy.
#define HIRIS_KERNEL_PARAMETER __grid_constant__

namespace hiris::platform::gpu {

/// CUDA's second launch bound counts workgroups a multiprocessor.
constexpr int launch_bound(int /*block_threads*/, int min_blocks) { return min_blocks; }

/// The workgroup memory of the kernel, not initialised.
template <class Shared>
HIRIS_DEVICE Shared& block_shared() {
  extern __shared__ __align__(1024) unsigned char hiris_block_memory[];
  return *reinterpret_cast<Shared*>(hiris_block_memory);
}

template <class K>
constexpr std::size_t dynamic_shared_bytes() {
  return std::is_empty_v<typename K::shared> ? 0 : sizeof(typename K::shared);
}

/// Prepares a kernel, once a kernel and device: raises its limit of workgroup memory above 48 KiB.
template <class K>
void prepare_kernel(const void* kernel) {
  if constexpr (dynamic_shared_bytes<K>() > (std::size_t{48} << 10)) {
    constexpr int most_devices = 64;
    static std::atomic<bool> done[most_devices] = {};
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    if (device < most_devices && done[device].load(std::memory_order_acquire)) return;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(dynamic_shared_bytes<K>())),
          "cudaFuncSetAttribute: " + std::to_string(dynamic_shared_bytes<K>()) +
              " bytes of workgroup memory");
    if (device < most_devices) done[device].store(true, std::memory_order_release);
  }
}

}  // namespace hiris::platform::gpu

#include "hiris/platform/detail/launch_gpu.hpp"
