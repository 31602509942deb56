// SPDX-License-Identifier: MIT
// All-gather + GEMM under the hostile fabric: every strategy, several calls in flight, exact.
#include "hiris/ops/all_gather_gemm.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/all_gather_gemm_case.hpp"
#include "support/device_test.hpp"
#include "support/fabric.hpp"

namespace {

using namespace hiris;

using FabricAllGatherGemm = test::device_test;

/// Four calls that are all enqueued before the first one runs. Odd seeds: one buffer each for A and
/// C, filled and read by copies between the calls. Even seeds: kernel follows kernel, every call
/// has buffers of its own.
///
/// @return The run's fingerprint.
std::uint64_t call_after_call(const world& w, strategy s, const all_gather_gemm_problem& p,
                              std::uint64_t seed) {
  constexpr std::size_t calls = 4;
  const bool one_buffer = seed % 2 == 1;
  symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 128});
  test::gemm_rank<float16> mine(w, heap, p, s);
  const auto a_elems = static_cast<std::size_t>(p.m * p.k_shards[0]);  // the longest shard
  const auto c_elems = static_cast<std::size_t>(p.m * p.n);
  const std::size_t buffers = one_buffer ? 1 : calls;
  const auto a = heap.allocate<float16>(static_cast<std::int64_t>(buffers * a_elems));
  const auto signal = heap.allocate_signals(1);
  const platform::device_buffer<float> c(buffers * c_elems);
  std::vector<std::vector<float16>> shards;
  std::vector<std::vector<float>> results(calls, std::vector<float>(c_elems));
  for (std::size_t call = 0; call < calls; ++call) shards.push_back(mine.shard(call));
  const auto copy_in = [&](std::size_t call) {
    float16* const to = a.data() + (one_buffer ? 0 : call * a_elems);
    platform::copy(to, shards[call].data(), shards[call].size() * sizeof(float16), mine.stream());
  };
  const auto run = [&](std::size_t call) {
    const std::size_t buffer = one_buffer ? 0 : call;
    mine.op().run(mine.stream(), a.data() + buffer * a_elems, mine.b(),
                  c.data() + buffer * c_elems);
  };
  const auto copy_out = [&](std::size_t call) {
    const float* const from = c.data() + (one_buffer ? 0 : call * c_elems);
    platform::copy(results[call].data(), from, c_elems * sizeof(float), mine.stream());
  };
  const std::uint64_t fingerprint =
      test::under_seed(w, seed, mine.stream(),
                       [&] {
                         platform::fill(c.data(), std::byte{0xff}, c.size_bytes(), mine.stream());
                         for (std::size_t call = 0; call < calls; ++call) {
                           if (one_buffer) {
                             copy_in(call);
                             run(call);
                             copy_out(call);
                           } else if (call == 0) {
                             for (std::size_t each = 0; each < calls; ++each) copy_in(each);
                             for (std::size_t each = 0; each < calls; ++each) run(each);
                             for (std::size_t each = 0; each < calls; ++each) copy_out(each);
                           }
                         }
                       },
                       {a.data(), signal.data()});
  heap.check();
  for (std::size_t call = 0; call < calls; ++call)
    mine.compare(results[call], call, to_string(s) + (" seed " + std::to_string(seed)));
  return fingerprint;
}

void every_seed(strategy s) {
  const all_gather_gemm_problem problems[] = {
      {18, 72, {136, 72}}, {5, 40, {48, 0, 33}}, {3, 17, {24, 16, 8, 0, 24, 24, 8, 16}}};
  test::for_each_seed(24, [&](std::uint64_t seed) {
    for (const all_gather_gemm_problem& p : problems)
      test::on_ranks(static_cast<int>(p.k_shards.size()),
                     [&](const world& w) { call_after_call(w, s, p, seed); });
  });
}

TEST_F(FabricAllGatherGemm, BulkSynchronous) { every_seed(strategy::bulk_synchronous); }
TEST_F(FabricAllGatherGemm, Pull) { every_seed(strategy::pull); }
TEST_F(FabricAllGatherGemm, Push) { every_seed(strategy::push); }
TEST_F(FabricAllGatherGemm, ASeedReplaysExactly) {
  for (const strategy s : test::all_strategies)
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      test::on_ranks(8, [&](const world& w) {
        const all_gather_gemm_problem p{3, 17, {24, 16, 8, 0, 24, 24, 8, 16}};
        const std::uint64_t first = call_after_call(w, s, p, seed);
        EXPECT_EQ(call_after_call(w, s, p, seed), first) << to_string(s) << " seed " << seed;
      });
}

TEST_F(FabricAllGatherGemm, PushFused) { every_seed(strategy::push_fused); }

}  // namespace
