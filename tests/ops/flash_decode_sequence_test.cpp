// SPDX-License-Identifier: MIT
/// @file
/// Steps back to back, with other lengths and data each, must have the bits of the same steps taken
/// one by one, also while a slow peer still reads the step before.
#include "hiris/ops/flash_decode.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using test::decode_case;
using test::decode_rank;
using test::on_ranks;
using test::uneven;

using Sequence = test::device_test;

/// Lengths of one of eight steps that are taken again and again.
decode_case step(const decode_case& c, std::uint64_t number, int batch) {
  decode_case s = c;
  for (std::size_t r = 0; r < c.lengths.size(); ++r)
    for (int b = 0; b < batch; ++b)
      s.lengths[r][static_cast<std::size_t>(b)] = static_cast<std::int32_t>(
          (number * 37 + r * 11 + static_cast<std::uint64_t>(b) * 23) % 71);
  return s;
}

constexpr std::uint64_t kinds = 8;

/// The case with a cache that is full everywhere.
decode_case full(const decode_case& c) {
  decode_case f = c;
  for (auto& rank : f.lengths)
    rank.assign(rank.size(), static_cast<std::int32_t>(c.problem.max_kv_len));
  return f;
}

/// `steps` steps; outputs are copied out in stream order, and queries and lengths in.
void back_to_back(const decode_case& c, flash_decode_variant v, std::uint64_t steps, bool graph) {
  on_ranks(c.ranks(), [&](const world& w) {
    const auto batch = static_cast<int>(c.problem.batch);
    symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
    decode_rank<float16> mine(w, heap, c, v);
    std::vector<std::vector<float16>> q;
    std::vector<std::vector<std::int32_t>> lengths;
    mine.fill(0, full(c));
    for (std::uint64_t kind = 0; kind < kinds; ++kind) {
      const decode_case s = step(c, kind, batch);
      const test::decode_values<float16> value{s, kind};
      q.emplace_back();
      for (std::int64_t b = 0; b < c.problem.batch; ++b)
        for (std::int64_t h = 0; h < c.problem.q_heads; ++h)
          for (std::int64_t i = 0; i < c.problem.head_dim; ++i)
            q.back().push_back(value.q(b, h, i));
      lengths.push_back(s.lengths[static_cast<std::size_t>(w.rank())]);
    }
    const auto enqueue = [&](std::uint64_t number) {
      const std::size_t kind = number % kinds;
      platform::copy(mine.mutable_q(), q[kind].data(), q[kind].size() * 2, mine.stream());
      platform::copy(mine.lengths(), lengths[kind].data(), lengths[kind].size() * 4, mine.stream());
    };
    const std::size_t elems = q[0].size();
    std::vector<std::vector<float16>> alone(kinds, std::vector<float16>(elems));
    for (std::uint64_t kind = 0; kind < kinds; ++kind) {
      enqueue(kind);
      mine.run();
      alone[kind] = mine.result();
      w.barrier("one by one");
    }
    std::vector<std::vector<float16>> together(steps, std::vector<float16>(elems));
    platform::graph replay = platform::graph::capture(mine.stream(), [&] { mine.run(); });
    std::uint64_t random = static_cast<std::uint64_t>(w.rank()) * 77 + 1;
    for (std::uint64_t number = 0; number < steps; ++number) {
      random = random * 6364136223846793005ull + 1442695040888963407ull;
      if (random >> 58 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1 + number % 3));
      enqueue(number);
      if (graph && number % 10 != 9)
        replay.launch(mine.stream());
      else
        mine.run();
      platform::copy(together[number].data(), mine.out(), elems * 2, mine.stream());
    }
    mine.op().synchronize(mine.stream());
    int wrong = 0;
    for (std::uint64_t number = 0; number < steps; ++number)
      if (std::memcmp(together[number].data(), alone[number % kinds].data(), elems * 2) != 0 &&
          ++wrong <= 3)
        ADD_FAILURE() << to_string(v) << " rank " << w.rank() << " step " << number;
    EXPECT_EQ(wrong, 0) << to_string(v);
  });
}

decode_case small(int ranks) {
  return uneven({.batch = 2, .q_heads = 3, .kv_heads = 1, .head_dim = 64, .scale = 0.3f}, ranks,
                70);
}

TEST_F(Sequence, AThousandStepsBackToBack) {
  for (const flash_decode_variant v : test::all_variants) back_to_back(small(3), v, 1000, false);
}

TEST_F(Sequence, ACapturedGraphReplaysWithOtherLengths) {
  for (const flash_decode_variant v : test::all_variants) {
    decode_case c = small(2);
    c.options.splits = 2;
    back_to_back(c, v, 60, true);
  }
}

TEST_F(Sequence, CountsMayWrap) {
  for (const flash_decode_variant v : test::all_variants) {
    decode_case c = small(2);
    c.options = {.splits = 2, .first_epoch = std::numeric_limits<std::uint64_t>::max() - 11};
    back_to_back(c, v, 20, false);
  }
}

TEST_F(Sequence, TwoOpsOnOneHeapDoNotMeet) {
  const decode_case c = small(2);
  const test::decode_reference refs[] = {test::reference_of<float16>(c, 0),
                                         test::reference_of<float16>(c, 1)};
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 256});
      decode_rank<float16> one(w, heap, c, v), two(w, heap, c, flash_decode_variant::fused);
      one.fill(0);
      two.fill(1);
      for (int call = 0; call < 3; ++call) {
        one.run();
        two.run();
        one.expect(refs[0], to_string(v));
        two.expect(refs[1], to_string(v));
      }
    });
}

}  // namespace
