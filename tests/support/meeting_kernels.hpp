// SPDX-License-Identifier: MIT
/// @file
/// Kernels that show whether a barrier between them ordered the ranks: one counts up this rank's
/// word, the other adds all ranks' words.
///
///     launch<bump_kernel>(stream, 1, {word});  barrier;
///     launch<sum_kernel>(stream, 1, {ctx, word});  barrier;     // word[1] += size * step
#pragma once

#include "hiris/context.hpp"
#include "hiris/platform/device.hpp"

namespace hiris::test {

/// Counts up word 0 of this rank.
struct bump_kernel {
  static constexpr int block_threads = 64;
  struct params {
    int* word;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (platform::thread_rank() == 0) ++*p.word;
  }
};

/// Adds word 0 of all ranks to word 1 of this rank.
struct sum_kernel {
  static constexpr int block_threads = 64;
  struct params {
    context ctx;
    int* word;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (platform::thread_rank() != 0) return;
    for (int r = 0; r < p.ctx.size; ++r) p.word[1] += *p.ctx.on(r, p.word);
  }
};

}  // namespace hiris::test
