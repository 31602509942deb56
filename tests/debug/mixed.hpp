// SPDX-License-Identifier: MIT
/// @file
/// What a translation unit of the plain build and one of the debug build share: a heap, its
/// contexts, and the kernels that both instantiate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hiris/context.hpp"
#include "hiris/heap.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/rma.hpp"

namespace hiris::test {

/// Stores one element. `Name` keeps the kernels of the units apart; the functions that it calls
/// are the same.
template <class Name>
struct store_kernel {
  static constexpr int block_threads = platform::wave_size;
  struct params {
    context ctx;
    int* at;
    int value;
    int peer;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (platform::thread_rank() == 0) hiris::store(p.ctx, p.at, p.value, p.peer);
  }
};
struct plain_name;
struct debug_name;

/// Where the members lie that host and device, or two units, hand each other.
using layout = std::array<std::size_t, 7>;
namespace {
inline layout layout_of_unit() {
  return {sizeof(context),         sizeof(window),       sizeof(fault_record),
          sizeof(symmetric_heap),  sizeof(heap_options), alignof(fault_record),
          offsetof(context, fault)};
}
}  // namespace

/// Compiled without the switch.
struct plain_unit {
  explicit plain_unit(const world& w);
  /// Stores to element `index` of `data` on a peer, by a kernel of the plain build.
  void store(std::int64_t index, int value, int peer);
  void synchronize();
  static layout layout_here();

  symmetric_heap heap;
  symmetric_array<int> data;
  symmetric_array<signal_counter> signals;
  platform::owned_stream stream;
};

}  // namespace hiris::test
