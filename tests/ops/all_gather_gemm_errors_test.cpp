// SPDX-License-Identifier: MIT
/// @file
/// Bad input and peers that never call: typed errors, on every rank, and nothing left behind.
#include "hiris/ops/all_gather_gemm.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/all_gather_gemm_case.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"
#include "support/first_cause.hpp"
#include "support/patience.hpp"

namespace {

using namespace hiris;
using test::any_rank;
using test::expect_error;
using test::gemm_rank;
using test::on_ranks;

using Errors = test::device_test;
using op_type = all_gather_gemm<float16>;

/// On two ranks, building the op with `problem(rank)` throws on both, and a sound one works after.
void expect_refused(errc code, const std::vector<std::string>& words,
                    const std::function<all_gather_gemm_problem(int)>& problem) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    expect_error(code, any_rank, words,
                 [&] { op_type op(heap, problem(w.rank()), strategy::push); });
    gemm_rank<float16> mine(w, heap, {4, 8, {16, 8}}, strategy::push);
    mine.fill_a(0);
    mine.run();
    mine.expect_exact(0);
  });
}

TEST_F(Errors, SizesOutsideTheirRangeOnOneRankAreToldOnAll) {
  const std::vector<std::int64_t> good{16, 8};
  expect_refused(errc::invalid_argument, {"m ", " 0", "rank 1"}, [&](int rank) {
    return all_gather_gemm_problem{rank == 1 ? 0 : 4, 8, good};
  });
  expect_refused(errc::invalid_argument, {"n ", "-3"}, [&](int) {
    return all_gather_gemm_problem{4, -3, good};
  });
  expect_refused(errc::invalid_argument, {"k ", " 0"}, [&](int) {
    return all_gather_gemm_problem{4, 8, {0, 0}};
  });
  expect_refused(errc::invalid_argument, {"shard 1", "-1"}, [&](int) {
    return all_gather_gemm_problem{4, 8, {2, -1}};
  });
  expect_refused(errc::invalid_argument, {"3 shards", "2"}, [&](int) {
    return all_gather_gemm_problem{4, 8, {2, 1, 1}};
  });
  expect_refused(errc::invalid_argument, {"m ", "1073741824"}, [&](int) {
    return all_gather_gemm_problem{std::int64_t{1} << 31, 8, good};
  });
}

TEST_F(Errors, RanksThatDisagreeAreToldBeforeAnythingStarts) {
  expect_refused(errc::mismatch, {"m", "4", "5"}, [&](int rank) {
    return all_gather_gemm_problem{4 + rank, 8, {16, 8}};
  });
  expect_refused(errc::mismatch, {"n", "8", "9"}, [&](int rank) {
    return all_gather_gemm_problem{4, 8 + rank, {16, 8}};
  });
  expect_refused(errc::mismatch, {"k_shards", "{16, 8}", "{8, 16}"}, [&](int rank) {
    return all_gather_gemm_problem{
        4, 8, rank == 0 ? std::vector<std::int64_t>{16, 8} : std::vector<std::int64_t>{8, 16}};
  });
}

TEST_F(Errors, RanksThatDisagreeAboutElementOrStrategy) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    const all_gather_gemm_problem p{4, 8, {16, 8}};
    expect_error(errc::mismatch, any_rank, {"float16", "bfloat16"}, [&] {
      if (w.rank() == 0)
        all_gather_gemm<float16> op(heap, p, strategy::push);
      else
        all_gather_gemm<bfloat16> op(heap, p, strategy::push);
    });
    expect_error(errc::invalid_argument, any_rank, {"strategy", "77", "0 to 4"},
                 [&] { op_type op(heap, p, static_cast<strategy>(77)); });
    expect_error(errc::mismatch, any_rank, {"push", "pull"},
                 [&] { op_type op(heap, p, w.rank() == 0 ? strategy::push : strategy::pull); });
  });
}

TEST_F(Errors, AHeapThatIsTooSmallSaysNeedAndHave) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 4});
    const all_gather_gemm_problem big{1000, 8, {400, 400}};
    expect_error(errc::out_of_memory, 0, {"65536"}, [&] { op_type op(heap, big, strategy::push); });
    EXPECT_NE(op_type::why_not(heap, big, strategy::push).find("65536"), std::string::npos);
    // Two ranks need 2 acknowledgements, 2 barrier signals and a tile each.
    const all_gather_gemm_problem small{4, 8, {16, 8}};
    expect_error(errc::out_of_memory, 0, {"signal"},
                 [&] { op_type op(heap, small, strategy::push); });
    EXPECT_NE(op_type::why_not(heap, small, strategy::push).find("6 signals"), std::string::npos);
    EXPECT_EQ(heap.data_use().free_bytes + heap.data_use().waiting_bytes,
              heap.data_use().total_bytes);
    EXPECT_NE(op_type::why_not(heap, {0, 8, {16, 8}}).find("m "), std::string::npos);
  });
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    EXPECT_EQ(op_type::why_not(heap, {4, 8, {16, 8}}), "");
  });
}

