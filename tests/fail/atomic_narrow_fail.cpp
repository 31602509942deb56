// SPDX-License-Identifier: MIT
// EXPECT: hiris: atomic add, sub, min and max are for integers, float and double of 4 or 8 bytes
#include "hiris/atomic.hpp"

void use(const hiris::context& ctx, short* at) {
  static_cast<void>(ctx), static_cast<void>(at);
  // BEGIN FAIL
  hiris::atomic_add<hiris::order::relaxed>(ctx, at, short{1}, 0);
  // END FAIL
}
