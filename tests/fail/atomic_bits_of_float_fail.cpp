// SPDX-License-Identifier: MIT
// EXPECT: hiris: atomic inc, and, or and xor are for integers of 4 or 8 bytes
#include "hiris/atomic.hpp"

void use(const hiris::context& ctx, float* at) {
  static_cast<void>(ctx), static_cast<void>(at);
  // BEGIN FAIL
  hiris::atomic_or<hiris::order::relaxed>(ctx, at, 1.0F, 0);
  // END FAIL
}
