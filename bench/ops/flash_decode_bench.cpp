// SPDX-License-Identifier: MIT
/// @file
/// Flash Decode by every variant, beside the same attention of each rank to its own keys without
/// any communication, one with the vendor's all-gather where that is linked, and the floor. Each is
/// compared with fp64 before and after it is timed.
///     flash_decode_bench --ranks 2 --q-heads 96 --kv-heads 12,8 --kv-len 32768,262144,2097152
#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flash_decode/operands.hpp"
#include "flash_decode/options.hpp"
#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/ops/flash_decode.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "support/library.hpp"
#include "support/program.hpp"
#include "support/statistics.hpp"
#include "support/table.hpp"
#include "support/timer.hpp"

namespace {

using flash_decode_example::deviation;
using flash_decode_example::expectation;
using flash_decode_example::operands;
using hiris::flash_decode_variant;
using op_type = operands::op_type;

struct settings {
  int ranks = 2;
  bool processes = false;
  std::int64_t batch = 1;
  std::int64_t q_heads = 96;
  std::vector<std::int64_t> kv_heads = {12, 8};
  std::int64_t head_dim = 128;
  std::vector<std::int64_t> kv_len = {32768, 262144, 2097152};
  int calls = 50;
  int flush_mib = 512;
};

/// One size on one rank.
class sized_bench {
 public:
  sized_bench(const hiris::world& w, const settings& s, const hiris::bench::library* library,
              std::int64_t kv_heads, std::int64_t kv_len)
      : world_(w), settings_(s), library_(library) {
    options_.ranks = w.size();
    options_.batch = s.batch;
    options_.q_heads = s.q_heads;
    options_.kv_heads = kv_heads;
    options_.head_dim = s.head_dim;
    options_.kv_len = kv_len;
  }

  void run() {
    world_.collectively("sizes of a bench", [&] {
      const std::string reason =
          op_type::why_not(flash_decode_example::problem_of(options_, options_.kv_len));
      if (!reason.empty()) throw hiris::error(hiris::errc::invalid_argument, world_.rank(), reason);
    });
    operands_.emplace(world_, options_);
    operands_->compute_reference();
    table_.emplace(world_.rank() == 0, title(), floor(),
                   std::vector<std::string>{"warm", "cold", "replay"});
    const hiris::world alone = world_.split(world_.rank(), 0);
    using enum flash_decode_variant;
    for (const flash_decode_variant v : {bulk_synchronous, fused})
      measure(alone, "alone, " + std::to_string(launches_alone(v)) + " launches", v,
              operands_->of_own());
    if (library_ != nullptr)
      measure(world_, "bulk_synchronous, vendor", bulk_synchronous, operands_->of_all(),
              {.all_gather = library_->all_gather});
    for (const flash_decode_variant v : {bulk_synchronous, independent_gather, fine_grained, fused})
      measure(world_, to_string(v), v, operands_->of_all());
  }

 private:
  static int launches_alone(flash_decode_variant v) {
    return static_cast<int>(hiris::flash_decode_taxes({}, v, 1).launches);
  }
  std::string title() const {
    return "batch " + std::to_string(options_.batch) + ", " + std::to_string(options_.q_heads) +
           " query and " + std::to_string(options_.kv_heads) + " KV heads of " +
           std::to_string(options_.head_dim) + ", " + std::to_string(options_.kv_len) + " keys";
  }
  /// Reading this rank's keys and values once; the records of the peers are fp32 vectors and a
  /// log-sum-exp a query head.
  hiris::bench::floor_time floor() const {
    const std::int64_t heads = options_.batch * options_.q_heads, dim = options_.head_dim;
    const std::int64_t keys = operands_->problem().max_kv_len;
    return hiris::bench::floor_of(
        hiris::bench::figures_of(hiris::platform::describe(world_.device()).arch),
        2 * 2 * options_.batch * options_.kv_heads * keys * dim, 4 * heads * keys * dim,
        4 * (world_.size() - 1) * heads * (dim + 1));
  }

