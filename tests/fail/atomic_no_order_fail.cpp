// SPDX-License-Identifier: MIT
// EXPECT: no matching function for call to
#include "hiris/atomic.hpp"

void use(const hiris::context& ctx, int* at) {
  static_cast<void>(ctx), static_cast<void>(at);
  // BEGIN FAIL
  hiris::atomic_add(ctx, at, 1, 0);  // the order is always written
  // END FAIL
}
