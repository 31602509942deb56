// SPDX-License-Identifier: MIT
// EXPECT: define exactly one of HIRIS_PLATFORM_AMD, HIRIS_PLATFORM_CUDA, HIRIS_PLATFORM_CPU
// BEGIN FAIL
#define HIRIS_PLATFORM_CUDA 1
// END FAIL
#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"

int main() {}
