// SPDX-License-Identifier: MIT
/// @file
/// Bad input, on the host and in device memory, and peers that never call: typed errors that name
/// the value, nothing read outside the cache, nothing left behind.
#include "hiris/ops/flash_decode.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"
#include "support/first_cause.hpp"
#include "support/patience.hpp"

namespace {

using namespace hiris;
using test::any_rank;
using test::decode_case;
using test::decode_rank;
using test::expect_error;
using test::on_ranks;
using test::uneven;

using Errors = test::device_test;
using op_type = flash_decode<float16>;

decode_case small(int page_size = 0) {
  return uneven({.batch = 2,
                 .q_heads = 4,
                 .kv_heads = 2,
                 .head_dim = 64,
                 .page_size = page_size,
                 .scale = 0.3f},
                2, 40);
}

/// On two ranks, building the op with `problem(rank)` throws on both, and a sound one works after.
void expect_refused(errc code, const std::vector<std::string>& words,
                    const std::function<flash_decode_problem(int)>& problem) {
  const decode_case c = small();
  const test::decode_reference ref = test::reference_of<float16>(c, 0);
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    expect_error(code, any_rank, words, [&] { op_type op(heap, problem(w.rank())); });
    decode_rank<float16> mine(w, heap, c, flash_decode_variant::fused);
    mine.fill(0);
    mine.run();
    mine.expect(ref, "after a refusal");
  });
}

TEST_F(Errors, ProblemsThatDoNotFit) {
  const auto refused = [](const std::vector<std::string>& words, flash_decode_problem p) {
    expect_refused(errc::invalid_argument, words, [=](int) { return p; });
  };
  refused({"batch", " 0", "256"}, {.batch = 0});
  refused({"batch", "257"}, {.batch = 257});
  refused({"head_dim", "48", "64"}, {.head_dim = 48});
  refused({"head_dim", "272"}, {.head_dim = 272});
  refused({"head_dim", "100", "16"}, {.head_dim = 100});
  refused({"q_heads", "10", "4"}, {.q_heads = 10, .kv_heads = 4});
  refused({"kv_heads", "8"}, {.q_heads = 4, .kv_heads = 8});
  refused({"max_kv_len", "-5"}, {.max_kv_len = -5});
  refused({"max_kv_len", "33", "16 * 2"},
          {.max_kv_len = 33, .page_size = 16, .max_pages = 2, .pages = 9});
  refused({"page_size", "-1"}, {.page_size = -1});
  refused({"soft_cap", "-2"}, {.soft_cap = -2});
  EXPECT_NE(op_type::why_not({.head_dim = 8}).find("head_dim"), std::string::npos);
  EXPECT_EQ(op_type::why_not({}), "");
}

TEST_F(Errors, RanksThatDisagree) {
  expect_refused(errc::mismatch, {"batch", "2", "3"},
                 [](int rank) { return flash_decode_problem{.batch = 2 + rank}; });
  expect_refused(errc::mismatch, {"q_heads", "4", "8"}, [](int rank) {
    return flash_decode_problem{.q_heads = 4 + 4 * rank, .kv_heads = 4};
  });
  expect_refused(errc::mismatch, {"kv_heads", "1", "2"},
                 [](int rank) { return flash_decode_problem{.q_heads = 4, .kv_heads = 1 + rank}; });
  expect_refused(errc::mismatch, {"scale", "0.5", "0.25"},
                 [](int rank) { return flash_decode_problem{.scale = rank == 1 ? 0.25f : 0.5f}; });
  expect_refused(errc::mismatch, {"soft_cap", "30", "20"},
                 [](int rank) { return flash_decode_problem{.soft_cap = rank == 1 ? 20.0f : 30}; });
  expect_refused(errc::mismatch, {"head_dim", "64", "80"},
                 [](int rank) { return flash_decode_problem{.head_dim = 64 + 16 * rank}; });
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    expect_error(errc::mismatch, any_rank, {"fused", "fine_grained"}, [&] {
      op_type op(heap, {},
                 w.rank() == 0 ? flash_decode_variant::fused : flash_decode_variant::fine_grained);
    });
    expect_error(errc::mismatch, any_rank, {"float16", "bfloat16"}, [&] {
      if (w.rank() == 0)
        op_type op(heap, {});
      else
        flash_decode<bfloat16> op(heap, {});
    });
  });
}

