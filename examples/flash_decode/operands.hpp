// SPDX-License-Identifier: MIT
/// @file
/// What one rank attends to, in its device memory, with what must come out: queries, its keys and
/// values, lengths, a place for the output.
///
///     operands mine(world, options);
///     mine.compute_reference();
///     mine.run(op);
///     deviation d = mine.compare(mine.of_all());
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/ops/flash_decode.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "options.hpp"
#include "reference.hpp"
#include "values.hpp"

namespace flash_decode_example {

/// A heap with room for one op of these sizes.
inline hiris::heap_options heap_for(const options& o) {
  hiris::heap_options h;
  // Two slots of records of all ranks: 16 rows of head_dim + 1 floats, a group of query heads.
  h.data_bytes = 4 * 2 * o.ranks * o.batch * (o.q_heads + 16 * o.kv_heads) * (o.head_dim + 4) +
                 (std::int64_t{16} << 20);
  h.signals = 1 << 13;
  h.wait_budget = std::chrono::nanoseconds(std::llround(o.wait_budget_s * 1e9));
  return h;
}

/// The problem of a rank that has `keys` keys of each sequence.
inline hiris::flash_decode_problem problem_of(const options& o, std::int64_t keys) {
  hiris::flash_decode_problem p{.batch = o.batch,
                                .q_heads = o.q_heads,
                                .kv_heads = o.kv_heads,
                                .head_dim = o.head_dim,
                                .max_kv_len = keys,
                                .page_size = o.page_size,
                                .scale = 1 / std::sqrt(static_cast<float>(o.head_dim)),
                                .deterministic = !o.arrival_order};
  if (p.page_size > 0) p.max_pages = (keys + p.page_size - 1) / p.page_size;
  p.pages = p.max_pages * p.batch;
  return p;
}

/// The element of an output that uses up most of its tolerance.
struct deviation {
  double error = 0;
  double allowed = 1;
  bool within() const { return error <= allowed; }
};

/// See the file.
class operands {
 public:
  using element = hiris::float16;
  using op_type = hiris::flash_decode<element>;

  /// Allocates and fills. Lasts until the device is done.
  operands(const hiris::world& w, const options& o)
      : world_(w),
        options_(o),
        keys_(o.kv_len * (w.rank() + 1) / w.size() - o.kv_len * w.rank() / w.size()) {
    fill();
  }

  /// The problem of this rank.
  hiris::flash_decode_problem problem() const { return problem_of(options_, keys_); }

  /// Attention in fp64: of this rank's keys, and of all. Collective.
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
    of_own_ = merge(shape, {mine}, static_cast<double>(keys_));
    of_all_ = merge(shape, ranks, static_cast<double>(options_.kv_len));
  }
  /// What attention to this rank's keys alone gives.
  const expectation& of_own() const { return of_own_; }
  /// What attention to the keys of all ranks gives.
  const expectation& of_all() const { return of_all_; }

  /// Puts a step on a stream.
  void run(op_type& op, hiris::platform::stream stream) {
    op.run(stream, q_.data(), {k_.data(), v_.data(), table_.data()}, lengths_.data(), out_.data());
  }
  /// Makes the output NaN. The device must be idle.
  void spoil() { out_.fill_with(std::byte{0xff}); }
  /// Compares the output. The device must be idle.
  deviation compare(const expectation& expected) const {
    const std::vector<element> out = out_.to_host();
    deviation worst;
    for (std::size_t i = 0; i < expected.out.size(); ++i) {
      const double error = std::abs(static_cast<double>(hiris::to_float(out[i])) - expected.out[i]);
      if (std::isnan(error)) return {std::numeric_limits<double>::infinity(), expected.allowed[i]};
      if (error * worst.allowed > worst.error * expected.allowed[i])
        worst = {error, expected.allowed[i]};
    }
    return worst;
  }

 private:
  template <class T>
  using buffer = hiris::platform::device_buffer<T>;

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
    q_ = buffer<element>(elems(q_rows));
    out_ = buffer<element>(elems(q_rows));
    k_ = buffer<element>(elems(cache_rows));
    v_ = buffer<element>(elems(cache_rows));
    lengths_ = buffer<std::int32_t>(static_cast<std::size_t>(p.batch));
    lengths_.copy_from(std::vector<std::int32_t>(static_cast<std::size_t>(p.batch),
                                                 static_cast<std::int32_t>(keys_)));
    buffer<std::int64_t> rows;
    if (p.pages > 0) {
      std::vector<std::int32_t> table;
      const std::vector<std::int64_t> places = paged_rows(table);
      table_ = buffer<std::int32_t>(table.size());
      table_.copy_from(table);
      rows = buffer<std::int64_t>(places.size());
      rows.copy_from(places);
    }
    const hiris::platform::owned_stream stream;
    const auto rank = static_cast<std::uint64_t>(world_.rank());
    const auto fill_one = [&](element* to, std::int64_t n, std::uint64_t which,
                              const std::int64_t* row_of) {
      if (n == 0) return;
      const auto blocks = std::min<std::int64_t>(4096, (n * p.head_dim + 255) / 256);
      hiris::platform::launch<fill_kernel>(
          stream, static_cast<int>(blocks),
          {to, row_of, n, p.head_dim, which, which == 1 ? 0 : rank});
    };
    fill_one(q_.data(), q_rows, 1, nullptr);  // the same on all ranks
    fill_one(k_.data(), kv_rows, 2, rows.data());
    fill_one(v_.data(), kv_rows, 3, rows.data());
    stream.synchronize();
  }

  const hiris::world& world_;
  const options& options_;
  std::int64_t keys_;  ///< Of a sequence, on this rank.
  buffer<element> q_, k_, v_, out_;
  buffer<std::int32_t> table_, lengths_;
  expectation of_own_, of_all_;
};

}  // namespace flash_decode_example
