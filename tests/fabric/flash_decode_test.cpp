// SPDX-License-Identifier: MIT
// Flash Decode under the hostile fabric: every variant, several steps in flight, against fp64.
#include "hiris/ops/flash_decode.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/copying_gather.hpp"
#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"
#include "support/fabric.hpp"

namespace {

using namespace hiris;
using test::decode_case;
using test::decode_rank;

using FabricFlashDecode = test::device_test;

constexpr std::size_t steps = 4;

/// A case and the exact results of its steps, all of whose operands differ.
struct prepared {
  decode_case c;
  std::vector<test::decode_reference> refs;
};

/// All steps are enqueued before the first runs. Odd seeds: one buffer for each operand and the
/// result, with copies between the steps. Even seeds: kernel follows kernel, each with its own.
///
/// @param library bulk_synchronous with an all-gather that is not ours.
void step_after_step(const world& w, flash_decode_variant v, bool library, const prepared& all,
                     std::uint64_t seed) {
  const bool one_buffer = seed % 2 == 1, paged = all.c.problem.page_size > 0;
  symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 128});
  test::copying_gather gather(w, heap);
  decode_rank<float16> mine(w, heap, library ? with(all.c, gather) : all.c, v);
  const auto block = heap.allocate<float>(1);  // in the segments of the inbox and of the signals
  const auto signal = heap.allocate_signals(1);
  mine.fill(0);
  std::vector<decode_rank<float16>::image> images;
  for (std::uint64_t step = 0; step < steps; ++step) images.push_back(mine.image_of(step, all.c));
  const std::size_t q_elems = images[0].q.size(), kv_elems = images[0].k.size();
  const std::size_t table_elems = images[0].table.size();
  const std::size_t buffers = one_buffer ? 1 : steps;
  const platform::device_buffer<float16> q(buffers * q_elems), out(buffers * q_elems);
  const platform::device_buffer<float16> k(buffers * kv_elems), values(buffers * kv_elems);
  const platform::device_buffer<std::int32_t> tables(buffers * table_elems);
  std::vector<std::vector<float16>> results(steps, std::vector<float16>(q_elems));
  const auto at = [&](std::size_t step) { return one_buffer ? 0 : step; };
  const auto copy_in = [&](std::size_t step) {
    const auto copy = [&](auto* to, const auto& from) {
      platform::copy(to + at(step) * from.size(), from.data(), from.size() * sizeof *to,
                     mine.stream());
    };
    copy(q.data(), images[step].q);
    copy(k.data(), images[step].k);
    copy(values.data(), images[step].v);
    copy(tables.data(), images[step].table);
  };
  const auto run = [&](std::size_t step) {
    const std::size_t cache = at(step) * kv_elems;
    mine.op().run(mine.stream(), q.data() + at(step) * q_elems,
                  {k.data() + cache, values.data() + cache,
                   paged ? tables.data() + at(step) * table_elems : nullptr},
                  mine.lengths(), out.data() + at(step) * q_elems, nullptr);
  };
  const auto copy_out = [&](std::size_t step) {
    platform::copy(results[step].data(), out.data() + at(step) * q_elems, q_elems * sizeof(float16),
                   mine.stream());
  };
  test::under_seed(w, seed, mine.stream(),
                   [&] {
                     platform::fill(out.data(), std::byte{0xff}, out.size_bytes(), mine.stream());
                     if (!one_buffer)
                       for (std::size_t step = 0; step < steps; ++step) copy_in(step);
                     for (std::size_t step = 0; step < steps; ++step) {
                       if (one_buffer) copy_in(step);
                       run(step);
                       if (one_buffer) copy_out(step);
                     }
                     if (!one_buffer)
                       for (std::size_t step = 0; step < steps; ++step) copy_out(step);
                   },
                   {block.data(), signal.data()});
  heap.check();
  for (std::size_t step = 0; step < steps; ++step)
    mine.expect(all.refs[step], results[step], {},
                to_string(v) + (" step " + std::to_string(step)) + " seed " + std::to_string(seed));
}

void every_seed(flash_decode_variant v, bool library = false) {
  std::vector<prepared> cases;
  for (const int ranks : {2, 3, 8}) {
    flash_decode_problem p{.batch = 2, .q_heads = 4, .kv_heads = 2, .head_dim = 64};
    if (ranks == 8) p = {.batch = 1, .q_heads = 3, .kv_heads = 1, .head_dim = 64};
    if (ranks == 3) p.page_size = 16;
    decode_case c = test::uneven(p, ranks, ranks == 2 ? 150 : 70);
    if (ranks == 2) c.options.splits = 3;
    if (ranks == 3) c.problem.deterministic = false;
    cases.push_back({c, {}});
    for (std::uint64_t step = 0; step < steps; ++step)
      cases.back().refs.push_back(test::reference_of<float16>(c, step));
  }
  test::for_each_seed(8, [&](std::uint64_t seed) {
    for (const prepared& all : cases)
      test::on_ranks(all.c.ranks(),
                     [&](const world& w) { step_after_step(w, v, library, all, seed); });
  });
}

TEST_F(FabricFlashDecode, BulkSynchronous) { every_seed(flash_decode_variant::bulk_synchronous); }
TEST_F(FabricFlashDecode, BulkSynchronousWithALibrary) {
  every_seed(flash_decode_variant::bulk_synchronous, true);
}
TEST_F(FabricFlashDecode, IndependentGather) {
  every_seed(flash_decode_variant::independent_gather);
}
TEST_F(FabricFlashDecode, FineGrained) { every_seed(flash_decode_variant::fine_grained); }
TEST_F(FabricFlashDecode, Fused) { every_seed(flash_decode_variant::fused); }

}  // namespace