TEST_F(Errors, AHeapThatIsTooSmall) {
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 14, .signals = 3});
    expect_error(errc::out_of_memory, 0, {"16384"},
                 [&] { op_type op(heap, {.batch = 8, .q_heads = 12, .head_dim = 128}); });
    expect_error(errc::out_of_memory, 0, {"signal"}, [&] { op_type op(heap, {.head_dim = 64}); });
  });
}

TEST_F(Errors, PointersAreCheckedAtEveryCall) {
  const decode_case c = small(16);
  const test::decode_reference ref = test::reference_of<float16>(c, 0);
  on_ranks(2, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    decode_rank<float16> mine(w, heap, c, flash_decode_variant::fused);
    op_type& op = mine.op();
    const auto s = mine.stream();
    const kv_cache<float16> cache = mine.cache();
    const auto refused = [&](const char* name, const std::function<void()>& f) {
      expect_error(errc::invalid_argument, any_rank, {name}, f);
    };
    refused("q ", [&] { op.run(s, nullptr, cache, mine.lengths(), mine.out()); });
    refused("q ", [&] { op.run(s, mine.q() + 1, cache, mine.lengths(), mine.out()); });
    refused("k ", [&] {
      op.run(s, mine.q(), {nullptr, cache.v, cache.block_table}, mine.lengths(), mine.out());
    });
    refused("v ", [&] {
      op.run(s, mine.q(), {cache.k, cache.v + 4, cache.block_table}, mine.lengths(), mine.out());
    });
    refused("block_table", [&] {
      op.run(s, mine.q(), {cache.k, cache.v}, mine.lengths(), mine.out());
    });
    refused("kv_lengths", [&] { op.run(s, mine.q(), cache, nullptr, mine.out()); });
    refused("out", [&] { op.run(s, mine.q(), cache, mine.lengths(), nullptr); });
    mine.fill(0);  // nothing was launched by any of these
    mine.run();
    mine.expect(ref, "after refusals");
  });
}

TEST_F(Errors, LengthsAndPagesThatAreNotThere) {
  const decode_case c = small(16);
  const test::decode_reference ref = test::reference_of<float16>(c, 0);
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
      decode_rank<float16> mine(w, heap, c, v);
      const auto set = [&](std::int32_t* at, std::int32_t value) {
        if (w.rank() == 1) platform::copy_now(at, &value, sizeof value);
      };
      const auto told = [&](const std::vector<std::string>& words) {
        mine.run();
        if (w.rank() == 1)
          expect_error(errc::invalid_argument, any_rank, words, [&] { mine.result(); });
        else
          mine.result();
      };
      mine.fill(0);
      set(mine.lengths() + 1, -3);
      told({"length", "sequence 1", "-3", "40", "rank 1"});
      set(mine.lengths() + 1, 41);
      set(mine.lengths() + 0, 0);
      told({"length", "sequence 1", "41", "40"});
      mine.fill(0);
      set(mine.lengths(), 1);
      for (const std::int32_t page : {-1, 2000000000, static_cast<std::int32_t>(c.problem.pages)}) {
        set(mine.table(), page);
        told({"page", "sequence 0", std::to_string(page), std::to_string(c.problem.pages - 1)});
      }
      mine.fill(0);  // the op lives
      mine.run();
      mine.expect(ref, to_string(v));
    });
}

