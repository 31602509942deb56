// SPDX-License-Identifier: MIT
// EXPECT: hiris: elements of 1 to 16 bytes travel between ranks
#include "hiris/rma.hpp"

struct large {
  char bytes[17];
};

void use(const hiris::context& ctx, large* to, const large* from) {
  static_cast<void>(ctx), static_cast<void>(to), static_cast<void>(from);
  // BEGIN FAIL
  hiris::put(ctx, to, from, 1, 1);
  // END FAIL
}
