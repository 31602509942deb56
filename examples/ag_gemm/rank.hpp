// SPDX-License-Identifier: MIT
/// @file
/// What one rank does: set-up, then for each strategy a checked call, timed calls and a second
/// check.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/ops/all_gather_gemm.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "options.hpp"
#include "reference.hpp"
#include "report.hpp"
#include "shared_case.hpp"
#include "strategies.hpp"
#include "support/devices.hpp"
#include "support/progress.hpp"

namespace ag_gemm {

using example::progress;
using example::result;

/// One rank of the example. T is the format of A, B and C.
template <class T, hiris::matrix_layout B>
class rank_runner {
 public:
  rank_runner(std::shared_ptr<hiris::bootstrap> boot, const options& o, shared_case& data)
      : options_(o),
        data_(data),
        world_(std::move(boot)),
        on_device_(world_.device()),
        heap_(world_, heap_options()),
        shards_(split_k()) {}

  /// Runs everything. Returns whether all was correct; rank 0 prints.
  bool run() {
    const bool speaks = world_.rank() == 0;
    allocate();
    fill();
    const setting on{example::kind_of_device(world_), example::number_of_devices(world_),
                     hiris::to_string(hiris::choose_strategy(problem()))};
    if (speaks && !options_.json) print_header(options_, on);

    std::vector<result> results;
    bool correct = true;
    for (const std::string& name : options_.strategies) {
      const result r = run_strategy(name);
      correct = correct && (!r.verified || r.correct);
      results.push_back(r);
      if (speaks && !options_.json) example::print_row(name, r);
    }
    if (speaks && options_.json) print_json(options_, on, results);
    return correct;
  }

 private:
  using clock = std::chrono::steady_clock;

  hiris::heap_options heap_options() const {
    // A, and twice an inbox of all of A in whole tiles, for one strategy after the other.
    const std::int64_t padded = (options_.m + 128) * (options_.k + 512 * options_.ranks);
    hiris::heap_options h;
    h.data_bytes = 6 * padded + (std::int64_t{16} << 20);
    h.signals = 1 << 14;
    h.wait_budget = std::chrono::nanoseconds(std::llround(options_.wait_budget_s * 1e9));
    return h;
  }

  /// Columns of A that each rank owns: as equal as can be.
  std::vector<std::int64_t> split_k() const {
    std::vector<std::int64_t> shards;
    for (std::int64_t r = 0; r < world_.size(); ++r)
      shards.push_back(options_.k * (r + 1) / world_.size() - options_.k * r / world_.size());
    return shards;
  }

  hiris::all_gather_gemm_problem problem() const { return {options_.m, options_.n, shards_}; }

  /// Before anything is filled, so that a problem without room fails at once.
  void allocate() {
    const std::int64_t longest = *std::max_element(shards_.begin(), shards_.end());
    a_ = heap_.allocate<T>(options_.m * longest);  // in the heap, since pull reads it where it is
    world_.collectively("allocation of B and C", [&] {
      b_ = hiris::platform::device_buffer<T>(static_cast<std::size_t>(options_.k * options_.n));
      c_ = hiris::platform::device_buffer<T>(static_cast<std::size_t>(options_.m * options_.n));
    });
  }

  void fill() {
    {
      const progress step("filling A and B", world_.rank() == 0);
      data_.fill<T>(world_.rank());
      world_.barrier("filling A and B");
    }
    if (options_.verify) {
      const progress step("computing the fp64 reference", world_.rank() == 0);
      data_.compute_reference<T>(world_.rank());
      world_.barrier("computing the reference");
    }
    const progress step("copying A and B to the devices", world_.rank() == 0);
    b_.copy_from(reinterpret_cast<const T*>(data_.b()));
    std::vector<T> shard(static_cast<std::size_t>(options_.m * own_k()));
    std::int64_t begin = 0;
    for (int r = 0; r < world_.rank(); ++r) begin += shards_[static_cast<std::size_t>(r)];
    for (std::int64_t i = 0; i < options_.m; ++i)
      for (std::int64_t x = 0; x < own_k(); ++x)
        shard[static_cast<std::size_t>(i * own_k() + x)] = T{data_.a()[i * options_.k + begin + x]};
    hiris::platform::copy_now(a_.data(), shard.data(), shard.size() * sizeof(T));
    world_.barrier("copying A and B");
  }

