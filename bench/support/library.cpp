// SPDX-License-Identifier: MIT
#include <cstdio>

#include "hiris/collectives.hpp"
#include "hiris/error.hpp"
#include "support/library.hpp"

namespace hiris::bench {
namespace {

struct linked_library : library {
  explicit linked_library(const world& w) : calls(w) { all_gather = calls.all_gather_call(); }
  collectives calls;
};

}  // namespace

std::unique_ptr<library> make_library(const world& w) {
  try {
    return std::make_unique<linked_library>(w);
  } catch (const error& e) {  // the same on all ranks
    if (e.code() != errc::unsupported) throw;
    if (w.rank() == 0) std::printf("no row of the vendor's all-gather: %s\n", e.what());
    return nullptr;
  }
}

}  // namespace hiris::bench
