// SPDX-License-Identifier: MIT
/// @file
/// All-gather + GEMM by every strategy, beside a plain GEMM of one rank that has all of A, and the
/// floor. Each result is compared with the plain GEMM's, bit by bit, before anything is timed.
///
///     all_gather_gemm_bench --ranks 2 --m 1,64,4096 --n 28672 --k 8192
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/ops/all_gather_gemm.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "support/program.hpp"
#include "support/statistics.hpp"
#include "support/table.hpp"
#include "support/timer.hpp"

namespace {

using hiris::float16;
using hiris::strategy;
using op_type = hiris::all_gather_gemm<float16>;

constexpr std::int64_t element_bytes = 2;

struct settings {
  int ranks = 2;
  std::vector<std::int64_t> m = {1, 64, 4096};
  std::int64_t n = 28672;
  std::int64_t k = 8192;
  int calls = 50;
  int flush_mib = 512;
};

/// Small integers, so that sums are exact and every strategy must agree to the last bit.
float16 value_at(std::int64_t index) {
  const std::uint64_t x = static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15u;
  return hiris::from_float<float16>(static_cast<float>(static_cast<int>(x >> 62) - 1));
}

/// One size on one rank.
class sized_bench {
 public:
  sized_bench(const hiris::world& w, const settings& s, std::int64_t m)
      : world_(w), settings_(s), m_(m), shards_(split(s.k, w.size())) {
    own_k_ = shards_[static_cast<std::size_t>(w.rank())];
    for (int r = 0; r < w.rank(); ++r) k_begin_ += shards_[static_cast<std::size_t>(r)];
    b_ = buffer(s.k * s.n);
    c_ = buffer(m * s.n);
    expected_ = buffer(m * s.n);
    std::vector<float16> b(b_.size());
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = value_at(static_cast<std::int64_t>(i) + 7);
    b_.copy_from(b);
  }

  void run() {
    const std::int64_t m = m_, n = settings_.n, k = settings_.k;
    const hiris::bench::floor_time floor = hiris::bench::floor_of(
        hiris::bench::figures_of(hiris::platform::describe(world_.device()).arch),
        element_bytes * (k * n + m * k + m * n), 2 * m * n * k, element_bytes * m * (k - own_k_));
    table_.emplace(world_.rank() == 0,
                   "m " + std::to_string(m) + " n " + std::to_string(n) + " k " + std::to_string(k),
                   floor, std::vector<std::string>{"warm", "cold"});

    hiris::world alone = world_.split(world_.rank(), 0);
    measure(alone, "plain GEMM", strategy::push, {settings_.k}, 0, expected_);
    for (strategy s :
         {strategy::bulk_synchronous, strategy::pull, strategy::push, strategy::push_fused}) {
      measure(world_, hiris::to_string(s), s, shards_, k_begin_, c_);
      const std::vector<float16> got = c_.to_host();
      const std::vector<float16> want = expected_.to_host();
      world_.collectively(std::string("result of ") + hiris::to_string(s), [&] {
        if (std::memcmp(got.data(), want.data(), got.size() * sizeof(float16)) != 0)
          throw hiris::error(hiris::errc::mismatch, world_.rank(),
                             std::string(hiris::to_string(s)) +
                                 " differs from the plain GEMM; allowed are equal bits");
      });
    }
  }

 private:
  using buffer_type = hiris::platform::device_buffer<float16>;
  static buffer_type buffer(std::int64_t n_elems) {
    return buffer_type(static_cast<std::size_t>(n_elems));
  }
  static std::vector<std::int64_t> split(std::int64_t k, std::int64_t ranks) {
    std::vector<std::int64_t> shards;
    for (std::int64_t r = 0; r < ranks; ++r) shards.push_back(k * (r + 1) / ranks - k * r / ranks);
    return shards;
  }

  /// Times one op of the ranks of `team`, whose result goes to `c`; prints a row.
  void measure(const hiris::world& team, const char* name, strategy s,
               const std::vector<std::int64_t>& shards, std::int64_t k_begin, buffer_type& c) {
    const std::int64_t k = shards[static_cast<std::size_t>(team.rank())];
    hiris::heap_options options;
    options.data_bytes =
        3 * element_bytes * (m_ + 128) * (settings_.k + 512 * team.size()) + (16 << 20);
    options.signals = 1 << 14;
    hiris::symmetric_heap heap(team, options);
    auto a = heap.allocate<float16>(m_ * ((settings_.k + team.size() - 1) / team.size()));
    std::vector<float16> values(static_cast<std::size_t>(m_ * k));
    for (std::int64_t i = 0; i < m_; ++i)
      for (std::int64_t x = 0; x < k; ++x)
        values[static_cast<std::size_t>(i * k + x)] = value_at(i * settings_.k + k_begin + x);
    hiris::platform::copy_now(a.data(), values.data(), values.size() * sizeof(float16));

    hiris::platform::owned_stream stream;
    op_type op(heap, {m_, settings_.n, shards}, s);
    const auto call = [&] { op.run(stream, a.data(), b_.data(), c.data()); };
    hiris::bench::timer timer(world_, stream, std::size_t(settings_.flush_mib) << 20);
    timer.time(3, false, call);
    const hiris::bench::summary warm = timer.time(settings_.calls, false, call);
    const hiris::bench::summary cold = timer.time(settings_.calls, true, call);
    op.synchronize(stream);
    table_->row(name, {warm, cold});
    heap.close();
  }

  const hiris::world& world_;
  const settings& settings_;
  std::int64_t m_;
  std::vector<std::int64_t> shards_;
  std::int64_t own_k_ = 0, k_begin_ = 0;
  std::optional<hiris::bench::table> table_;
  buffer_type b_, c_, expected_;
};

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app("All-gather + GEMM beside a plain GEMM and the floor; fp16, integer data.\n");
  app.option_defaults()->always_capture_default();
  app.add_option("--ranks", s.ranks, "Ranks")->check(CLI::Range(1, 64));
  bool processes = false;
  app.add_flag("--processes", processes, "Ranks are processes, not threads of this one");
  app.add_option("--m", s.m, "Rows, a list")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--n", s.n, "Columns of B")->check(CLI::PositiveNumber);
  app.add_option("--k", s.k, "Columns of A")->check(CLI::PositiveNumber);
  app.add_option("--calls", s.calls, "Timed calls of a series")->check(CLI::PositiveNumber);
  app.add_option("--flush-mib", s.flush_mib, "Overwritten before each cold call")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const auto on_rank = [&](std::shared_ptr<hiris::bootstrap> boot) {
    const hiris::world world(std::move(boot));
    const hiris::platform::device_guard on(world.device());
    if (world.rank() == 0) hiris::bench::print_machine(world);
    for (std::int64_t m : s.m) sized_bench(world, s, m).run();
    world.barrier("end of a bench");
    return true;
  };
  return example::run_program({.name = "all_gather_gemm_bench",
                               .ranks = s.ranks,
                               .ranks_given = app.count("--ranks") > 0,
                               .processes = processes,
                               .rank = on_rank},
                              argc, argv);
}