  std::int64_t own_k() const { return shards_[static_cast<std::size_t>(world_.rank())]; }

  result run_strategy(const std::string& name) {
    hiris::all_gather_gemm<T, B> op(heap_, problem(), strategy_of(name));
    result r{};
    const int iterations = timed_calls();
    std::vector<double> times;
    {
      const progress step("strategy " + name + ", checked call", world_.rank() == 0);
      const double us = slowest(call(op));
      if (iterations == 0) times.push_back(us);
      if (options_.verify) verify(r);
    }
    if (iterations > 0) {
      const progress step("strategy " + name + ", timed calls", world_.rank() == 0);
      for (int i = 0; i < iterations; ++i) times.push_back(slowest(call(op)));
      if (options_.verify) verify(r);
    }
    set_times(r, times);
    const hiris::taxes t = op.expected_taxes();
    r.launches = static_cast<std::int64_t>(t.launches);
    r.global_barriers = static_cast<std::int64_t>(t.global_barriers);
    r.staged_bytes = static_cast<std::int64_t>(t.staged_bytes);
    r.remote_bytes = static_cast<std::int64_t>(t.remote_bytes);
    r.signals = static_cast<std::int64_t>(t.signals);

    std::vector<result> all(static_cast<std::size_t>(world_.size()));
    world_.channel().all_gather(&r, all.data(), sizeof r, "exchange of results");
    return example::worst_of(all);
  }

  int timed_calls() const {
    const bool emulated = hiris::platform::describe(world_.device()).arch == "emulated";
    return options_.iterations.value_or(emulated ? 0 : 20);
  }

  /// One call from a common start, into a C of nothing but NaNs. Returns its microseconds.
  double call(hiris::all_gather_gemm<T, B>& op) {
    c_.fill_with(std::byte{0xff});
    world_.barrier("start of a call");
    const auto begun = clock::now();
    op.run(stream_, a_.data(), b_.data(), c_.data());
    op.synchronize(stream_);
    return std::chrono::duration<double, std::micro>(clock::now() - begun).count();
  }

  double slowest(double mine) {
    std::vector<double> all(static_cast<std::size_t>(world_.size()));
    world_.channel().all_gather(&mine, all.data(), sizeof mine, "exchange of times");
    return *std::max_element(all.begin(), all.end());
  }

  /// Compares all of this rank's C with the reference; keeps the worst over several calls.
  void verify(result& r) {
    const tolerance allowed(std::is_same_v<T, hiris::float16> ? 11 : 8, options_.k);
    const std::vector<T> c = c_.to_host();
    double worst = r.verified ? r.error / r.allowed : -1;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double reference = data_.reference()[i];
      const double error = std::abs(static_cast<double>(hiris::to_float(c[i])) - reference);
      const double limit = allowed.of(reference);
      const double ratio =
          std::isnan(error) ? std::numeric_limits<double>::infinity() : error / limit;
      if (ratio <= worst) continue;
      worst = ratio;
      r.error = std::isnan(error) ? ratio : error;
      r.allowed = limit;
    }
    r.verified = true;
    r.correct = worst <= 1;
  }

  const options& options_;
  shared_case& data_;
  hiris::world world_;
  hiris::platform::device_guard on_device_;
  hiris::symmetric_heap heap_;
  std::vector<std::int64_t> shards_;
  hiris::platform::owned_stream stream_;
  hiris::symmetric_array<T> a_;
  hiris::platform::device_buffer<T> b_, c_;
};

/// Runs one rank with T and the layout that the options ask for.
template <class T>
bool run_rank_of(std::shared_ptr<hiris::bootstrap> boot, const options& o, shared_case& data) {
  if (o.b_layout == layout::nk)
    return rank_runner<T, hiris::matrix_layout::col_major>(std::move(boot), o, data).run();
  return rank_runner<T, hiris::matrix_layout::row_major>(std::move(boot), o, data).run();
}

}  // namespace ag_gemm
