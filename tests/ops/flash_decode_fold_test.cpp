// SPDX-License-Identifier: MIT
/// @file
/// Merging partial results in any order and any bracketing: within the bounds that the header
/// states, which add up along the way from the inputs to the result.
#include "hiris/ops/flash_decode_fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "ops/flash_decode_reference.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

using Fold = test::device_test;

constexpr int most_inputs = 16;

/// Folds records into one, in the order given.
template <int MaxDim>
struct fold_kernel {
  static constexpr int block_threads = 256;
  struct params {
    flash_decode_plan plan;
    const float* records[std::size_t{most_inputs}];
    int n;
    float* to;
    int rows;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    partial_fold<MaxDim, block_threads> fold(p.plan, p.rows);
    for (int i = 0; i < p.n; ++i) fold.add(p.records[i]);
    store_record(fold, p.plan, p.to);
  }
};

/// A record on the host; off by at most `lse_off` in its log-sum-exps, and in its vectors by
/// `vector_off` times the largest |element| of all inputs.
struct record {
  std::vector<float> floats;
  double lse_off = 0, vector_off = 0;

  bool operator==(const record& o) const {
    return std::memcmp(floats.data(), o.floats.data(), floats.size() * sizeof(float)) == 0;
  }
};

/// Inputs, and how they are merged.
class merging {
 public:
  merging(int head_dim, int rows, int inputs, float spread, std::uint64_t seed)
      : plan_(plan_flash_decode({.q_heads = rows, .head_dim = head_dim}, 1)), rows_(rows) {
    for (int n = 0; n < inputs; ++n) {
      record& made = inputs_.emplace_back();
      made.floats.assign(static_cast<std::size_t>(plan_.record_floats), 0);
      for (int i = 0; i < plan_.record_floats; ++i) {
        const bool is_lse = i < plan_.lse_floats;
        if (!is_lse || i < rows)
          made.floats[static_cast<std::size_t>(i)] =
              (is_lse ? spread : 1) *
              test::noise(seed, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(i), 5);
      }
    }
  }

  const std::vector<record>& inputs() const { return inputs_; }
  /// A record of no keys. Its vectors must not be looked at.
  record neutral() const {
    record made = inputs_[0];
    for (int i = 0; i < plan_.record_floats; ++i)
      made.floats[static_cast<std::size_t>(i)] =
          i < plan_.lse_floats ? no_lse : std::numeric_limits<float>::quiet_NaN();
    return made;
  }

  /// One fold on the device, and the bounds that the header states.
  record fold(const std::vector<record>& parts) const {
    const auto floats = static_cast<std::size_t>(plan_.record_floats);
    platform::device_buffer<float> memory(floats * (parts.size() + 1));
    memory.fill_with(std::byte{0});
    record made;
    double lse_off = 0, vector_off = 0, largest_lse = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      platform::copy_now(memory.data() + i * floats, parts[i].floats.data(),
                         floats * sizeof(float));
      lse_off = std::max(lse_off, parts[i].lse_off);
      vector_off = std::max(vector_off, parts[i].vector_off);
    }
    if (plan_.head_dim <= 128)
      launch<128>(memory, parts.size());
    else
      launch<256>(memory, parts.size());
    const std::vector<float> all = memory.to_host();
    made.floats.assign(all.end() - static_cast<std::ptrdiff_t>(floats), all.end());
    for (int row = 0; row < rows_; ++row)
      if (made.floats[static_cast<std::size_t>(row)] != no_lse)
        largest_lse = std::max(
            largest_lse, std::abs(static_cast<double>(made.floats[static_cast<std::size_t>(row)])));
    constexpr double e = 0x1p-24;
    const auto n = static_cast<double>(parts.size());
    made.lse_off = lse_off + (12 * n + largest_lse) * e;
    made.vector_off = vector_off + 2 * std::log(2.0) * lse_off + (13 * n + 4) * e;
    return made;
  }

  /// Holds a merge of all inputs to fp64.
  void expect_exact(const record& made, const char* what) const {
    for (int row = 0; row < rows_; ++row) {
      double sum = 0;
      for (const record& r : inputs_) sum += std::exp2(lse(r, row));
      EXPECT_NEAR(lse(made, row), std::log2(sum), made.lse_off) << what << " row " << row;
      for (int i = 0; i < plan_.head_dim; ++i) {
        double exact = 0, most = 0;
        for (const record& r : inputs_) {
          exact += std::exp2(lse(r, row)) / sum * element(r, row, i);
          most = std::max(most, std::abs(element(r, row, i)));
        }
        ASSERT_NEAR(element(made, row, i), exact, made.vector_off * most)
            << what << " row " << row << " column " << i;
      }
    }
  }
  /// Holds two merges of the same inputs to each other.
  void expect_alike(const record& a, const record& b, const char* what) const {
    for (int row = 0; row < rows_; ++row) {
      EXPECT_NEAR(lse(a, row), lse(b, row), a.lse_off + b.lse_off) << what << " row " << row;
      for (int i = 0; i < plan_.head_dim; ++i)
        ASSERT_NEAR(element(a, row, i), element(b, row, i), a.vector_off + b.vector_off)
            << what << " row " << row << " column " << i;
    }
  }

 private:
  template <int MaxDim>
  void launch(const platform::device_buffer<float>& memory, std::size_t parts) const {
    typename fold_kernel<MaxDim>::params params{};
    params.plan = plan_;
    params.n = static_cast<int>(parts);
    params.rows = rows_;
    for (std::size_t i = 0; i < parts; ++i)
      params.records[i] = memory.data() + i * static_cast<std::size_t>(plan_.record_floats);
    params.to = memory.data() + parts * static_cast<std::size_t>(plan_.record_floats);
    platform::owned_stream stream;
    platform::launch<fold_kernel<MaxDim>>(stream, 1, params);
    stream.synchronize();
  }
  double lse(const record& r, int row) const {
    return static_cast<double>(r.floats[static_cast<std::size_t>(row)]);
  }
  double element(const record& r, int row, int i) const {
    return static_cast<double>(
        r.floats[static_cast<std::size_t>(plan_.lse_floats + row * plan_.head_dim + i)]);
  }

  flash_decode_plan plan_;
  int rows_;
  std::vector<record> inputs_;
};

