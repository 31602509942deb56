// SPDX-License-Identifier: MIT
#include "hiris/ops/flash_decode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using test::decode_case;
using test::decode_rank;
using test::on_ranks;
using test::uneven;

using FlashDecode = test::device_test;

std::string describe(const decode_case& c, flash_decode_variant v) {
  const flash_decode_problem& p = c.problem;
  return std::string(to_string(v)) + " batch " + std::to_string(p.batch) + " heads " +
         std::to_string(p.q_heads) + "/" + std::to_string(p.kv_heads) + " dim " +
         std::to_string(p.head_dim) + " page " + std::to_string(p.page_size) + " splits " +
         std::to_string(c.options.splits) + " W " + std::to_string(c.ranks());
}

/// Two calls with different data by each of the variants, against fp64.
template <class T>
void expect_right(const decode_case& c) {
  const test::decode_reference refs[] = {test::reference_of<T>(c, 0), test::reference_of<T>(c, 1)};
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(c.ranks(), [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 8 << 20, .signals = 512});
      decode_rank<T> mine(w, heap, c, v);
      for (std::uint64_t call = 0; call < 2; ++call) {
        mine.fill(call);
        mine.run();
        mine.expect(refs[call], describe(c, v));
      }
    });
}

TEST_F(FlashDecode, EveryNumberOfRanks) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    decode_case c =
        uneven({.batch = 3, .q_heads = 6, .kv_heads = 2, .head_dim = 64, .scale = 0.3f}, ranks, 70);
    c.options.splits = 1 + ranks % 2;
    expect_right<float16>(c);
  }
}

TEST_F(FlashDecode, EveryRatioOfHeads) {
  for (const int ratio : {1, 3, 8, 12, 17, 96}) {
    expect_right<float16>(uneven(
        {.batch = 1, .q_heads = ratio * 2, .kv_heads = 2, .head_dim = 64, .scale = 0.25f}, 3, 40));
    expect_right<bfloat16>(uneven(
        {.batch = 2, .q_heads = ratio, .kv_heads = 1, .head_dim = 80, .scale = 0.25f}, 2, 66));
  }
}

TEST_F(FlashDecode, EveryHeadDim) {
  for (int dim = 64; dim <= 256; dim += dim % 64 == 0 || dim == 96 ? 32 : 16) {
    decode_case c =
        uneven({.batch = 1, .q_heads = 4, .kv_heads = 2, .head_dim = dim, .scale = 0.2f}, 2, 130);
    c.options.splits = 2;
    expect_right<float16>(c);
    expect_right<bfloat16>(c);
  }
}

TEST_F(FlashDecode, BatchesOfEverySize) {
  for (const int batch : {1, 3, 8})
    expect_right<bfloat16>(uneven(
        {.batch = batch, .q_heads = 8, .kv_heads = 1, .head_dim = 128, .scale = 0.09f}, 4, 65));
}

TEST_F(FlashDecode, PagesInAnyOrder) {
  for (const int page : {1, 7, 16, 64}) {
    decode_case c = uneven({.batch = 3,
                            .q_heads = 6,
                            .kv_heads = 2,
                            .head_dim = 128,
                            .page_size = page,
                            .scale = 0.1f},
                           3, 139);
    c.options.splits = page == 16 ? 1 : 3;
    expect_right<float16>(c);
  }
}

TEST_F(FlashDecode, MoreSplitsThanKeys) {
  for (const int splits : {1, 2, 5, 16}) {
    decode_case c =
        uneven({.batch = 2, .q_heads = 3, .kv_heads = 1, .head_dim = 64, .scale = 0.3f}, 2, 200);
    c.options.splits = splits;
    expect_right<float16>(c);
  }
}

/// Queries so large that scores reach +-40, where weights of all but few keys vanish, and so small
/// that all weights are alike.
TEST_F(FlashDecode, ScoresFromNothingToForty) {
  for (const float gain : {0.001f, 1.0f, 60.0f}) {
    decode_case c =
        uneven({.batch = 2, .q_heads = 12, .kv_heads = 1, .head_dim = 64, .scale = 0.25f}, 3, 100);
    c.gain = gain;
    expect_right<float16>(c);
    expect_right<bfloat16>(c);
    c.problem.soft_cap = 20;
    expect_right<float16>(c);
  }
}

TEST_F(FlashDecode, SequencesThatNoRankHasKeysOf) {
  decode_case c =
      uneven({.batch = 4, .q_heads = 4, .kv_heads = 2, .head_dim = 64, .scale = 0.3f}, 3, 50);
  c.lengths = {{0, 7, 0, 0}, {0, 0, 50, 0}, {0, 3, 0, 0}};
  expect_right<float16>(c);
  c.lengths = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};  // zeros, and -inf: the reference says so
  expect_right<bfloat16>(c);
}

TEST_F(FlashDecode, RanksWithoutRoomForKeysAtAll) {
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
      decode_case c = uneven({.batch = 1, .q_heads = 4, .kv_heads = 2, .head_dim = 64}, 2, 30);
      c.lengths = {{30}, {0}};
      const test::decode_reference ref = test::reference_of<float16>(c, 0);
      if (w.rank() == 1) c.problem.max_kv_len = 0;  // may differ between ranks
      decode_rank<float16> mine(w, heap, c, v);
      mine.fill(0);
      mine.run();
      mine.expect(ref, to_string(v));
    });
}

/// In rank order the result has the same bits on every rank and in every call; as it comes it is
/// within the tolerance.
TEST_F(FlashDecode, RankOrderGivesTheSameBitsEverywhere) {
  for (const bool deterministic : {true, false})
    for (const flash_decode_variant v :
         {flash_decode_variant::fine_grained, flash_decode_variant::fused}) {
      decode_case c = uneven({.batch = 2,
                              .q_heads = 12,
                              .kv_heads = 1,
                              .head_dim = 96,
                              .scale = 0.2f,
                              .deterministic = deterministic},
                             5, 90);
      c.options.splits = 2;
      const test::decode_reference ref = test::reference_of<float16>(c, 0);
      std::vector<std::vector<float>> lse(5 * 4);
      std::vector<std::vector<float16>> out(5 * 4);
      on_ranks(5, [&](const world& w) {
        symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
        decode_rank<float16> mine(w, heap, c, v);
        mine.fill(0);
        for (std::size_t call = 0; call < 4; ++call) {
          mine.run();
          mine.expect(ref, describe(c, v));
          const std::size_t at = static_cast<std::size_t>(w.rank()) * 4 + call;
          out[at] = mine.result();
          lse[at] = mine.result_lse();
        }
      });
      if (!deterministic) continue;
      for (std::size_t i = 1; i < out.size(); ++i) {
        EXPECT_EQ(std::memcmp(out[0].data(), out[i].data(), out[0].size() * 2), 0) << i;
        EXPECT_EQ(std::memcmp(lse[0].data(), lse[i].data(), lse[0].size() * 4), 0) << i;
      }
    }
}

TEST_F(FlashDecode, LogSumExpIsOptional) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    const decode_case c = uneven({.batch = 1, .q_heads = 4, .kv_heads = 2, .head_dim = 64}, 2, 30);
    decode_rank<float16> mine(w, heap, c, flash_decode_variant::fused);
    mine.fill(0);
    mine.run();
    const std::vector<float16> with = mine.result();
    mine.op().run(mine.stream(), mine.q(), mine.cache(), mine.lengths(), mine.out());
    const std::vector<float16> without = mine.result();
    EXPECT_EQ(std::memcmp(with.data(), without.data(), with.size() * 2), 0);
  });
}

}  // namespace
