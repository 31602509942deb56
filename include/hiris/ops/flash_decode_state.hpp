// SPDX-License-Identifier: MIT
/// @file
/// The host state of a Flash Decode that does not depend on its types: checks, memory, grids, and
/// whether it is still alive.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hiris/barrier.hpp"
#include "hiris/comm/partials.hpp"
#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/ops/flash_decode_plan.hpp"
#include "hiris/ops/flash_decode_report.hpp"
#include "hiris/ops/life.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris {

/// An all-gather that a library puts on a stream: `n_bytes` bytes at `mine` of every rank, in rank
/// order, to `all`, [world, n_bytes]. Device memory. It orders by the stream alone, and must be
/// capturable if the op is to be. `collectives::all_gather` is one.
using stream_all_gather =
    std::function<void(platform::stream on, const void* mine, void* all, std::size_t n_bytes)>;

/// What can be tuned.
struct flash_decode_options {
  int splits = 0;  ///< Parts of a rank's keys of a sequence; 0: from shape and device.
  std::uint64_t first_epoch = 0;  ///< For tests of the wrap: the count of calls before the first.
  /// For `bulk_synchronous`: gathers in place of our own kernel and barrier. All ranks or none.
  stream_all_gather all_gather{};
};

/// See the file. Used by flash_decode only.
class flash_decode_state {
 public:
  flash_decode_state(symmetric_heap& heap, const flash_decode_problem& problem,
                     flash_decode_variant variant, const flash_decode_options& options,
                     const char* element)
      : heap_(heap), problem_(problem), variant_(variant), options_(options) {
    const world& w = heap.ranks();
    constexpr const char* step = "plan of flash_decode";
    w.collectively(step, [&] {
      const std::string reason = why_not(problem_, options_);
      if (!reason.empty()) throw error(errc::invalid_argument, w.rank(), reason);
      if (options_.all_gather && variant != flash_decode_variant::bulk_synchronous)
        throw error(errc::invalid_argument, w.rank(),
                    "all_gather of flash_decode is given for " + std::string(to_string(variant)) +
                        "; allowed is bulk_synchronous");
    });
    w.require_equal(step, "element type", std::string(element));
    w.require_equal(step, "batch", problem.batch);
    w.require_equal(step, "q_heads", problem.q_heads);
    w.require_equal(step, "kv_heads", problem.kv_heads);
    w.require_equal(step, "head_dim", problem.head_dim);
    w.require_equal(step, "scale", problem.scale);
    w.require_equal(step, "soft_cap", problem.soft_cap);
    w.require_equal(step, "deterministic", problem.deterministic ? 1 : 0);
    w.require_equal(step, "variant", std::string(to_string(variant)));
    w.require_equal(step, "first_epoch", options.first_epoch);
    w.require_equal(step, "all_gather", options.all_gather ? 1 : 0);
  }

  /// Fixes splits and grids, and allocates. Collective; the same code on all ranks.
  ///
  /// @param attend,gather,combine Workgroups of each kernel that this rank may have running at
  ///         once.
  void prepare(int attend, int gather, int combine) {
    const world& w = heap_.ranks();
    w.collectively("grids of flash_decode", [&] {
      require_place(w, std::min({attend, gather, combine}));
      plan_ = plan_flash_decode(problem_, attend, options_.splits);
      attend_blocks_ = std::min(attend, plan_.groups * plan_.splits);
      gather_blocks_ = std::min(gather, std::max(1, (w.size() - 1) * plan_.groups));
      combine_blocks_ = std::min(combine, plan_.groups);
    });
    groups_a_signal_ = variant_ == flash_decode_variant::independent_gather
                           ? plan_.groups
                           : comm::groups_a_signal(w.size(), plan_.groups);
    signals_a_source_ = (plan_.groups + groups_a_signal_ - 1) / groups_a_signal_;
    if (w.size() > 1) inbox_ = heap_.allocate<float>(2 * w.size() * own_floats());
    signals_ = heap_.allocate_signals(w.size() * (signals_a_source_ + std::int64_t{1}));
    w.collectively("state of flash_decode", [&] { initialize(w); });
  }

