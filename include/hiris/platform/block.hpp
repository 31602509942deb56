// SPDX-License-Identifier: MIT
/// @file
/// Reductions and scans over a workgroup: shuffles and one value a wave on GPUs, loops on cpu.
///
///     struct shared { platform::block_scratch<float, 256> scratch; };
///     const float total = platform::block_reduce_add(x, s.scratch);    // the same on every thread
///     const int before = platform::block_scan_add(n, s.scratch_of_int);  // sum over lower threads
///
/// Every backend has, in hiris::platform:
///     template <class T, int Threads> struct block_scratch;   // member of K::shared
///     T block_reduce_add(T value, block_scratch<T, Threads>&);   likewise block_reduce_min, _max
///     T block_scan_add(T value, block_scratch<T, Threads>&);     exclusive: thread 0 gets 0
/// T is int32, uint32, int64, uint64, float or double; Threads is the kernel's block_threads.
/// Caller: all threads of the block, converged. The scratch may be used again at once (every call
/// begins and ends with a block_sync). Sums of floats are taken in an order that a backend chooses,
/// the same in every run.
#pragma once

#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

#if defined(HIRIS_PLATFORM_AMD)
#include "hiris/platform/block_amd.hpp"
#elif defined(HIRIS_PLATFORM_CUDA)
#include "hiris/platform/block_cuda.hpp"
#else
#include "hiris/platform/block_cpu.hpp"
#endif
