// SPDX-License-Identifier: MIT
/// @file
/// The few functions of fp32 that kernels need, the same names on every platform.
///
///     const float weight = platform::exp2(score - most);    // exp2(-inf) is 0
#pragma once

#include <math.h>  // the global names: those that the device compilers know

#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"

namespace hiris::platform {

/// 2^x, within 2 ulp; 0 for -inf.
///
/// Caller   thread.
HIRIS_DEVICE float exp2(float x) { return ::exp2f(x); }

/// Logarithm to base 2, within 2 ulp; -inf for 0.
///
/// Caller   thread.
HIRIS_DEVICE float log2(float x) { return ::log2f(x); }

/// Hyperbolic tangent, within 2 ulp.
///
/// Caller   thread.
HIRIS_DEVICE float tanh(float x) { return ::tanhf(x); }

}  // namespace hiris::platform
