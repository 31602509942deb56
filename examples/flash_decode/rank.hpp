// SPDX-License-Identifier: MIT
/// @file
/// What one rank does: set-up, then for each variant a checked call, timed calls and a second
/// check.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/ops/flash_decode.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "options.hpp"
#include "reference.hpp"
#include "report.hpp"
#include "values.hpp"

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
        heap_(world_, heap_options()),
        keys_(o.kv_len * (world_.rank() + 1) / world_.size() -
              o.kv_len * world_.rank() / world_.size()) {}

  /// Runs everything. Returns whether all was correct; rank 0 prints.
  bool run() {
    const bool speaks = world_.rank() == 0;
    world_.collectively("problem of flash_decode", [&] {
      const std::string reason = op_type::why_not(problem());
      if (!reason.empty()) throw hiris::error(hiris::errc::invalid_argument, world_.rank(), reason);
    });
    fill();
    const std::string device = hiris::platform::describe(world_.device()).name;
    if (speaks && !options_.json) print_header(options_, device, devices());
    std::vector<result> results;
    bool correct = true;
    for (const std::string& name : options_.variants) {
      const result r = run_variant(variant_of(name));
      correct = correct && (!r.verified || r.correct);
      results.push_back(r);
      if (speaks && !options_.json) print_row(name, r);
    }
    if (speaks && options_.json) print_json(options_, device, devices(), results);
    return correct;
  }

 private:
  using element = hiris::float16;
  using op_type = hiris::flash_decode<element>;
  using clock = std::chrono::steady_clock;
  static constexpr int calls_a_sample = 10;

  hiris::heap_options heap_options() const {
    hiris::heap_options h;
    // Two slots of records of all ranks: 16 rows of head_dim + 1 floats, a group of query heads.
    h.data_bytes = 4 * 2 * options_.ranks * options_.batch *
                       (options_.q_heads + 16 * options_.kv_heads) * (options_.head_dim + 4) +
                   (std::int64_t{16} << 20);
    h.signals = 1 << 13;
    h.wait_budget = std::chrono::nanoseconds(std::llround(options_.wait_budget_s * 1e9));
    return h;
  }

  hiris::flash_decode_problem problem() const {
    const options& o = options_;
    hiris::flash_decode_problem p{.batch = o.batch,
                                  .q_heads = o.q_heads,
                                  .kv_heads = o.kv_heads,
                                  .head_dim = o.head_dim,
                                  .max_kv_len = keys_,
                                  .page_size = o.page_size,
                                  .scale = 1 / std::sqrt(static_cast<float>(o.head_dim)),
                                  .deterministic = !o.arrival_order};
    if (p.page_size > 0) p.max_pages = (keys_ + p.page_size - 1) / p.page_size;
    p.pages = p.max_pages * p.batch;
    return p;
  }

  int devices() const {
    int n = 0;
    for (std::size_t r = 0; r < world_.peers().size(); ++r) {
      bool seen = false;
      for (std::size_t q = 0; q < r; ++q)
        seen = seen || world_.peers()[q].same_device(world_.peers()[r]);
      n += seen ? 0 : 1;
    }
    return n;
  }

  /// Rows of [batch, kv_heads, keys] in the pool, whose pages are handed out back to front.
  std::vector<std::int64_t> paged_rows(std::vector<std::int32_t>& table) const {
    const hiris::flash_decode_problem p = problem();
    table.resize(static_cast<std::size_t>(p.pages));
    std::iota(table.rbegin(), table.rend(), 0);
    std::vector<std::int64_t> rows;
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.kv_heads; ++h)
        for (std::int64_t key = 0; key < keys_; ++key) {
          const std::int64_t page =
              table[static_cast<std::size_t>(b * p.max_pages + key / p.page_size)];
          rows.push_back((page * p.page_size + key % p.page_size) * p.kv_heads + h);
        }
    return rows;
  }

  void fill() {
    const hiris::flash_decode_problem p = problem();
    const std::int64_t q_rows = p.batch * p.q_heads, kv_rows = p.batch * p.kv_heads * keys_;
    const std::int64_t cache_rows = p.page_size > 0 ? p.pages * p.page_size * p.kv_heads : kv_rows;
    const auto elems = [&](std::int64_t rows) {
      return static_cast<std::size_t>(std::max<std::int64_t>(rows, 1) * p.head_dim);
    };
    q_ = hiris::platform::device_buffer<element>(elems(q_rows));
    out_ = hiris::platform::device_buffer<element>(elems(q_rows));
    k_ = hiris::platform::device_buffer<element>(elems(cache_rows));
    v_ = hiris::platform::device_buffer<element>(elems(cache_rows));
    lengths_ = hiris::platform::device_buffer<std::int32_t>(static_cast<std::size_t>(p.batch));
    lengths_.copy_from(std::vector<std::int32_t>(static_cast<std::size_t>(p.batch),
                                                 static_cast<std::int32_t>(keys_)));
    hiris::platform::device_buffer<std::int64_t> rows;
    if (p.pages > 0) {
      std::vector<std::int32_t> table;
      const std::vector<std::int64_t> places = paged_rows(table);
      table_ = hiris::platform::device_buffer<std::int32_t>(table.size());
      table_.copy_from(table);
      rows = hiris::platform::device_buffer<std::int64_t>(places.size());
      rows.copy_from(places);
    }
    const auto rank = static_cast<std::uint64_t>(world_.rank());
    const auto fill_one = [&](element* to, std::int64_t n, std::uint64_t which,
                              const std::int64_t* row_of) {
      if (n == 0) return;
      const auto blocks = std::min<std::int64_t>(4096, (n * p.head_dim + 255) / 256);
      hiris::platform::launch<fill_kernel>(
          stream_, static_cast<int>(blocks),
          {to, row_of, n, p.head_dim, which, which == 1 ? 0 : rank});
    };
    fill_one(q_.data(), q_rows, 1, nullptr);  // the same on all ranks
    fill_one(k_.data(), kv_rows, 2, rows.data());
    fill_one(v_.data(), kv_rows, 3, rows.data());
    stream_.synchronize();
    if (options_.verify) compute_reference();
    world_.barrier("operands");
  }

  void compute_reference() {
    const attention_shape shape{options_.batch,
                                options_.q_heads,
                                options_.kv_heads,
                                options_.head_dim,
                                keys_,
                                1 / std::sqrt(static_cast<double>(options_.head_dim))};
    const int processors = static_cast<int>(std::thread::hardware_concurrency());
    const std::vector<double> mine =
        attend(shape, world_.rank(), std::max(1, processors / world_.size()));
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world_.size()));
    world_.channel().all_gather(mine.data(), all.data(), mine.size() * sizeof(double),
                                "exchange of references");
    std::vector<std::vector<double>> ranks;
    for (std::size_t r = 0; r < static_cast<std::size_t>(world_.size()); ++r) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(r * mine.size());
      ranks.emplace_back(first, first + static_cast<std::ptrdiff_t>(mine.size()));
    }
    expected_ = merge(shape, ranks, static_cast<double>(options_.kv_len));
  }

  result run_variant(hiris::flash_decode_variant variant) {
    op_type op(heap_, problem(), variant, {.splits = options_.splits});
    result r{};
    const bool emulated = hiris::platform::describe(world_.device()).arch == "emulated";
    const int samples = options_.iterations.value_or(emulated ? 0 : 50);
    std::vector<double> times;
    out_.fill_with(std::byte{0xff});
    world_.barrier("checked call");
    const auto begun = clock::now();
    call(op);
    op.synchronize(stream_);
    const double us =
        slowest(std::chrono::duration<double, std::micro>(clock::now() - begun).count());
    if (options_.verify) verify(r);
    if (samples == 0) {
      times.push_back(us);
    } else {
      out_.fill_with(std::byte{0xff});
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

  void call(op_type& op) {
    op.run(stream_, q_.data(), {k_.data(), v_.data(), table_.data()}, lengths_.data(), out_.data());
  }

  /// Microseconds a call of the slowest rank; each sample is several calls back to back, from a
  /// common start, by the clock of the device.
  std::vector<double> sample(op_type& op, int samples) {
    std::optional<hiris::platform::graph> graph;
    if (options_.graph)
      graph = hiris::platform::graph::capture(stream_, [&] {
        for (int i = 0; i < calls_a_sample; ++i) call(op);
      });
    std::vector<double> times;
    hiris::platform::owned_event start, stop;
    for (int n = -2; n < samples; ++n) {  // two to warm up
      world_.barrier("start of a sample");
      start.record(stream_);
      if (graph)
        graph->launch(stream_);
      else
        for (int i = 0; i < calls_a_sample; ++i) call(op);
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

  void verify(result& r) {
    const std::vector<element> out = out_.to_host();
    double worst = r.verified ? r.error / r.allowed : -1;
    for (std::size_t i = 0; i < expected_.out.size(); ++i) {
      const double error =
          std::abs(static_cast<double>(hiris::to_float(out[i])) - expected_.out[i]);
      const double ratio = std::isnan(error) ? std::numeric_limits<double>::infinity()
                                             : error / expected_.allowed[i];
      if (ratio <= worst) continue;
      worst = ratio;
      r.error = std::isnan(error) ? ratio : error;
      r.allowed = expected_.allowed[i];
    }
    r.verified = true;
    r.correct = worst <= 1;
  }

  const options& options_;
  hiris::world world_;
  hiris::platform::device_guard on_device_;
  hiris::symmetric_heap heap_;
  std::int64_t keys_;  ///< Of a sequence, on this rank.
  hiris::platform::owned_stream stream_;
  hiris::platform::device_buffer<element> q_, k_, v_, out_;
  hiris::platform::device_buffer<std::int32_t> table_, lengths_;
  expectation expected_;
};

}  // namespace flash_decode_example
