// SPDX-License-Identifier: MIT
/// @file
/// A kernel is a struct; this starts it on a stream, asks how many blocks fit, and loads its code.
///
///     struct scale_kernel {
///       static constexpr int block_threads = 256;
///       struct params { float* x; int n; float factor; };
///       struct shared {};
///       static HIRIS_DEVICE void run(const params& p, shared&) {
///         const int i = platform::block_rank() * block_threads + platform::thread_rank();
///         if (i < p.n) p.x[i] *= p.factor;
///       }
///     };
///     platform::launch<scale_kernel>(stream, (n + 255) / 256, {x, n, 2.0f});
///
/// Every backend has, in hiris::platform:
///     template <class K> void launch(hipStream_t stream, int blocks, const typename K::params& p);
///         Caller host. Throws hiris::error: invalid_argument if blocks < 1, runtime_failed if the
///         runtime refuses. `p` is copied.
///     template <class K> int blocks_per_unit();
///         Workgroups of K that one compute unit of the current device holds at once.
///     template <class K> void load_kernel();
///         Puts the code of K on the current device, so that no later launch has to wait for it.
#pragma once

#include <type_traits>

#include "hiris/platform/config.hpp"
#include "hiris/platform/hip.hpp"

namespace hiris::platform {

/// Holds a kernel to the contract above, with a sentence for each way to break it.
template <class K>
constexpr void require_kernel() {
  static_assert(K::block_threads >= 1 && K::block_threads <= 1024,
                "hiris: K::block_threads must be 1 to 1024");
  static_assert(std::is_trivially_copyable_v<typename K::params>,
                "hiris: K::params must be trivially copyable, it is passed by value");
  static_assert(sizeof(typename K::params) <= 4096, "hiris: K::params must be at most 4 KiB");
  static_assert(alignof(typename K::shared) <= 1024,
                "hiris: K::shared must be aligned to 1024 bytes at most");
}

}  // namespace hiris::platform

#if defined(HIRIS_PLATFORM_AMD)
#include "hiris/platform/launch_amd.hpp"
#elif defined(HIRIS_PLATFORM_CUDA)
#include "hiris/platform/launch_cuda.hpp"
#else
#include "hiris/platform/launch_cpu.hpp"
#endif
