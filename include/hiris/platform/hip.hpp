// SPDX-License-Identifier: MIT
/// @file
/// The HIP names of the host side, on every platform.
///
/// amd: the HIP runtime itself. cuda: a short map of HIP names onto the CUDA runtime. cpu: the
/// emulator's own implementation. The list of names that all three have is in docs/porting.md.
///
///     float* p = nullptr;
///     if (hipMalloc(&p, 1024 * sizeof(float)) != hipSuccess)
///       puts(hipGetErrorString(hipGetLastError()));
#pragma once

#include "hiris/platform/config.hpp"

#if defined(HIRIS_PLATFORM_AMD)
#include <hip/hip_runtime.h>
#elif defined(HIRIS_PLATFORM_CUDA)
#include "hiris/platform/hip_cuda.hpp"
#else
#include "hiris/platform/hip_cpu.hpp"
#endif
