// SPDX-License-Identifier: MIT
/// @file
/// Steps back to back, each with queries, keys, values, lengths and block table of its own, must
/// have the bits of the same steps taken one by one, also while a slow peer still reads the step
/// before.
#include "hiris/ops/flash_decode.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ops/flash_decode_case.hpp"
#include "support/device_test.hpp"
#include "support/patience.hpp"

namespace {

using namespace hiris;
using test::decode_case;
using test::decode_rank;
using test::decode_reference;
using test::on_ranks;
using test::uneven;

using Sequence = test::device_test;

/// Holds places of a device for a while: a stream that comes late, or a device with no room.
struct delay_kernel {
  static constexpr int block_threads = 1024;
  struct params {
    std::uint64_t duration_ns;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (platform::thread_rank() == 0) {
      const std::uint64_t start = platform::clock_ns();
      while (platform::clock_ns() - start < p.duration_ns) platform::pause();
    }
    platform::block_sync();
  }
};

/// Delays a rank in about one step of 32, half of them where it stands: before a step, or in
/// it, between two of its kernels.
class hesitation {
 public:
  explicit hesitation(const world& w)
      : random_(static_cast<std::uint64_t>(w.rank()) * 77 + 1),
        whole_device_(2 * platform::describe(w.device()).compute_units) {
    platform::load_kernel<delay_kernel>();
  }
  void before_step(platform::stream stream) {
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    const std::uint64_t duration_ns = 100'000 * (1 + (random_ >> 40) % 40);
    switch (random_ >> 58) {
      case 0:
        platform::launch<delay_kernel>(stream, 1, {duration_ns});
        break;
      case 1:
        platform::launch<delay_kernel>(beside_, whole_device_, {duration_ns});
        break;
      default:
        return;
    }
    ++delays_;
  }
  int delays() const { return delays_; }

 private:
  platform::owned_stream beside_;
  std::uint64_t random_;
  int whole_device_;
  int delays_ = 0;
};

/// Steps, no two alike, and their results in fp64.
struct timeline {
  explicit timeline(const decode_case& c, std::uint64_t steps) : whole(c) {
    for (std::uint64_t number = 0; number < steps; ++number) {
      decode_case s = c;
      for (std::size_t r = 0; r < c.lengths.size(); ++r)
        for (std::size_t b = 0; b < c.lengths[r].size(); ++b)
          s.lengths[r][b] =
              static_cast<std::int32_t>((number * 37 + r * 11 + b * 23) %
                                        static_cast<std::uint64_t>(c.problem.max_kv_len + 1));
      refs.push_back(test::reference_of<float16>(s, number));
      each.push_back(std::move(s));
    }
  }

  decode_case whole;
  std::vector<decode_case> each;
  std::vector<decode_reference> refs;
};

/// A rank whose operands have the contents of a step, from device memory: the host waits for no
/// copy.
class stepping_rank {
 public:
  stepping_rank(const world& w, symmetric_heap& heap, const timeline& t, flash_decode_variant v)
      : rank_(w, heap, t.whole, v), steps_(t.each.size()) {
    const auto first = rank_.image_of(0, t.each[0]);
    add(rank_.q_memory(), first.q);
    add(rank_.k_memory(), first.k);
    add(rank_.v_memory(), first.v);
    add(rank_.table(), first.table);
    add(rank_.lengths(), first.lengths);
    for (std::size_t number = 0; number < steps_; ++number) {
      const auto made = rank_.image_of(number, t.each[number]);
      put(0, number, made.q);
      put(1, number, made.k);
      put(2, number, made.v);
      put(3, number, made.table);
      put(4, number, made.lengths);
    }
    out_elems_ = first.q.size();
    lse_elems_ = t.refs[0].lse.size();
    outs_ = platform::device_buffer<float16>(steps_ * out_elems_);
    lses_ = platform::device_buffer<float>(steps_ * lse_elems_);
  }

  decode_rank<float16>& rank() { return rank_; }
  platform::stream stream() const { return rank_.stream(); }

  /// Brings the operands of a step, in stream order.
  void load(std::size_t number) const {
    for (const track& t : tracks_)
      platform::copy(t.operand, t.steps.data() + number * t.bytes, t.bytes, stream());
  }
  /// Keeps the results of a step, in stream order.
  void save(std::size_t number) const {
    platform::copy(outs_.data() + number * out_elems_, rank_.out(), out_elems_ * sizeof(float16),
                   stream());
    platform::copy(lses_.data() + number * lse_elems_, rank_.lse(), lse_elems_ * sizeof(float),
                   stream());
  }
  /// Outputs and log-sum-exps of all steps, once the stream is done.
  std::pair<std::vector<float16>, std::vector<float>> saved() const {
    return {outs_.to_host(), lses_.to_host()};
  }