  /// Checks and times one op of the ranks of `team`; prints a row.
  void measure(const hiris::world& team, const std::string& name, flash_decode_variant v,
               const expectation& expected, const hiris::flash_decode_options& options = {}) {
    hiris::symmetric_heap heap(team, flash_decode_example::heap_for(options_));
    const hiris::platform::owned_stream stream;
    op_type op(heap, operands_->problem(), v, options);
    const auto call = [&] { operands_->run(op, stream); };
    check(op, stream, name, expected, call);
    auto step = hiris::platform::graph::capture(stream, call);
    const auto replay = [&] { step.launch(stream); };
    hiris::bench::timer timer(world_, stream, std::size_t(settings_.flush_mib) << 20);
    timer.time(3, false, call);
    const hiris::bench::summary warm = timer.time(settings_.calls, false, call);
    const hiris::bench::summary cold = timer.time(settings_.calls, true, call);
    timer.time(3, false, replay);
    const hiris::bench::summary replayed = timer.time(settings_.calls, false, replay);
    check(op, stream, name + ", replayed", expected, replay);
    table_->row(name, {warm, cold, replayed});
    heap.close();
  }

  /// Makes one call and compares what comes out.
  void check(op_type& op, hiris::platform::stream stream, const std::string& name,
             const expectation& expected, const std::function<void()>& call) {
    op.synchronize(stream);
    operands_->spoil();
    call();
    op.synchronize(stream);
    const deviation d = operands_->compare(expected);
    world_.collectively("result of " + name, [&] {
      if (!d.within())
        throw hiris::error(hiris::errc::mismatch, world_.rank(),
                           name + " of " + title() + " is off by " + std::to_string(d.error) +
                               "; allowed are " + std::to_string(d.allowed));
    });
  }

  const hiris::world& world_;
  const settings& settings_;
  const hiris::bench::library* library_;  ///< Null: there is none.
  flash_decode_example::options options_;
  std::optional<operands> operands_;
  std::optional<hiris::bench::table> table_;
};

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app("Flash Decode beside attention without communication and the floor; fp16.\n");
  app.option_defaults()->always_capture_default();
  const auto positive = CLI::PositiveNumber;
  app.add_option("--ranks", s.ranks, "Ranks")->check(CLI::Range(1, 64));
  app.add_flag("--processes", s.processes, "Ranks are processes, not threads of this one");
  app.add_option("--batch", s.batch, "Sequences")->check(positive);
  app.add_option("--q-heads", s.q_heads, "Query heads")->check(positive);
  app.add_option("--kv-heads", s.kv_heads, "KV heads, a list")->delimiter(',')->check(positive);
  app.add_option("--head-dim", s.head_dim, "64 to 256, a multiple of 16")->check(positive);
  app.add_option("--kv-len", s.kv_len, "Keys of a sequence, of all ranks together, a list")
      ->delimiter(',')
      ->check(positive);
  app.add_option("--calls", s.calls, "Timed calls of a series")->check(positive);
  app.add_option("--flush-mib", s.flush_mib, "Overwritten before each cold call")->check(positive);
  CLI11_PARSE(app, argc, argv);
  const auto on_rank = [&](std::shared_ptr<hiris::bootstrap> boot) {
    const hiris::world world(std::move(boot));
    const hiris::platform::device_guard on(world.device());
    if (world.rank() == 0) hiris::bench::print_machine(world);
    const auto library = hiris::bench::make_library(world);
    for (std::int64_t heads : s.kv_heads)
      for (std::int64_t keys : s.kv_len) sized_bench(world, s, library.get(), heads, keys).run();
    world.barrier("end of a bench");
    return true;
  };
  return example::run_program({.name = "flash_decode_bench",
                               .ranks = s.ranks,
                               .ranks_given = app.count("--ranks") > 0,
                               .processes = s.processes,
                               .rank = on_rank},
                              argc, argv);
}
