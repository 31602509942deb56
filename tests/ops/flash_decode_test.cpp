// SPDX-License-Identifier: MIT
#include "hiris/ops/flash_decode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "ops/flash_decode_case.hpp"
#include "support/covering_array.hpp"
#include "support/device_test.hpp"
#include "support/patience.hpp"

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

/// Memory and signals that a case needs on any number of ranks.
heap_options heap_for(const decode_case& c) {
  const flash_decode_plan d = plan_flash_decode(c.problem, 1, 1);
  return {.data_bytes = std::int64_t{2} * c.ranks() * d.groups * d.record_floats * 4 + (1 << 16),
          .signals = c.ranks() * (d.groups + 1) + 16,
          .wait_budget = test::patient_budget()};
}

/// A call for each of the references, with the data of its number, by each of the variants.
template <class T>
void expect_right(const std::vector<decode_case>& calls,
                  const std::vector<test::decode_reference>& refs) {
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(calls[0].ranks(), [&](const world& w) {
      symmetric_heap heap(w, heap_for(calls[0]));
      decode_rank<T> mine(w, heap, calls[0], v);
      for (std::uint64_t call = 0; call < calls.size(); ++call) {
        mine.fill(call, calls[call]);
        mine.run();
        mine.expect(refs[call], describe(calls[call], v) + " call " + std::to_string(call));
      }
    });
}

template <class T>
void expect_right(const decode_case& c) {
  expect_right<T>({c, c}, {test::reference_of<T>(c, 0), test::reference_of<T>(c, 1)});
}

decode_case without_keys(decode_case c) {
  for (auto& rank : c.lengths) rank.assign(rank.size(), 0);
  return c;
}

// ---- every value, and every pair of values of two parameters -----------------------------------

constexpr int worlds[] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr int batches[] = {1, 3, 8};
constexpr int ratios[] = {1, 3, 8, 12, 17, 96};
constexpr int head_dims[] = {64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256};
constexpr int page_sizes[] = {0, 1, 7, 16, 64};  // 0: contiguous
enum class spread { full, uneven, ranks_without, sequences_without };
constexpr spread spreads[] = {spread::full, spread::uneven, spread::ranks_without,
                              spread::sequences_without};
constexpr float largest_scores[] = {0.001f, 1, 40};
constexpr bool halves[] = {true, false};  // fp16, bf16
constexpr float soft_caps[] = {0, 30};
constexpr int longests[] = {1, 64, 100, 130};  // steps are of 64 keys
constexpr int kv_heads[] = {1, 2};
constexpr bool orders[] = {true, false};
constexpr int split_counts[] = {0, 1, 3};

struct combination {
  decode_case c;
  bool half;
  float largest_score;
};

/// The case of a row of the covering array.
combination combine(const std::vector<int>& row) {
  std::size_t at = 0;
  const auto pick = [&](const auto& values) { return values[row[at++]]; };
  const int world = pick(worlds);
  flash_decode_problem p{};
  p.batch = pick(batches);
  const int ratio = pick(ratios);
  p.head_dim = pick(head_dims);
  p.page_size = pick(page_sizes);
  const spread keys = pick(spreads);
  const float largest = pick(largest_scores);
  const bool half = pick(halves);
  p.soft_cap = pick(soft_caps);
  const int longest = pick(longests);
  p.kv_heads = pick(kv_heads);
  p.q_heads = p.kv_heads * ratio;
  p.deterministic = pick(orders);
  decode_case c = uneven(p, world, longest);
  c.options.splits = pick(split_counts);
  for (std::size_t r = 0; r < c.lengths.size(); ++r)
    for (std::size_t b = 0; b < c.lengths[r].size(); ++b) {
      if (keys != spread::uneven) c.lengths[r][b] = longest;
      if (keys == spread::ranks_without && r % 2 == 1) c.lengths[r][b] = 0;
      if (keys == spread::sequences_without && b % 2 == 1) c.lengths[r][b] = 0;
    }
  return {c, half, largest};
}

const std::vector<int> levels = {
    std::size(worlds),      std::size(batches),  std::size(ratios),         std::size(head_dims),
    std::size(page_sizes),  std::size(spreads),  std::size(largest_scores), std::size(halves),
    std::size(soft_caps),   std::size(longests), std::size(kv_heads),       std::size(orders),
    std::size(split_counts)};

