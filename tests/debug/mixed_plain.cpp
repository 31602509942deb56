// SPDX-License-Identifier: MIT
#include "debug/mixed.hpp"

namespace hiris::test {

static_assert(!platform::debug_build, "this unit is of the plain build");

plain_unit::plain_unit(const world& w)
    : heap(w, {.data_bytes = 4096, .signals = 4}),
      data(heap.allocate<int>(1024)),
      signals(heap.allocate_signals(4)) {}
void plain_unit::store(std::int64_t index, int value, int peer) {
  platform::launch<store_kernel<plain_name>>(
      stream, 1, {heap.device_context(), data.data() + index, value, peer});
}
void plain_unit::synchronize() { heap.synchronize(stream); }
layout plain_unit::layout_here() { return layout_of_unit(); }

}  // namespace hiris::test
