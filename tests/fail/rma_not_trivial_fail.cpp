// SPDX-License-Identifier: MIT
// EXPECT: hiris: only trivially copyable types travel between ranks
#include "hiris/rma.hpp"

struct counted {
  int value = 0;
  counted() = default;
  counted(const counted& other) : value(other.value + 1) {}
};

void use(const hiris::context& ctx, counted* at) {
  static_cast<void>(ctx), static_cast<void>(at);
  // BEGIN FAIL
  hiris::store(ctx, at, counted{}, 1);
  // END FAIL
}