  /// Why a problem cannot be run; empty if it can.
  static std::string why_not(const flash_decode_problem& p, const flash_decode_options& o) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    const auto outside = [](const char* name, std::int64_t value, std::int64_t least,
                            std::int64_t largest) {
      return value >= least && value <= largest
                 ? std::string()
                 : std::string(name) + " of flash_decode is " + std::to_string(value) +
                       "; allowed are " + std::to_string(least) + " to " + std::to_string(largest);
    };
    for (const std::string& reason :
         {outside("batch", p.batch, 1, 256), outside("q_heads", p.q_heads, 1, 1024),
          outside("kv_heads", p.kv_heads, 1, p.q_heads), outside("head_dim", p.head_dim, 64, 256),
          outside("max_kv_len", p.max_kv_len, 0, most), outside("page_size", p.page_size, 0, most),
          outside("splits", o.splits, 0, 4096)})
      if (!reason.empty()) return reason;
    if (p.q_heads % p.kv_heads != 0)
      return "q_heads of flash_decode is " + std::to_string(p.q_heads) +
             "; allowed are multiples of kv_heads, " + std::to_string(p.kv_heads);
    if (p.head_dim % 16 != 0)
      return "head_dim of flash_decode is " + std::to_string(p.head_dim) +
             "; allowed are multiples of 16";
    if (!std::isfinite(p.scale) || !std::isfinite(p.soft_cap) || p.soft_cap < 0)
      return "scale and soft_cap of flash_decode are " + std::to_string(p.scale) + " and " +
             std::to_string(p.soft_cap) + "; allowed are finite numbers, the cap 0 or more";
    if (p.page_size == 0) return {};
    for (const std::string& reason :
         {outside("max_pages", p.max_pages, 0, most), outside("pages", p.pages, 0, most)})
      if (!reason.empty()) return reason;
    if (p.max_kv_len > p.page_size * p.max_pages)
      return "max_kv_len of flash_decode is " + std::to_string(p.max_kv_len) +
             "; allowed are 0 to page_size * max_pages, " + std::to_string(p.page_size) + " * " +
             std::to_string(p.max_pages);
    return {};
  }

  const flash_decode_problem& problem() const noexcept { return problem_; }
  const flash_decode_plan& plan() const noexcept { return plan_; }
  flash_decode_variant variant() const noexcept { return variant_; }
  /// The library's all-gather, or null; never for one rank, which has nothing to gather.
  const stream_all_gather* library() const noexcept {
    return options_.all_gather && heap_.ranks().size() > 1 ? &options_.all_gather : nullptr;
  }
  int attend_blocks() const noexcept { return attend_blocks_; }
  int gather_blocks() const noexcept { return gather_blocks_; }
  int combine_blocks() const noexcept { return combine_blocks_; }
  std::uint64_t* split_done() const noexcept { return report_claim() + 1; }
  float* split_records() const noexcept { return splits_.data(); }
  decode_report* report() const noexcept { return report_.data(); }

  /// @throws as op_life::require; errc::invalid_argument, once, if a kernel has found a length or a
  ///         page that is not there.
  void require_alive() {
    life_.require();
    throw_if_reported(*report_.data(), heap_.ranks().rank(), [this] {
      const std::uint64_t nobody = 0;
      platform::copy_now(report_claim(), &nobody, sizeof nobody);
    });
  }

  /// Runs the launches of a call.
  template <class F>
  void launching(F&& f) {
    life_.launching(std::forward<F>(f));
  }

  comm::partial_exchange exchange() const {
    return {heap_.device_context(),
            own_.data(),
            inbox_ ? inbox_.data() : nullptr,
            signals_.data(),
            {words_.data(), words_.data() + 1, options_.first_epoch},
            plan_.groups,
            plan_.record_floats,
            groups_a_signal_,
            signals_a_source_};
  }
  barrier_kernel::params barrier_params() const {
    return {heap_.device_context(), signals_.data() + barrier_at(), words_.data() + 2};
  }

 private:
  /// Stands in front of split_done(), where kernels look for it.
  std::uint64_t* report_claim() const noexcept { return words_.data() + 3; }
  std::int64_t own_floats() const { return std::int64_t{plan_.groups} * plan_.record_floats; }
  std::int64_t barrier_at() const { return std::int64_t{heap_.ranks().size()} * signals_a_source_; }

  /// What is not symmetric. Records begin as zeros, since whole records travel.
  void initialize(const world& w) {
    const platform::device_guard guard(w.device());
    own_ = platform::device_buffer<float>(static_cast<std::size_t>(own_floats()));
    if (plan_.splits > 1)
      splits_ =
          platform::device_buffer<float>(static_cast<std::size_t>(own_floats() * plan_.splits));
    words_ = platform::device_buffer<std::uint64_t>(4 + static_cast<std::size_t>(plan_.groups));
    report_ = platform::device_buffer<decode_report>(1, platform::memory_kind::host);
    *report_.data() = {};
    std::vector<std::uint64_t> words(words_.size(), 0);
    words[0] = words[2] = options_.first_epoch;
    std::vector<signal_counter> counts(static_cast<std::size_t>(signals_.size()));
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i].arrivals = first_count(i);
    const platform::owned_stream stream;
    platform::fill(own_.data(), std::byte{0}, own_.size_bytes(), stream);
    if (splits_.data() != nullptr)
      platform::fill(splits_.data(), std::byte{0}, splits_.size_bytes(), stream);
    platform::copy(words_.data(), words.data(), words_.size_bytes(), stream);
    if (options_.first_epoch != 0)
      platform::copy(signals_.data(), counts.data(), counts.size() * sizeof counts[0], stream);
    stream.synchronize();
  }

  /// Arrivals that a signal would have had after first_epoch calls.
  std::uint64_t first_count(std::size_t signal) const {
    if (signal >= static_cast<std::size_t>(barrier_at())) return options_.first_epoch;
    const int number = static_cast<int>(signal) % signals_a_source_;
    const int left = plan_.groups - number * groups_a_signal_;
    return options_.first_epoch * static_cast<std::uint64_t>(std::min(left, groups_a_signal_));
  }

  symmetric_heap& heap_;
  flash_decode_problem problem_;
  flash_decode_variant variant_;
  flash_decode_options options_;
  flash_decode_plan plan_{};
  int attend_blocks_ = 0, gather_blocks_ = 0, combine_blocks_ = 0;
  int groups_a_signal_ = 1, signals_a_source_ = 1;
  op_life life_{heap_, "flash_decode"};
  symmetric_array<float> inbox_;
  symmetric_array<signal_counter> signals_;
  platform::device_buffer<float> own_, splits_;
  /// Epoch of the calls and what counts its workgroups, epoch of the barrier, claim of the report,
  /// then splits done, [groups].
  platform::device_buffer<std::uint64_t> words_;
  platform::device_buffer<decode_report> report_;
};

}  // namespace hiris
