// SPDX-License-Identifier: MIT
// EXPECT: hiris: a symmetric array holds bytes that kernels of any rank may copy
#include <string>

#include "hiris/heap.hpp"

void use(hiris::symmetric_heap& heap) {
  static_cast<void>(heap);
  // BEGIN FAIL
  static_cast<void>(heap.allocate<std::string>(1));
  // END FAIL
}
