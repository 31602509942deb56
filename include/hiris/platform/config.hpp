// SPDX-License-Identifier: MIT
/// @file
/// Which platform this translation unit is compiled for, and the few attributes that differ.
///
/// This is the one place that looks at compiler macros. A build says which platform it wants by
/// defining `HIRIS_PLATFORM_AMD`, `HIRIS_PLATFORM_CUDA` or `HIRIS_PLATFORM_CPU` (the CMake targets
/// `hiris::amd`, `hiris::cuda` and `hiris::cpu` do); without one the compiler decides.
#pragma once

#if !defined(HIRIS_PLATFORM_AMD) && !defined(HIRIS_PLATFORM_CUDA) && !defined(HIRIS_PLATFORM_CPU)
#if defined(__HIP__) || defined(__HIPCC__)
#define HIRIS_PLATFORM_AMD 1
#elif defined(__CUDACC__)
#define HIRIS_PLATFORM_CUDA 1
#else
#define HIRIS_PLATFORM_CPU 1
#endif
#endif

#if defined(HIRIS_PLATFORM_AMD) + defined(HIRIS_PLATFORM_CUDA) + defined(HIRIS_PLATFORM_CPU) != 1
#error "hiris: define exactly one of HIRIS_PLATFORM_AMD, HIRIS_PLATFORM_CUDA, HIRIS_PLATFORM_CPU"
#endif

#if defined(HIRIS_PLATFORM_AMD) && !defined(__HIP__)
#error "hiris: HIRIS_PLATFORM_AMD needs hipcc (or clang++ -x hip)"
#endif
#if defined(HIRIS_PLATFORM_CUDA) && !defined(__CUDACC__)
#error "hiris: HIRIS_PLATFORM_CUDA needs nvcc"
#endif

/// 1 asks for a debug build (CMake: the property or variable HIRIS_DEBUG), whose primitives check
/// what they are asked to do. On the emulator what runs on the device is then inlined always, as
/// everywhere else it is anyway, so that the linker never gives one translation unit the functions
/// of another that was compiled without.
#if !defined(HIRIS_DEBUG)
#define HIRIS_DEBUG 0
#endif

/// Marks a function that runs on the device. It implies `inline`, so that headers may define it.
/// `HIRIS_HOST_DEVICE` marks one that runs on both sides.
#if defined(HIRIS_PLATFORM_CPU)
#if HIRIS_DEBUG
#define HIRIS_DEVICE inline __attribute__((always_inline))
#else
#define HIRIS_DEVICE inline
#endif
#define HIRIS_HOST_DEVICE inline
#elif defined(HIRIS_PLATFORM_AMD)  // __forceinline__ would need <hip/hip_runtime.h>
#define HIRIS_DEVICE __device__ inline __attribute__((always_inline))
#define HIRIS_HOST_DEVICE __host__ __device__ inline __attribute__((always_inline))
#else
#define HIRIS_DEVICE __device__ __forceinline__
#define HIRIS_HOST_DEVICE __host__ __device__ __forceinline__
#endif

/// In front of a loop: unroll it whole, so that the arrays it indexes stay in registers, or not at
/// all, where a path that is rarely taken should stay small. The emulator leaves both to the
/// compiler.
#if defined(HIRIS_PLATFORM_CPU)
#define HIRIS_UNROLL
#define HIRIS_NO_UNROLL
#else
#define HIRIS_UNROLL _Pragma("unroll")
#define HIRIS_NO_UNROLL _Pragma("unroll 1")
#endif

namespace hiris::platform {

/// Whether this is a debug build.
inline constexpr bool debug_build = HIRIS_DEBUG != 0;

/// Whether this compilation is for a CDNA whose matrix instructions take twice the k (gfx950).
#if defined(__gfx950__)
inline constexpr bool amd_has_double_k = true;
#else
inline constexpr bool amd_has_double_k = false;
#endif

/// Whether relaxed atomics at system scope pass the L2 whatever the memory; not on gfx90a.
#if defined(__gfx90a__)
inline constexpr bool amd_atomics_pass_caches = false;
#else
inline constexpr bool amd_atomics_pass_caches = true;
#endif

}  // namespace hiris::platform
