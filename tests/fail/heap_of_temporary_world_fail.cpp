// SPDX-License-Identifier: MIT
// EXPECT: deleted
#include <memory>
#include <utility>

#include "hiris/heap.hpp"

void use(std::shared_ptr<hiris::bootstrap> boot) {
  static_cast<void>(boot);
  // BEGIN FAIL
  hiris::symmetric_heap heap{hiris::world(std::move(boot))};  // its world would be gone at once
  // END FAIL
}