TEST_F(Errors, PointersAreCheckedAtEveryCall) {
  for (strategy s : test::all_strategies)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
      gemm_rank<float16> mine(w, heap, {4, 8, {16, 8}}, s);
      auto& op = mine.op();
      const auto stream = mine.stream();
      expect_error(errc::invalid_argument, any_rank, {"a_shard", "null"},
                   [&] { op.run(stream, nullptr, mine.b(), mine.c()); });
      expect_error(errc::invalid_argument, any_rank, {"b ", "null"},
                   [&] { op.run(stream, mine.a(), nullptr, mine.c()); });
      expect_error(errc::invalid_argument, any_rank, {"c ", "null"},
                   [&] { op.run(stream, mine.a(), mine.b(), nullptr); });
      expect_error(errc::invalid_argument, any_rank, {"a_shard", "multiple"}, [&] {
        op.run(stream,
               reinterpret_cast<const float16*>(reinterpret_cast<const char*>(mine.a()) + 1),
               mine.b(), mine.c());
      });
      if (s == strategy::pull)
        expect_error(errc::not_symmetric, any_rank, {"segment"},
                     [&] { op.run(stream, mine.b(), mine.b(), mine.c()); });
      mine.fill_a(0);  // nothing was launched by any of these
      mine.run();
      mine.expect_exact(0, to_string(s));
    });
}

TEST_F(Errors, APeerThatNeverCallsEndsInATimeOutAndADeadOp) {
  for (strategy s : test::all_strategies)
    on_ranks(3, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 20,
                              .signals = 64,
                              .wait_budget = test::patiently(std::chrono::milliseconds(200))});
      gemm_rank<float16> mine(w, heap, {20, 300, {16, 8, 24}}, s);
      mine.fill_a(0);
      if (w.rank() != 1) {
        mine.run();
        expect_error(errc::timed_out, any_rank, {"peer 1"},
                     [&] { mine.op().synchronize(mine.stream()); });
        expect_error(errc::timed_out, any_rank, {}, [&] { mine.run(); });
      }
      heap.reset_fault();
      expect_error(errc::timed_out, any_rank, {"build a new one"}, [&] { mine.run(); });
      gemm_rank<float16> next(w, heap, {20, 300, {16, 8, 24}}, s);
      next.fill_a(1);
      next.run();
      next.expect_exact(1, to_string(s));
    });
}

TEST_F(Errors, AWaitThatRunsOutOnOneRankIsTheCauseOnAll) {
  for (strategy s : test::all_strategies)
    for (const int size : {2, 3, 8})
      on_ranks(size, [&](const world& w) {
        const test::one_in_a_hurry plan(size);
        symmetric_heap heap(
            w, {.data_bytes = 1 << 20, .signals = 256, .wait_budget = plan.budget(w.rank())});
        const all_gather_gemm_problem problem{
            20, 300, std::vector<std::int64_t>(static_cast<std::size_t>(size), 16)};
        gemm_rank<float16> mine(w, heap, problem, s);
        mine.fill_a(0);
        plan.expect_one_cause(w, [&] {
          mine.run();
          mine.op().synchronize(mine.stream());
        });
        heap.reset_fault();
        gemm_rank<float16> next(w, heap, problem, s);
        next.fill_a(1);
        next.run();
        next.expect_exact(1, to_string(s));
      });
}

TEST_F(Errors, NothingIsComputedBehindATimeOut) {
  for (const strategy s : test::all_strategies)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 20,
                              .signals = 64,
                              .wait_budget = test::patiently(std::chrono::milliseconds(50))});
      gemm_rank<float16> mine(w, heap, {20, 300, {16, 24}}, s);
      mine.fill_a(0);
      if (w.rank() == 0) {
        mine.poison_c();
        mine.run();
        expect_error(errc::timed_out, any_rank, {"peer 1"},
                     [&] { mine.op().synchronize(mine.stream()); });
        EXPECT_TRUE(mine.is_poisoned()) << to_string(s);
      }
      heap.reset_fault();
    });
}

TEST_F(Errors, CallsBehindATimeOutTouchNothingOfThePeers) {
  using plan = test::last_one_sleeps;
  for (const strategy s : test::all_strategies)
    on_ranks(plan::size, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 1 << 20, .signals = 64, .wait_budget = plan::budget(w.rank())});
      gemm_rank<float16> mine(w, heap, {20, 300, {16, 8, 24}}, s);
      platform::graph call = platform::graph::capture(mine.stream(), [&] { mine.run(); });
      plan::expect_the_truth(
          w,
          [&](int number) {
            mine.fill_a(static_cast<std::uint64_t>(number));
            call.launch(mine.stream());
            platform::synchronize(mine.stream());
          },
          [&] { mine.expect_exact(0, to_string(s)); }, s == strategy::pull);
    });
}

}  // namespace
