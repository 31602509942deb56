// SPDX-License-Identifier: MIT
// The ops are correct in a debug build: every check passes, and no guard of a block is touched.
#include <gtest/gtest.h>

#include <cstdint>

#include "hiris/stream_barrier.hpp"
#include "ops/all_gather_gemm_case.hpp"
#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"

// Those of other tests are not checked.
template class hiris::all_gather_gemm<hiris::float16, hiris::matrix_layout::row_major, float>;
template class hiris::flash_decode<hiris::float16>;

namespace {

using namespace hiris;
using test::on_ranks;

static_assert(platform::debug_build, "this test is of the debug build");

using DebugOps = test::device_test;

TEST_F(DebugOps, AllGatherGemm) {
  const all_gather_gemm_problem problem{17, 130, {40, 65, 1}};
  for (const strategy s : test::all_strategies)
    on_ranks(3, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 512});
      {
        test::gemm_rank<float16> mine(w, heap, problem, s);
        for (std::uint64_t call = 0; call < 3; ++call) {
          mine.fill_a(call);
          mine.poison_c();
          mine.run();
          mine.expect_exact(call, to_string(s));
        }
        EXPECT_NO_THROW(heap.check_blocks());
      }
      EXPECT_NO_THROW(heap.close());
    });
}

TEST_F(DebugOps, FlashDecode) {
  const test::decode_case c = test::uneven(
      {.batch = 2, .q_heads = 4, .kv_heads = 2, .head_dim = 64, .page_size = 16, .scale = 0.3f}, 3,
      90);
  for (const flash_decode_variant variant : test::all_variants)
    on_ranks(3, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 512});
      {
        test::decode_rank<float16> mine(w, heap, c, variant);
        for (std::uint64_t call = 0; call < 3; ++call) {
          mine.fill(call);
          mine.run();
          mine.expect(test::reference_of<float16>(c, call), to_string(variant));
        }
        EXPECT_NO_THROW(heap.check_blocks());
      }
      EXPECT_NO_THROW(heap.close());
    });
}

TEST_F(DebugOps, StreamBarrier) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 10, .signals = 16});
    {
      const platform::owned_stream stream;
      stream_barrier barrier(heap);
      for (int round = 0; round < 5; ++round) barrier.enqueue(stream);
      EXPECT_NO_THROW(heap.synchronize(stream));
    }
    EXPECT_NO_THROW(heap.close());
  });
}

}  // namespace
