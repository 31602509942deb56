// SPDX-License-Identifier: MIT
// EXPECT: hiris: a symmetric region holds bytes that kernels of any rank may copy
#include <string>

#include "hiris/heap.hpp"

void use(hiris::symmetric_heap& heap, std::string* pointer) {
  static_cast<void>(heap), static_cast<void>(pointer);
  // BEGIN FAIL
  static_cast<void>(heap.attach(pointer, 1));
  // END FAIL
}
