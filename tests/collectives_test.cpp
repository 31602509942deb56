// SPDX-License-Identifier: MIT
/// @file
/// The vendor's all-gather: over as many ranks as there are devices, alone and inside an op, and
/// what it refuses.
#include "hiris/collectives.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "hiris/ops/flash_decode.hpp"
#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using test::on_ranks;

using Collectives = test::device_test;

TEST_F(Collectives, GathersInRankOrderAgainAndAgain) {
  on_ranks(platform::device_count(), [](const world& w) {
    collectives library(w);
    constexpr std::size_t n = 1000;
    const auto size = static_cast<std::size_t>(w.size());
    platform::owned_stream stream;
    platform::device_buffer<std::int32_t> mine(n), all(n * size);
    for (int call = 0; call < 5; ++call) {
      mine.copy_from(std::vector<std::int32_t>(n, call * 100 + w.rank()));
      all.fill_with(std::byte{0xff});
      library.all_gather(stream, mine.data(), all.data(), mine.size_bytes());
      stream.synchronize();
      std::vector<std::int32_t> expected;
      for (int r = 0; r < w.size(); ++r) expected.insert(expected.end(), n, call * 100 + r);
      EXPECT_EQ(all.to_host(), expected) << "rank " << w.rank() << " call " << call;
    }
  });
}

TEST_F(Collectives, GatherForFlashDecodeCapturedToo) {
  const int ranks = platform::device_count();
  const test::decode_case c = test::uneven(
      {.batch = 2, .q_heads = 34, .kv_heads = 2, .head_dim = 80, .scale = 0.2f}, ranks, 150);
  const test::decode_reference refs[] = {test::reference_of<float16>(c, 0),
                                         test::reference_of<float16>(c, 1)};
  on_ranks(ranks, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
    collectives library(w);
    test::decode_case with = c;
    with.options.all_gather = library.all_gather_call();
    test::decode_rank<float16> mine(w, heap, with, flash_decode_variant::bulk_synchronous);
    platform::graph step = platform::graph::capture(mine.stream(), [&] { mine.run(); });
    for (std::uint64_t call = 0; call < 6; ++call) {
      mine.fill(call % 2);
      if (call < 3)
        mine.run();
      else
        step.launch(mine.stream());
      mine.expect(refs[call % 2], "call " + std::to_string(call));
    }
  });
}

TEST_F(Collectives, RefuseRanksThatShareADevice) {
  const int ranks = platform::device_count() + 1;
  on_ranks(ranks, [&](const world& w) {
    test::expect_error(errc::unsupported, ranks - 1,
                       {"ranks 0 and " + std::to_string(ranks - 1), "share device", "one rank"},
                       [&] { collectives library(w); });
  });
}

}  // namespace