 private:
  struct track {
    void* operand;
    std::size_t bytes;
    platform::device_buffer<std::byte> steps;
  };
  template <class T>
  void add(T* operand, const std::vector<T>& like) {
    const std::size_t bytes = like.size() * sizeof(T);
    tracks_.push_back({operand, bytes, platform::device_buffer<std::byte>(steps_ * bytes)});
  }
  template <class T>
  void put(std::size_t at, std::size_t number, const std::vector<T>& values) {
    const track& t = tracks_[at];
    platform::copy_now(t.steps.data() + number * t.bytes, values.data(), t.bytes);
  }

  decode_rank<float16> rank_;
  std::size_t steps_, out_elems_ = 0, lse_elems_ = 0;
  std::vector<track> tracks_;
  platform::device_buffer<float16> outs_;
  platform::device_buffer<float> lses_;
};

/// All steps one by one, held to fp64; then back to back, held to the bits of those.
void back_to_back(const timeline& t, flash_decode_variant v, bool graph) {
  on_ranks(t.whole.ranks(), [&](const world& w) {
    symmetric_heap heap(
        w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
    stepping_rank mine(w, heap, t, v);
    const std::size_t steps = t.each.size();
    for (std::size_t number = 0; number < steps; ++number) {
      mine.load(number);
      mine.rank().run();
      mine.save(number);
      const std::string what = std::string(to_string(v)) + " step " + std::to_string(number);
      if (!testing::Test::HasFailure()) mine.rank().expect(t.refs[number], what);
      w.barrier("one by one");
    }
    const auto alone = mine.saved();

    platform::graph replay = platform::graph::capture(mine.stream(), [&] { mine.rank().run(); });
    hesitation slow(w);
    for (std::size_t number = 0; number < steps; ++number) {
      slow.before_step(mine.stream());
      mine.load(number);
      if (graph && number % 10 != 9)
        replay.launch(mine.stream());
      else
        mine.rank().run();
      mine.save(number);
    }
    mine.rank().op().synchronize(mine.stream());
    if (steps >= 200) {
      EXPECT_GT(slow.delays(), 0);
    }
    const auto together = mine.saved();
    const std::size_t out_elems = together.first.size() / steps;
    const std::size_t lse_elems = together.second.size() / steps;
    int wrong = 0;
    for (std::size_t number = 0; number < steps; ++number)
      if ((std::memcmp(&together.first[number * out_elems], &alone.first[number * out_elems],
                       out_elems * sizeof(float16)) != 0 ||
           std::memcmp(&together.second[number * lse_elems], &alone.second[number * lse_elems],
                       lse_elems * sizeof(float)) != 0) &&
          ++wrong <= 3)
        ADD_FAILURE() << to_string(v) << " rank " << w.rank() << " step " << number;
    EXPECT_EQ(wrong, 0) << to_string(v);
    w.barrier("end of a sequence");
  });
}

decode_case small(int ranks, int page_size) {
  return uneven({.batch = 2,
                 .q_heads = 3,
                 .kv_heads = 1,
                 .head_dim = 64,
                 .page_size = page_size,
                 .scale = 0.3f},
                ranks, 70);
}

TEST_F(Sequence, AThousandStepsBackToBack) {
  const timeline t(small(3, 0), test::calls_at_most(1000));
  for (const flash_decode_variant v : test::all_variants) back_to_back(t, v, false);
}

TEST_F(Sequence, ACapturedGraphReplaysWithOtherLengthsAndPages) {
  decode_case c = small(2, 16);
  c.options.splits = 2;
  const timeline t(c, test::calls_at_most(200));
  for (const flash_decode_variant v : test::all_variants) back_to_back(t, v, true);
}

TEST_F(Sequence, CountsMayWrap) {
  decode_case c = small(2, 1);
  constexpr std::uint64_t steps = 20;  // the first run takes as many, the second wraps in the midst
  c.options = {.splits = 2,
               .first_epoch = std::numeric_limits<std::uint64_t>::max() - steps - steps / 2};
  const timeline t(c, steps);
  for (const flash_decode_variant v : test::all_variants) back_to_back(t, v, false);
}

TEST_F(Sequence, TwoOpsOnOneHeapDoNotMeet) {
  const decode_case c = small(2, 0);
  const decode_reference refs[] = {test::reference_of<float16>(c, 0),
                                   test::reference_of<float16>(c, 1)};
  for (const flash_decode_variant v : test::all_variants)
    on_ranks(2, [&](const world& w) {
      symmetric_heap heap(
          w, {.data_bytes = 4 << 20, .signals = 256, .wait_budget = test::patient_budget()});
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
