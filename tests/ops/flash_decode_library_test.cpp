// SPDX-License-Identifier: MIT
/// @file
/// bulk_synchronous with an all-gather that is not ours: any that orders by the stream will do,
/// here copies between two barriers.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "hiris/ops/flash_decode.hpp"
#include "ops/copying_gather.hpp"
#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using test::copying_gather;
using test::decode_case;
using test::decode_rank;
using test::on_ranks;
using test::uneven;
using test::with;

using Library = test::device_test;
constexpr flash_decode_variant bulk = flash_decode_variant::bulk_synchronous;

decode_case small(int ranks) {
  decode_case c =
      uneven({.batch = 2, .q_heads = 34, .kv_heads = 2, .head_dim = 80, .scale = 0.2f}, ranks, 150);
  c.options.splits = 2;
  return c;
}

TEST_F(Library, GivesTheBitsOfOurOwnGather) {
  for (const int ranks : {1, 2, 3}) {
    const decode_case c = small(ranks);
    const test::decode_reference refs[] = {test::reference_of<float16>(c, 0),
                                           test::reference_of<float16>(c, 1)};
    on_ranks(ranks, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
      copying_gather gather(w, heap);
      decode_rank<float16> own(w, heap, c, bulk), library(w, heap, with(c, gather), bulk);
      for (const int call : {0, 1}) {
        own.fill(static_cast<std::uint64_t>(call));
        library.fill(static_cast<std::uint64_t>(call));
        own.run();
        library.run();
        library.expect(refs[call], "library");
        const std::vector<float16> a = own.result(), b = library.result();
        EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float16)), 0);
      }
      EXPECT_EQ(gather.calls, ranks == 1 ? 0 : 2) << "one rank has nothing to gather";
      EXPECT_EQ(library.op().expected_taxes().launches, ranks == 1 ? 2 : 3);
      EXPECT_EQ(library.op().expected_taxes().remote_bytes, own.op().expected_taxes().remote_bytes);
    });
  }
}

TEST_F(Library, IsCapturedAndReplayed) {
  const decode_case c = small(2);
  const test::decode_reference refs[] = {test::reference_of<float16>(c, 0),
                                         test::reference_of<float16>(c, 1)};
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
    copying_gather gather(w, heap);
    decode_rank<float16> mine(w, heap, with(c, gather), bulk);
    platform::graph step = platform::graph::capture(mine.stream(), [&] { mine.run(); });
    for (std::uint64_t call = 0; call < 4; ++call) {
      mine.fill(call % 2);
      step.launch(mine.stream());
      mine.expect(refs[call % 2], "replay " + std::to_string(call));
    }
    EXPECT_EQ(gather.calls, 1) << "the host gathers nothing in a replay";
  });
}

TEST_F(Library, IsForBulkSynchronousOnAllRanks) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
    const stream_all_gather nothing = [](auto...) {};
    const flash_decode_problem p = small(2).problem;
    test::expect_error(errc::invalid_argument, 0, {"for fused; allowed is bulk_synchronous"}, [&] {
      flash_decode<float16> op(heap, p, flash_decode_variant::fused, {.all_gather = nothing});
    });
    test::expect_error(errc::mismatch, test::any_rank, {"all_gather"}, [&] {
      flash_decode<float16> op(
          heap, p, bulk,
          w.rank() == 0 ? flash_decode_options{.all_gather = nothing} : flash_decode_options{});
    });
  });
}

TEST_F(Library, ThatFailsEndsTheOp) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
    decode_case c = small(2);
    c.options.all_gather = [](auto...) { throw error(errc::runtime_failed, -1, "no cable"); };
    decode_rank<float16> mine(w, heap, c, bulk);
    mine.fill(0);
    test::expect_error(errc::runtime_failed, -1, {"no cable"}, [&] { mine.run(); });
    test::expect_error(errc::timed_out, w.rank(), {"has failed before"}, [&] { mine.run(); });
    platform::synchronize(mine.stream());
  });
}

}  // namespace
