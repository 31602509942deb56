// SPDX-License-Identifier: MIT
#include "hiris/ops/all_gather_gemm.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ops/all_gather_gemm_case.hpp"
#include "support/device_test.hpp"
#include "support/patience.hpp"

namespace {

using namespace hiris;
using test::gemm_rank;
using test::on_ranks;
using test::split;

using AllGatherGemm = test::device_test;

constexpr auto row_major = matrix_layout::row_major;
constexpr auto col_major = matrix_layout::col_major;

std::string describe(const all_gather_gemm_problem& p, strategy s) {
  std::string text =
      std::string(to_string(s)) + " m " + std::to_string(p.m) + " n " + std::to_string(p.n) + " k";
  for (const std::int64_t k : p.k_shards) text += " " + std::to_string(k);
  return text;
}

/// Three calls on every rank, back to back: each slot of the inbox is used, and one of them again.
template <class T, matrix_layout B, class Out = float>
void expect_exact(const all_gather_gemm_problem& p, strategy s, std::size_t skew = 0) {
  on_ranks(static_cast<int>(p.k_shards.size()), [&](const world& w) {
    symmetric_heap heap(
        w, {.data_bytes = 16 << 20, .signals = 512, .wait_budget = test::patient_budget()});
    gemm_rank<T, B, Out> mine(w, heap, p, s, {}, skew);
    for (std::uint64_t call = 0; call < 3; ++call) {
      mine.fill_a(call);
      mine.poison_c();
      mine.run();
      mine.expect_exact(call, describe(p, s));
    }
    EXPECT_EQ(mine.op().chosen(), s);
  });
}

TEST_F(AllGatherGemm, OneRankIsAPlainGemm) {
  for (strategy s : test::all_strategies) {
    expect_exact<float16, row_major>({16, 128, {128}}, s);
    expect_exact<bfloat16, col_major>({33, 129, {65}}, s);
  }
}

TEST_F(AllGatherGemm, WholeTilesOfEverySize) {
  for (strategy s : test::all_strategies) {
    expect_exact<float16, row_major>({16, 256, {128, 128}}, s);
    expect_exact<bfloat16, row_major>({64, 128, {128, 64}}, s);
    expect_exact<float16, col_major>({128, 128, {64, 64}}, s);
    expect_exact<bfloat16, col_major>({256, 128, {64, 64}}, s);
  }
}

TEST_F(AllGatherGemm, EveryNumberOfRanks) {
  for (strategy s : test::all_strategies)
    for (int ranks = 1; ranks <= 8; ++ranks) {
      expect_exact<float16, row_major>({5, 40, split(100, ranks)}, s);
      expect_exact<bfloat16, col_major>({1, 130, split(ranks * 136, ranks)}, s);
    }
}

TEST_F(AllGatherGemm, FewerColumnsThanRanks) {
  for (strategy s : test::all_strategies) {
    expect_exact<float16, row_major>({3, 17, split(3, 5)}, s);
    expect_exact<bfloat16, col_major>({2, 9, {0, 0, 1, 0}}, s);
    expect_exact<float16, row_major>({1, 1, {0, 1}}, s);
  }
}

TEST_F(AllGatherGemm, UnevenShardsAndEveryRemainder) {
  for (strategy s : test::all_strategies) {
    expect_exact<float16, row_major>({7, 136, {129, 8, 0, 257}}, s);
    expect_exact<float16, col_major>({17, 131, {72, 130, 1}}, s);
    expect_exact<bfloat16, row_major>({65, 129, {63, 65, 64}}, s);
    expect_exact<bfloat16, row_major>({129, 72, {96, 40}}, s);
    expect_exact<float16, col_major>({257, 7, {8, 24}}, s);
  }
}

TEST_F(AllGatherGemm, ManyTilesAndManyChunksOfOneShard) {
  for (strategy s : test::all_strategies) {
    expect_exact<float16, row_major>({20, 384, {1100, 520}}, s);
    expect_exact<bfloat16, col_major>({300, 260, {64, 200}}, s);
  }
}

TEST_F(AllGatherGemm, EveryElementTypeLayoutAndResult) {
  for (strategy s : test::all_strategies) {
    const all_gather_gemm_problem p{18, 136, {40, 72}};
    expect_exact<float16, row_major, float>(p, s);
    expect_exact<float16, row_major, float16>(p, s);
    expect_exact<float16, col_major, float>(p, s);
    expect_exact<float16, col_major, float16>(p, s);
    expect_exact<bfloat16, row_major, float>(p, s);
    expect_exact<bfloat16, row_major, bfloat16>(p, s);
    expect_exact<bfloat16, col_major, float>(p, s);
    expect_exact<bfloat16, col_major, bfloat16>(p, s);
  }
}

TEST_F(AllGatherGemm, OperandsThatAreNotAligned) {
  for (strategy s : test::all_strategies) {
    expect_exact<float16, row_major>({16, 128, {128, 128}}, s, 1);
    expect_exact<bfloat16, col_major>({40, 136, {72, 128}}, s, 3);
  }
}

TEST_F(AllGatherGemm, AutomaticIsOneOfTheOthersAndExact) {
  on_ranks(3, [&](const world& w) {
    symmetric_heap heap(
        w, {.data_bytes = 16 << 20, .signals = 512, .wait_budget = test::patient_budget()});
    for (const std::int64_t n : {100, 600}) {
      gemm_rank<float16> mine(w, heap, {9, n, {64, 0, 200}}, strategy::automatic);
      EXPECT_NE(mine.op().chosen(), strategy::automatic);
      mine.fill_a(0);
      mine.poison_c();
      mine.run();
      mine.expect_exact(0, "automatic");
    }
  });
}

/// A may lie in memory of the user's, at another base on every rank, and move from call to call.
TEST_F(AllGatherGemm, TheShardMayLieInARegisteredRegionOrAnywhereInTheHeap) {
  const all_gather_gemm_problem p{5, 40, {24, 9, 40}};
  for (strategy s : test::all_strategies)
    on_ranks(3, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 128, .wait_budget = test::patient_budget()});
      gemm_rank<float16> mine(w, heap, p, s);
      auto before = heap.allocate<float16>(1000);
      platform::device_buffer<float16> memory(4096);
      auto region = heap.attach(memory.data(), static_cast<std::int64_t>(memory.size()));
      for (std::uint64_t call = 0; call < 4; ++call) {
        const std::vector<float16> shard = mine.shard(call);
        const std::int64_t offset = 100 * static_cast<std::int64_t>(call) + 8 * w.rank();
        float16* const a = (call % 2 == 0 ? region.data() : before.data()) + offset;
        platform::copy(a, shard.data(), shard.size() * sizeof(float16), mine.stream());
        mine.poison_c();
        if (call % 2 == 0)
          mine.op().run(mine.stream(), region, a, mine.b(), mine.c());
        else
          mine.op().run(mine.stream(), a, mine.b(), mine.c());
        mine.expect_exact(call, to_string(s));
      }
      if (s == strategy::pull) {
        EXPECT_THROW(mine.op().run(mine.stream(), region, before.data(), mine.b(), mine.c()),
                     error);
        EXPECT_THROW(mine.op().run(mine.stream(), region, region.data() + 4090, mine.b(), mine.c()),
                     error);
      }
      heap.detach(std::move(region));
    });
}