TEST_F(Errors, APeerThatNeverCallsEndsInATimeOutAndADeadOp) {
  const decode_case c = uneven({.batch = 2, .q_heads = 4, .kv_heads = 2, .head_dim = 64}, 3, 40);
  const test::decode_reference ref = test::reference_of<float16>(c, 0);
  for (const bool deterministic : {true, false})
    for (const flash_decode_variant v : test::all_variants)
      on_ranks(3, [&](const world& w) {
        symmetric_heap heap(w, {.data_bytes = 1 << 20,
                                .signals = 128,
                                .wait_budget = test::patiently(std::chrono::milliseconds(200))});
        decode_case mine_is = c;
        mine_is.problem.deterministic = deterministic;
        decode_rank<float16> mine(w, heap, mine_is, v);
        mine.fill(0);
        if (w.rank() != 1) {
          mine.run();
          expect_error(errc::timed_out, any_rank, {"peer 1"}, [&] { mine.result(); });
        }
        heap.reset_fault();
        expect_error(errc::timed_out, any_rank, {"build a new one"}, [&] { mine.run(); });
        decode_rank<float16> next(w, heap, mine_is, v);
        next.fill(0);
        next.run();
        next.expect(ref, to_string(v));
      });
}

TEST_F(Errors, AWaitThatRunsOutOnOneRankIsTheCauseOnAll) {
  for (const flash_decode_variant v : test::all_variants)
    for (const int size : {2, 3, 8}) {
      // one sequence on eight devices: the thread sanitizer has no room for all of their lanes
      decode_case c = uneven(
          {.batch = size == 8 ? 1 : 2, .q_heads = 4, .kv_heads = 2, .head_dim = 64}, size, 40);
      c.problem.deterministic = size != 3;  // else records are taken as they come
      const test::decode_reference ref = test::reference_of<float16>(c, 0);
      on_ranks(size, [&](const world& w) {
        const test::one_in_a_hurry plan(size);
        symmetric_heap heap(
            w, {.data_bytes = 4 << 20, .signals = 512, .wait_budget = plan.budget(w.rank())});
        decode_rank<float16> mine(w, heap, c, v);
        mine.fill(0);
        plan.expect_one_cause(w, [&] {
          mine.run();
          mine.result();
        });
        heap.reset_fault();
        decode_rank<float16> next(w, heap, c, v);
        next.fill(0);
        next.run();
        next.expect(ref, to_string(v));
      });
    }
}

TEST_F(Errors, NothingIsComputedBehindATimeOut) {
  const decode_case c = uneven({.batch = 2, .q_heads = 4, .kv_heads = 2, .head_dim = 64}, 2, 40);
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 20,
                              .signals = 128,
                              .wait_budget = test::patiently(std::chrono::milliseconds(50))});
      decode_rank<float16> mine(w, heap, c, v);
      mine.fill(0);
      if (w.rank() == 0) {
        mine.run();
        expect_error(errc::timed_out, any_rank, {"peer 1"}, [&] { mine.result(); });
        EXPECT_TRUE(mine.is_poisoned()) << to_string(v);
      }
      heap.reset_fault();
    });
}

TEST_F(Errors, CallsBehindATimeOutTouchNothingOfThePeers) {
  using plan = test::last_one_sleeps;
  const decode_case c =
      uneven({.batch = 2, .q_heads = 4, .kv_heads = 2, .head_dim = 64}, plan::size, 40);
  const test::decode_reference ref = test::reference_of<float16>(c, 0);
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(plan::size, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 1 << 20, .signals = 64, .wait_budget = plan::budget(w.rank())});
      decode_rank<float16> mine(w, heap, c, v);
      platform::graph call = platform::graph::capture(mine.stream(), [&] { mine.run(); });
      plan::expect_the_truth(
          w,
          [&](int number) {
            mine.fill(static_cast<std::uint64_t>(number));
            call.launch(mine.stream());
            platform::synchronize(mine.stream());
          },
          [&] { mine.expect(ref, to_string(v)); }, false);
    });
}

}  // namespace