/// Merges whose log-sum-exps are alike, lie apart as scores of +-40 do, and lie so far apart that
/// most weights vanish.
template <class F>
void for_each_merging(int inputs, F f) {
  std::uint64_t seed = 0;
  for (const float spread : {0.01f, 3.0f, 58.0f, 300.0f})
    for (const auto& [head_dim, rows] : {std::pair{64, 1}, std::pair{80, 12}, std::pair{256, 16}})
      f(merging(head_dim, rows, inputs, spread, ++seed));
}

TEST_F(Fold, IsCommutative) {
  for_each_merging(8, [](const merging& m) {
    std::vector<record> parts = m.inputs();
    const record in_order = m.fold(parts);
    m.expect_exact(in_order, "in order");
    std::reverse(parts.begin(), parts.end());
    const record reversed = m.fold(parts);
    m.expect_exact(reversed, "reversed");
    m.expect_alike(in_order, reversed, "reversed");
    for (std::size_t turn = 1; turn < parts.size(); ++turn) {
      std::rotate(parts.begin(), parts.begin() + 3, parts.end());
      std::swap(parts[turn], parts[turn / 2]);
      const record other = m.fold(parts);
      m.expect_exact(other, "in another order");
      m.expect_alike(in_order, other, "in another order");
    }
  });
}

TEST_F(Fold, IsAssociative) {
  for_each_merging(8, [](const merging& m) {
    const std::vector<record>& x = m.inputs();
    const record at_once = m.fold(x);
    record left = x[0], right = x.back();  // (((a b) c) d) ... and a (b (c (d ...)))
    for (std::size_t i = 1; i < x.size(); ++i) {
      left = m.fold({left, x[i]});
      right = m.fold({x[x.size() - 1 - i], right});
    }
    const auto pair = [&](std::size_t i) { return m.fold({x[i], x[i + 1]}); };
    const record halves = m.fold({m.fold({pair(0), pair(2)}), m.fold({pair(4), pair(6)})});
    const record splits = m.fold({m.fold({x[0], x[1], x[2]}), m.fold({x[3]}),
                                  m.fold({x[4], x[5], x[6], x[7]})});  // as splits, then ranks
    for (const auto& [made, what] :
         {std::pair<const record*, const char*>{&left, "from the left"},
          std::pair<const record*, const char*>{&right, "from the right"},
          std::pair<const record*, const char*>{&halves, "by halves"},
          std::pair<const record*, const char*>{&splits, "splits, then ranks"}}) {
      m.expect_exact(*made, what);
      m.expect_alike(at_once, *made, what);
    }
  });
}

TEST_F(Fold, HasANeutralElementToTheBit) {
  for_each_merging(3, [](const merging& m) {
    const std::vector<record>& x = m.inputs();
    const record none = m.neutral();
    EXPECT_EQ(m.fold({x[0]}), x[0]);
    EXPECT_EQ(m.fold({none, x[0]}), x[0]);
    EXPECT_EQ(m.fold({x[0], none}), x[0]);
    EXPECT_EQ(m.fold({x[0], none, x[1], none, x[2]}), m.fold(x));
    const record nothing = m.fold({none, none});
    for (const float f : nothing.floats) EXPECT_TRUE(f == 0 || f == no_lse) << f;
    EXPECT_EQ(nothing.floats[0], no_lse);
  });
}

TEST_F(Fold, OneOrderHasOneResultToTheBit) {
  for_each_merging(8, [](const merging& m) { EXPECT_EQ(m.fold(m.inputs()), m.fold(m.inputs())); });
}

}  // namespace
