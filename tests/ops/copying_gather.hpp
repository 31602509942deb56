// SPDX-License-Identifier: MIT
/// @file
/// An all-gather that is not ours, for bulk_synchronous: copies between two barriers.
///
///     copying_gather gather(w, heap);
///     decode_rank<float16> mine(w, heap, with(c, gather), flash_decode_variant::bulk_synchronous);
#pragma once

#include <cstddef>
#include <vector>

#include "hiris/stream_barrier.hpp"
#include "hiris/world.hpp"
#include "ops/flash_decode_reference.hpp"
#include "support/device_test.hpp"

namespace hiris::test {

/// An all-gather of ranks that are threads of one process.
class copying_gather {
 public:
  copying_gather(const world& w, symmetric_heap& heap) : world_(w), barrier_(heap) {}

  void operator()(platform::stream on, const void* mine, void* all, std::size_t n_bytes) {
    if (from_.empty()) from_ = test::gather(world_, mine);
    barrier_.enqueue(on);
    for (std::size_t r = 0; r < from_.size(); ++r)
      platform::copy(static_cast<std::byte*>(all) + r * n_bytes, from_[r], n_bytes, on);
    barrier_.enqueue(on);
    ++calls;
  }
  int calls = 0;

 private:
  const world& world_;
  stream_barrier barrier_;
  std::vector<const void*> from_;
};

/// The case with the gather of a rank.
inline decode_case with(const decode_case& c, copying_gather& gather) {
  decode_case given = c;
  given.options.all_gather = [&](auto... arguments) { gather(arguments...); };
  return given;
}

}  // namespace hiris::test
