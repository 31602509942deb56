// SPDX-License-Identifier: MIT
// EXPECT: hiris: atomic xchg and cas are for trivially copyable types of 4 or 8 bytes
#include "hiris/atomic.hpp"

struct triple {
  int words[3];
};

void use(const hiris::context& ctx, triple* at) {
  static_cast<void>(ctx), static_cast<void>(at);
  // BEGIN FAIL
  hiris::atomic_xchg<hiris::order::relaxed>(ctx, at, triple{}, 0);
  // END FAIL
}
