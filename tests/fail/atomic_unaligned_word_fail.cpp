// SPDX-License-Identifier: MIT
// EXPECT: hiris: an atomic object stands at its natural alignment
#include "hiris/atomic.hpp"

struct pair {
  int words[2];
};

void use(const hiris::context& ctx, pair* at) {
  static_cast<void>(ctx), static_cast<void>(at);
  // BEGIN FAIL
  hiris::atomic_cas<hiris::order::relaxed>(ctx, at, pair{}, pair{}, 0);
  // END FAIL
}
