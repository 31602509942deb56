// SPDX-License-Identifier: MIT
// EXPECT: HIRIS_PLATFORM_AMD needs hipcc
// BEGIN FAIL
#undef HIRIS_PLATFORM_CPU
#define HIRIS_PLATFORM_AMD 1
// END FAIL
#include "hiris/platform/config.hpp"

int main() {}
