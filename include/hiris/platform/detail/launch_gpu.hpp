// SPDX-License-Identifier: MIT
/// @file
/// Starts a kernel struct on amd and cuda: the one __global__ template of the library.
///
/// `launch_amd.hpp` and `launch_cuda.hpp` say what differs: where workgroup memory lies
/// (block_shared), what the second launch bound counts (launch_bound) and what must be told to the
/// runtime before a launch (dynamic_shared_bytes, prepare_kernel). Usage: see launch.hpp.
#pragma once

#include <string>
#include <type_traits>

#include "hiris/error.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/hip.hpp"
#include "hiris/platform/runtime_error.hpp"

namespace hiris::platform {
namespace gpu {

/// Workgroups of K that a compute unit is to hold at least: K::min_blocks_per_unit, or 1. The
/// compiler keeps the registers of K low enough for it.
template <class K>
constexpr int min_blocks_per_unit() {
  if constexpr (requires { K::min_blocks_per_unit; })
    return K::min_blocks_per_unit;
  else
    return 1;
}

template <class K>
__global__ void __launch_bounds__(K::block_threads,
                                  launch_bound(K::block_threads, min_blocks_per_unit<K>()))
    kernel_entry(HIRIS_KERNEL_PARAMETER const typename K::params p) {
  K::run(p, block_shared<typename K::shared>());
}

template <class K>
const void* kernel_of() {
  return reinterpret_cast<const void*>(&kernel_entry<K>);
}

template <class K>
std::string describe_launch(int blocks) {
  return "launch of " + std::to_string(blocks) + " workgroups of " +
         std::to_string(K::block_threads) + " threads with " +
         std::to_string(sizeof(typename K::shared)) + " bytes of workgroup memory";
}

}  // namespace gpu

/// Puts `blocks` workgroups of K on a stream; `p` is copied before it returns.
///
/// Caller   host; in a capture too, once load_kernel<K>() has been called.
///
/// @param blocks  At least 1. For kernels that wait for each other: no more than are resident at
///                once.
/// @throws hiris::error  errc::invalid_argument if blocks < 1, errc::runtime_failed if refused.
template <class K>
void launch(hipStream_t on, int blocks, const typename K::params& p) {
  require_kernel<K>();
  if (blocks < 1)
    throw error(errc::invalid_argument, -1,
                gpu::describe_launch<K>(blocks) + ": allowed are 1 or more workgroups");
  gpu::prepare_kernel<K>(gpu::kernel_of<K>());
  void* arguments[] = {const_cast<typename K::params*>(&p)};
  check(hipLaunchKernel(gpu::kernel_of<K>(), dim3(static_cast<unsigned>(blocks)),
                        dim3(static_cast<unsigned>(K::block_threads)), arguments,
                        gpu::dynamic_shared_bytes<K>(), on),
        gpu::describe_launch<K>(blocks));
}

/// Workgroups of K that one compute unit of the current device holds at once; 0 if none fits.
///
/// Caller   host.
template <class K>
int blocks_per_unit() {
  require_kernel<K>();
  gpu::prepare_kernel<K>(gpu::kernel_of<K>());
  int blocks = 0;
  check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gpu::kernel_of<K>(), K::block_threads,
                                                     gpu::dynamic_shared_bytes<K>()),
        "hipOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

/// Puts the code of K on the current device. Both runtimes do it at the first launch otherwise, and
/// that waits for running kernels: for ever, if they wait for K. Asking for a kernel's attributes
/// is the call that both document or implement as loading it.
///
/// Caller   host.
template <class K>
void load_kernel() {
  require_kernel<K>();
  gpu::prepare_kernel<K>(gpu::kernel_of<K>());
  hipFuncAttributes attributes{};
  check(hipFuncGetAttributes(&attributes, gpu::kernel_of<K>()), "hipFuncGetAttributes");
}

}  // namespace hiris::platform
