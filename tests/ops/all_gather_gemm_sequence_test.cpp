// SPDX-License-Identifier: MIT
/// @file
/// Many calls in a row: back to back without a word from the host, across the wrap of the epoch,
/// and as a captured graph. The input changes from call to call, in stream order.
#include "hiris/ops/all_gather_gemm.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "ops/all_gather_gemm_case.hpp"
#include "support/device_test.hpp"
#include "support/patience.hpp"

namespace {

using namespace hiris;
using test::gemm_rank;
using test::on_ranks;

using Sequence = test::device_test;

/// Puts `calls` calls on the stream, each with an input of its own and a C that is kept, and only
/// then looks. Inputs and results lie in device memory: a copy from or to pageable memory would
/// make the host wait for each call.
template <class Rank, class Call>
void back_to_back(Rank& mine, const all_gather_gemm_problem& p, std::size_t calls,
                  const std::string& what, Call call_once) {
  const auto c_elems = static_cast<std::size_t>(p.m * p.n);
  const std::size_t a_elems = mine.shard(0).size();
  std::vector<float16> shards;
  for (std::size_t call = 0; call < calls; ++call) {
    const std::vector<float16> shard = mine.shard(call);
    shards.insert(shards.end(), shard.begin(), shard.end());
  }
  platform::device_buffer<float16> inputs(shards.size());
  inputs.copy_from(shards);
  platform::device_buffer<float> results(calls * c_elems);
  for (std::size_t call = 0; call < calls; ++call) {
    platform::copy(mine.a(), inputs.data() + call * a_elems, a_elems * sizeof(float16),
                   mine.stream());
    mine.poison_c();
    call_once(call);
    platform::copy(results.data() + call * c_elems, mine.c(), c_elems * sizeof(float),
                   mine.stream());
  }
  mine.op().synchronize(mine.stream());
  const std::vector<float> all = results.to_host();
  for (std::size_t call = 0; call < calls && !testing::Test::HasFailure(); ++call) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(call * c_elems);
    mine.compare({first, first + static_cast<std::ptrdiff_t>(c_elems)}, call, what);
  }
}

template <class Rank>
void back_to_back(Rank& mine, const all_gather_gemm_problem& p, std::size_t calls,
                  const std::string& what) {
  back_to_back(mine, p, calls, what, [&](std::size_t) { mine.run(); });
}

TEST_F(Sequence, ThousandCallsBackToBack) {
  const all_gather_gemm_problem p{3, 20, {24, 9, 40}};
  for (strategy s : test::all_strategies)
    on_ranks(3, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
      gemm_rank<float16> mine(w, heap, p, s);
      back_to_back(mine, p, test::calls_at_most(1000), to_string(s));
    });
}

/// Nobody ever waits for data of a rank without columns: only its acknowledgements hold the others
/// back from overwriting what it still reads.
TEST_F(Sequence, ARankWithoutColumnsIsNotOverrun) {
  const all_gather_gemm_problem p{20, 300, {24, 0, 40}};
  for (strategy s : test::all_strategies)
    on_ranks(3, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
      gemm_rank<float16> mine(w, heap, p, s);
      if (w.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      back_to_back(mine, p, 12, to_string(s));
    });
}

TEST_F(Sequence, RanksThatCallAtVeryDifferentTimes) {
  const all_gather_gemm_problem p{20, 140, {130, 70}};
  for (strategy s : test::all_strategies)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
      gemm_rank<float16> mine(w, heap, p, s);
      for (std::uint64_t call = 0; call < 12; ++call) {
        mine.fill_a(call);
        mine.poison_c();
        if (call % 3 == static_cast<std::uint64_t>(w.rank()))
          std::this_thread::sleep_for(std::chrono::milliseconds(15));
        mine.run();
        mine.expect_exact(call, to_string(s));
      }
    });
}

TEST_F(Sequence, TheEpochWraps) {
  const all_gather_gemm_problem p{3, 20, {24, 9}};
  all_gather_gemm_options options;
  options.first_epoch = ~std::uint64_t{0} - 5;
  for (strategy s : test::all_strategies)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
      gemm_rank<float16> mine(w, heap, p, s, options);
      back_to_back(mine, p, 20, to_string(s));
    });
}

TEST_F(Sequence, ACapturedGraphReplaysWithNewInput) {
  const all_gather_gemm_problem p{3, 20, {24, 9, 40}};
  for (strategy s : test::all_strategies)
    on_ranks(3, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
      gemm_rank<float16> mine(w, heap, p, s);
      platform::graph graph = platform::graph::capture(mine.stream(), [&] { mine.run(); });
      back_to_back(mine, p, test::calls_at_most(1000), to_string(s), [&](std::size_t call) {
        if (call % 10 == 9)
          mine.run();  // a call between replays counts like one
        else
          graph.launch(mine.stream());
      });
    });
}

TEST_F(Sequence, TwoOpsOnOneHeapDoNotMeet) {
  const all_gather_gemm_problem p{3, 20, {24, 9}};
  for (strategy s : test::all_strategies)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
      gemm_rank<float16> one(w, heap, p, s);
      gemm_rank<float16> two(w, heap, p, strategy::push);
      for (std::uint64_t call = 0; call < 4; ++call) {
        one.fill_a(call);
        two.fill_a(call + 50);
        one.run();
        two.run();
        one.expect_exact(call, to_string(s));
        two.expect_exact(call + 50, to_string(s));
      }
    });
}

TEST_F(Sequence, MemoryOfADeadOpServesTheNext) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(
        w, {.data_bytes = 1 << 18, .signals = 32, .wait_budget = test::patient_budget()});
    for (int round = 0; round < 12; ++round)
      for (strategy s : test::all_strategies) {
        gemm_rank<float16> mine(w, heap, {16, 30, {100, 40}}, s);
        mine.fill_a(static_cast<std::uint64_t>(round));
        mine.run();
        mine.expect_exact(static_cast<std::uint64_t>(round), to_string(s));
      }
  });
}

}  // namespace
