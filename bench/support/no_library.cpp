// SPDX-License-Identifier: MIT
#include "support/library.hpp"

namespace hiris::bench {

std::unique_ptr<library> make_library(const world&) { return nullptr; }

}  // namespace hiris::bench