/// What lies beyond a shard, or beyond A, is an infinity: not a bit of it may enter a product.
TEST_F(AllGatherGemm, InfinitiesOfTheNextShardStayOut) {
  constexpr std::int64_t m = 3, n = 24;
  const std::vector<std::int64_t> shards{40, 8};
  for (strategy s : test::all_strategies)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 64, .wait_budget = test::patient_budget()});
      all_gather_gemm<float16, row_major, float> op(heap, {m, n, shards}, s);
      const platform::owned_stream stream;
      const std::int64_t own = shards[static_cast<std::size_t>(w.rank())];
      // Shard 0 meets zeros of A where B is infinite: k 40..47 are finite only through shard 1.
      auto a = heap.allocate<float16>(m * 40);
      platform::device_buffer<float16> b(48 * n);
      platform::device_buffer<float> c(m * n);
      const float16 one = from_float<float16>(1), infinite{0x7c00};
      std::vector<float16> a_host(static_cast<std::size_t>(m * own), one);
      if (w.rank() == 1) a_host.assign(a_host.size(), one);
      std::vector<float16> b_host(48 * n, one);
      for (std::size_t i = 40 * n; i < b_host.size(); ++i) b_host[i] = infinite;
      platform::copy(a.data(), a_host.data(), a_host.size() * sizeof(float16), stream);
      stream.synchronize();
      b.copy_from(b_host);
      op.run(stream, a.data(), b.data(), c.data());
      op.synchronize(stream);
      for (const float value : c.to_host())
        ASSERT_TRUE(std::isinf(value) && value > 0) << to_string(s) << ": " << value;
    });
}

}  // namespace
