// SPDX-License-Identifier: MIT
/// @file
/// What launching needs to know of amd: workgroup memory is static, so the compiler sees its size.
/// Usage: see launch.hpp.
#pragma once

#include <cstddef>

#include "hiris/platform/config.hpp"
#include "hiris/platform/hip.hpp"
#include "hiris/platform/launch.hpp"

/// Kernel parameters lie in constant memory as they are.
#define HIRIS_KERNEL_PARAMETER

namespace hiris::platform::gpu {

/// HIP's second launch bound counts waves a SIMD (there are four a compute unit).
constexpr int launch_bound(int block_threads, int min_blocks) {
  return (min_blocks * ((block_threads + 63) / 64) + 3) / 4;
}

/// The workgroup memory of the kernel, not initialised.
template <class Shared>
HIRIS_DEVICE Shared& block_shared() {
  __shared__ alignas(alignof(Shared)) unsigned char memory[sizeof(Shared)];
  return *reinterpret_cast<Shared*>(memory);
}

template <class K>
constexpr std::size_t dynamic_shared_bytes() {
  return 0;
}

template <class K>
void prepare_kernel(const void* /*kernel*/) {}

}  // namespace hiris::platform::gpu

#include "hiris/platform/detail/launch_gpu.hpp"