/// Three calls: data, no rank with any key, other data. The scale makes the largest |score| of the
/// data what the combination asks for.
template <class T>
void expect_right(combination wanted, bool negative, double& most, double& least) {
  decode_case& c = wanted.c;
  const test::decode_exact<T> first(c, 0), third(c, 2);
  const double product = std::max(first.largest_product(), third.largest_product());
  c.problem.scale =
      static_cast<float>((negative ? -1 : 1) * static_cast<double>(wanted.largest_score) / product);
  const decode_case empty = without_keys(c);
  const std::vector<test::decode_reference> refs = {
      first.reference(c.problem.scale, c.problem.soft_cap), test::reference_of<T>(empty, 1),
      third.reference(c.problem.scale, c.problem.soft_cap)};
  most = std::max(refs[0].largest_score, refs[2].largest_score);
  least = std::min(refs[0].least_score, refs[2].least_score);
  expect_right<T>({c, empty, c}, refs);
}

/// Every variant meets every pair of values of any two parameters.
TEST_F(FlashDecode, EveryPairOfValues) {
  const std::vector<std::vector<int>> rows = test::covering_array(levels);
  ASSERT_EQ(test::pairs_missing(levels, rows), 0u);
  double most_of_all = 0, least_of_all = 0;
  for (std::size_t i = 0; i < rows.size() && !HasFailure(); ++i) {
    const combination wanted = combine(rows[i]);
    double most = 0, least = 0;
    if (wanted.half)
      expect_right<float16>(wanted, i % 2 == 1, most, least);
    else
      expect_right<bfloat16>(wanted, i % 2 == 1, most, least);
    const auto largest = static_cast<double>(wanted.largest_score);
    EXPECT_NEAR(std::max(most, -least), largest, 1e-6 * largest) << "row " << i;
    most_of_all = std::max(most_of_all, most);
    least_of_all = std::min(least_of_all, least);
  }
  EXPECT_GT(most_of_all, 39.99);
  EXPECT_LT(least_of_all, -39.99);
}

TEST(CoveringArray, HasEveryPairInFewRows) {
  std::vector<std::vector<int>> rows = test::covering_array(levels);
  EXPECT_EQ(test::pairs_missing(levels, rows), 0u);
  EXPECT_LT(rows.size(), 2 * std::size(head_dims) * std::size(worlds));  // the two longest
  rows.pop_back();                                                       // was needed for something
  EXPECT_GT(test::pairs_missing(levels, rows), 0u);
  EXPECT_EQ(test::pairs_missing({2, 3}, {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 2}}), 1u);
  EXPECT_EQ(test::covering_array({2, 3}).size(), 6u);
}

// ---- what no pair shows ------------------------------------------------------------------------

TEST_F(FlashDecode, MoreSplitsThanKeys) {
  for (const int splits : {1, 2, 5, 16}) {
    decode_case c =
        uneven({.batch = 2, .q_heads = 3, .kv_heads = 1, .head_dim = 64, .scale = 0.3f}, 2, 200);
    c.options.splits = splits;
    expect_right<float16>(c);
  }
}

TEST_F(FlashDecode, SequencesThatNoRankHasKeysOf) {
  decode_case c =
      uneven({.batch = 4, .q_heads = 4, .kv_heads = 2, .head_dim = 64, .scale = 0.3f}, 3, 50);
  c.lengths = {{0, 7, 0, 0}, {0, 0, 50, 0}, {0, 3, 0, 0}};
  expect_right<float16>(c);
  expect_right<bfloat16>(without_keys(c));  // zeros, and -inf: the reference says so
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

/// In rank order the result has the same bits on every rank, in every call and in every run; as it
/// comes it is within the tolerance.
TEST_F(FlashDecode, RankOrderGivesTheSameBitsEverywhere) {
  constexpr int ranks = 5;
  constexpr std::size_t runs = 2, calls = 3;
  for (const bool deterministic : {true, false})
    for (const flash_decode_variant v : test::all_variants) {
      decode_case c = uneven({.batch = 2,
                              .q_heads = 12,
                              .kv_heads = 1,
                              .head_dim = 96,
                              .scale = 0.2f,
                              .deterministic = deterministic},
                             ranks, 90);
      c.options.splits = 2;
      const test::decode_reference ref = test::reference_of<float16>(c, 0);
      std::vector<std::vector<float>> lse(ranks * runs * calls);
      std::vector<std::vector<float16>> out(lse.size());
      for (std::size_t run = 0; run < runs; ++run)
        on_ranks(ranks, [&](const world& w) {
          symmetric_heap heap(w, heap_for(c));
          decode_rank<float16> mine(w, heap, c, v);
          mine.fill(0);
          for (std::size_t call = 0; call < calls; ++call) {
            mine.run();
            mine.expect(ref, describe(c, v));
            const std::size_t at = (static_cast<std::size_t>(w.rank()) * runs + run) * calls + call;
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
