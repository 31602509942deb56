// SPDX-License-Identifier: MIT
/// @file
/// What one rank does: set-up, then for each variant a checked call, timed calls and a second
/// check.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/ops/flash_decode.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "operands.hpp"
#include "options.hpp"
#include "report.hpp"
#include "support/devices.hpp"

namespace flash_decode_example {

/// The variant of a name that parse() has let pass.
inline hiris::flash_decode_variant variant_of(const std::string& name) {
  using enum hiris::flash_decode_variant;
  for (const auto v : {bulk_synchronous, independent_gather, fine_grained})
    if (name == to_string(v)) return v;
  return fused;
}

/// One rank of the example.
class rank_runner {
 public:
  rank_runner(std::shared_ptr<hiris::bootstrap> boot, const options& o)
      : options_(o),
        world_(std::move(boot)),
        on_device_(world_.device()),
        heap_(world_, heap_for(o)) {}

  /// Runs everything. Returns whether all was correct; rank 0 prints.
  bool run() {
    const bool speaks = world_.rank() == 0;
    world_.collectively("problem of flash_decode", [&] {
      const std::string reason = op_type::why_not(problem_of(options_, options_.kv_len));
      if (!reason.empty()) throw hiris::error(hiris::errc::invalid_argument, world_.rank(), reason);
    });
    world_.collectively("operands", [&] { operands_.emplace(world_, options_); });
    if (options_.verify) operands_->compute_reference();
    world_.barrier("operands");
    const std::string device = example::kind_of_device(world_);
    const int devices = example::number_of_devices(world_);
    if (speaks && !options_.json) print_header(options_, device, devices);
    std::vector<result> results;
    bool correct = true;
    for (const std::string& name : options_.variants) {
      const result r = run_variant(variant_of(name));
      correct = correct && (!r.verified || r.correct);
      results.push_back(r);
      if (speaks && !options_.json) print_row(name, r);
    }
    if (speaks && options_.json) print_json(options_, device, devices, results);
    return correct;
  }

 private:
  using op_type = operands::op_type;
  using clock = std::chrono::steady_clock;
  static constexpr int calls_a_sample = 10;

  result run_variant(hiris::flash_decode_variant variant) {
    op_type op(heap_, operands_->problem(), variant, {.splits = options_.splits});
    result r{};
    const bool emulated = hiris::platform::describe(world_.device()).arch == "emulated";
    const int samples = options_.iterations.value_or(emulated ? 0 : 50);
    std::vector<double> times;
    operands_->spoil();
    world_.barrier("checked call");
    const auto begun = clock::now();
    operands_->run(op, stream_);
    op.synchronize(stream_);
    const double us =
        slowest(std::chrono::duration<double, std::micro>(clock::now() - begun).count());
    if (options_.verify) verify(r);
    if (samples == 0) {
      times.push_back(us);
    } else {
      operands_->spoil();
      times = sample(op, samples);
      if (options_.verify) verify(r);
    }
    std::sort(times.begin(), times.end());
    r.time_us = times[times.size() / 2];
    r.least_us = times.front();
    r.largest_us = times.back();
    const hiris::taxes t = op.expected_taxes();
    r.launches = t.launches;
    r.global_barriers = t.global_barriers;
    r.staged_bytes = t.staged_bytes;
    r.remote_bytes = t.remote_bytes;
    r.signals = t.signals;
    std::vector<result> all(static_cast<std::size_t>(world_.size()));
    world_.channel().all_gather(&r, all.data(), sizeof r, "exchange of results");
    return worst_of(all);
  }

  /// Microseconds a call of the slowest rank; each sample is several calls back to back, from a
  /// common start, by the clock of the device.
  std::vector<double> sample(op_type& op, int samples) {
    std::optional<hiris::platform::graph> graph;
    if (options_.graph)
      graph = hiris::platform::graph::capture(stream_, [&] {
        for (int i = 0; i < calls_a_sample; ++i) operands_->run(op, stream_);
      });
    std::vector<double> times;
    hiris::platform::owned_event start, stop;
    for (int n = -2; n < samples; ++n) {  // two to warm up
      world_.barrier("start of a sample");
      start.record(stream_);
      if (graph)
        graph->launch(stream_);
      else
        for (int i = 0; i < calls_a_sample; ++i) operands_->run(op, stream_);
      stop.record(stream_);
      op.synchronize(stream_);
      const double us = slowest(static_cast<double>(hiris::platform::elapsed_ms(start, stop)) *
                                1e3 / calls_a_sample);
      if (n >= 0) times.push_back(us);
    }
    return times;
  }

  double slowest(double mine) {
    std::vector<double> all(static_cast<std::size_t>(world_.size()));
    world_.channel().all_gather(&mine, all.data(), sizeof mine, "exchange of times");
    return *std::max_element(all.begin(), all.end());
  }

  /// Keeps the worse of what was found before and now.
  void verify(result& r) {
    const deviation d = operands_->compare(operands_->of_all());
    if (!r.verified || d.error / d.allowed > r.error / r.allowed) {
      r.error = d.error;
      r.allowed = d.allowed;
    }
    r.correct = d.within() && (r.correct || !r.verified);
    r.verified = true;
  }

  const options& options_;
  hiris::world world_;
  hiris::platform::device_guard on_device_;
  hiris::symmetric_heap heap_;
  hiris::platform::owned_stream stream_;
  std::optional<operands> operands_;
};

}  // namespace flash_decode_example
