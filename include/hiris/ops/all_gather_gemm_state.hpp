// SPDX-License-Identifier: MIT
/// @file
/// The host state of an all-gather + GEMM that does not depend on its types: checks, memory, grids,
/// and whether it is still alive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiris/barrier.hpp"
#include "hiris/comm/exchange.hpp"
#include "hiris/comm/pull.hpp"
#include "hiris/comm/shard.hpp"
#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/ops/all_gather_gemm_plan.hpp"
#include "hiris/ops/life.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris {

/// What can be tuned. The same on all ranks, except where it says so.
struct all_gather_gemm_options {
  int ship_blocks_a_peer = 8;     ///< Workgroups that ship to each peer; 8 is not tuned.
  std::uint64_t first_epoch = 0;  ///< For tests of the wrap: the count of calls before the first.
};

/// Workgroups of a rank's launches.
struct grids {
  int ship;  ///< That ship: of their own launch, or the first of the multiply's.
  int gemm;  ///< Of the multiply's launch, all told.
};

/// See the file. Used by all_gather_gemm only.
class all_gather_gemm_state {
 public:
  all_gather_gemm_state(symmetric_heap& heap, all_gather_gemm_problem problem, strategy wanted,
                        const all_gather_gemm_options& options, const char* element)
      : heap_(heap), problem_(std::move(problem)), options_(options) {
    const world& w = heap.ranks();
    constexpr const char* step = "plan of all_gather_gemm";
    w.collectively(step, [&] {
      std::string reason = bad_argument(w, problem_, options_);
      if (wanted > strategy::automatic)
        reason = "strategy of all_gather_gemm is number " +
                 std::to_string(static_cast<int>(wanted)) + "; allowed are 0 to " +
                 std::to_string(static_cast<int>(strategy::automatic));
      if (!reason.empty()) throw error(errc::invalid_argument, w.rank(), reason);
    });
    w.require_equal(step, "element type", std::string(element));
    w.require_equal(step, "m", problem_.m);
    w.require_equal(step, "n", problem_.n);
    w.require_equal(step, "k_shards", list(problem_.k_shards));
    w.require_equal(step, "strategy", std::string(to_string(wanted)));
    w.require_equal(step, "first_epoch", options.first_epoch);
    chosen_ = wanted == strategy::automatic ? choose_strategy(problem_) : wanted;
    geometry_ = plan_geometry(problem_, chosen_);
    allocate(w);
    w.collectively("state of all_gather_gemm", [&] { initialize(w); });
  }

  /// Why a problem cannot be run, as far as this rank knows; empty if it can.
  static std::string why_not(const symmetric_heap& heap, const all_gather_gemm_problem& p,
                             strategy wanted) {
    const std::string reason = bad_argument(heap.ranks(), p, {});
    if (!reason.empty()) return reason;
    const strategy s = wanted == strategy::automatic ? choose_strategy(p) : wanted;
    const needs need = needs_of(plan_geometry(p, s), s, heap.ranks().size());
    const auto have_bytes = heap.options().data_bytes;
    const auto have_signals = heap.options().signals;
    if (need.inbox_elems * 2 > have_bytes)
      return "the inbox needs " + std::to_string(need.inbox_elems * 2) +
             " bytes of the symmetric heap; it has " + std::to_string(have_bytes);
    if (need.signals > have_signals)
      return std::to_string(need.signals) + " signals are needed; the symmetric heap has " +
             std::to_string(have_signals);
    return {};
  }

  strategy chosen() const noexcept { return chosen_; }
  const all_gather_gemm_problem& problem() const noexcept { return problem_; }
  const grids& blocks() const noexcept { return grids_; }
  const comm::shard* shards() const noexcept { return shards_.data(); }
  std::int64_t own_k() const {
    return problem_.k_shards[static_cast<std::size_t>(heap_.ranks().rank())];
  }

  /// Fixes the grids.
  ///
  /// @param gemm_resident,ship_resident Workgroups of each kernel that this rank may have running.
  /// @param tiles                       Output tiles.
  void plan_grids(int gemm_resident, int ship_resident, int tiles) {
    const int peers = heap_.ranks().size() - 1;
    const auto& own = geometry_.shards[static_cast<std::size_t>(heap_.ranks().rank())];
    const int parcels = own.tiles_k * geometry_.tiles_m;  // to each peer
    const bool ships = peers > 0 && parcels > 0 && chosen_ != strategy::pull;
    require_place(heap_.ranks(), ships ? std::min(gemm_resident, ship_resident) : gemm_resident);
    grids_.gemm = std::min(gemm_resident, tiles);
    grids_.ship = 0;
    if (!ships) return;
    const int a_peer = std::min(options_.ship_blocks_a_peer, parcels);
    if (chosen_ != strategy::push_fused) {
      grids_.ship = fit(a_peer, peers, ship_resident);
      return;
    }
    // At most half of the places; one place alone ships first and multiplies then.
    grids_.ship = fit(a_peer, peers, std::max(1, gemm_resident / 2));
    const int multiply = std::min(gemm_resident - grids_.ship, tiles);
    grids_.gemm = grids_.ship + std::max(0, multiply);
  }

  /// @throws as op_life::require.
  void require_alive() { life_.require(); }

  /// @throws errc::not_symmetric unless this rank's whole shard lies in a block of the heap.
  void require_symmetric(const void* a_shard, std::size_t element_bytes) const {
    const auto bytes = static_cast<std::size_t>(problem_.m * own_k()) * element_bytes;
    if (bytes == 0 || heap_.ranks().size() == 1) return;
    static_cast<void>(heap_.offset_of(a_shard));
    static_cast<void>(
        heap_.offset_of(static_cast<const void*>(static_cast<const char*>(a_shard) + bytes - 1)));
  }

  /// @throws errc::not_symmetric unless this rank's whole shard lies in a region of `region_elems`.
  void require_inside(const void* a_shard, std::size_t element_bytes, const void* region,
                      std::int64_t region_elems) const {
    const std::int64_t elems = problem_.m * own_k();
    if (elems == 0) return;
    const auto at = reinterpret_cast<std::uintptr_t>(a_shard);
    const auto begin = reinterpret_cast<std::uintptr_t>(region);
    const std::uint64_t room = static_cast<std::uint64_t>(region_elems) * element_bytes;
    const std::uint64_t need = static_cast<std::uint64_t>(elems) * element_bytes;
    if (at < begin || need > room || at - begin > room - need)
      throw error(errc::not_symmetric, heap_.ranks().rank(),
                  "a_shard of all_gather_gemm has " + std::to_string(need) + " bytes at address " +
                      std::to_string(at) + "; allowed is the region of " + std::to_string(room) +
                      " bytes at " + std::to_string(begin));
  }

  /// Runs the launches of a call.
  template <class F>
  void launching(F&& f) {
    life_.launching(std::forward<F>(f));
  }

  /// Parameters of a policy for a call.
  ///
  /// @param a_windows Where the memory that holds A is mapped, of each rank; for `pull`.
  template <class Comm>
  typename Comm::params comm_params(const typename Comm::element* a,
                                    const window* a_windows) const {
    using element = typename Comm::element;
    const comm::exchange<element> x{heap_.device_context(),
                                    shards_.data(),
                                    a,
                                    reinterpret_cast<element*>(inbox_.data()),
                                    geometry_.slot_elems,
                                    signals_.data(),
                                    signals_.data() + acknowledged_at(geometry_),
                                    {words_.data(), words_.data() + 1, options_.first_epoch},
                                    geometry_.m,
                                    geometry_.tiles_m,
                                    geometry_.rows_shift,
                                    geometry_.k_shift};
    if constexpr (std::is_same_v<typename Comm::params, comm::exchange<element>>)
      return x;
    else
      return {x, a_windows, offsets_.data()};
  }

  barrier_kernel::params barrier_params() const {
    return {heap_.device_context(), signals_.data() + barrier_at(), words_.data() + 2};
  }

 private:
  struct needs {
    std::int64_t inbox_elems, signals;
  };

  static std::int64_t acknowledged_at(const comm::geometry& g) { return g.tiles; }
  std::int64_t barrier_at() const { return acknowledged_at(geometry_) + heap_.ranks().size(); }

  static needs needs_of(const comm::geometry& g, strategy s, int world_size) {
    return {s == strategy::pull ? 0 : 2 * g.slot_elems, g.tiles + 2 * std::int64_t{world_size}};
  }

  static std::string list(const std::vector<std::int64_t>& values) {
    std::string text;
    for (const std::int64_t v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
    return "{" + text + "}";
  }

  static std::string bad_argument(const world& w, const all_gather_gemm_problem& p,
                                  const all_gather_gemm_options& options) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    const auto outside = [](const char* name, std::int64_t value) {
      return std::string(name) + " of all_gather_gemm is " + std::to_string(value) +
             "; allowed are 1 to " + std::to_string(most);
    };
    if (p.m < 1 || p.m > most) return outside("m", p.m);
    if (p.n < 1 || p.n > most) return outside("n", p.n);
    if (p.k_shards.size() != static_cast<std::size_t>(w.size()))
      return "all_gather_gemm has " + std::to_string(p.k_shards.size()) +
             " shards; allowed is one a rank, " + std::to_string(w.size());
    std::int64_t k = 0;
    for (std::size_t r = 0; r < p.k_shards.size(); ++r) {
      if (p.k_shards[r] < 0 || p.k_shards[r] > most)
        return "shard " + std::to_string(r) + " of all_gather_gemm has " +
               std::to_string(p.k_shards[r]) + " columns; allowed are 0 to " + std::to_string(most);
      k += p.k_shards[r];
    }
    if (k < 1 || k > most) return outside("k", k);
    if (w.size() > comm::max_tiles)
      return std::to_string(w.size()) + " ranks; allowed are 1 to " +
             std::to_string(comm::max_tiles);
    if (options.ship_blocks_a_peer < 1)
      return "ship_blocks_a_peer is " + std::to_string(options.ship_blocks_a_peer) +
             "; allowed are 1 or more";
    return {};
  }

  void allocate(const world& w) {
    const needs need = needs_of(geometry_, chosen_, w.size());
    if (need.inbox_elems > 0) inbox_ = heap_.allocate<std::uint16_t>(need.inbox_elems);
    if (chosen_ == strategy::pull) offsets_ = heap_.allocate<std::int64_t>(w.size());
    signals_ = heap_.allocate_signals(need.signals);
  }

  /// What is not symmetric. The inbox starts as zeros and its padding stays so.
  void initialize(const world& w) {
    const platform::device_guard guard(w.device());
    shards_ = platform::device_buffer<comm::shard>(geometry_.shards.size());
    words_ = platform::device_buffer<std::uint64_t>(3);
    const std::vector<std::uint64_t> words{options_.first_epoch, 0, options_.first_epoch};
    std::vector<signal_counter> counts(static_cast<std::size_t>(signals_.size()));
    for (signal_counter& c : counts) c.arrivals = options_.first_epoch;
    const platform::owned_stream stream;
    platform::copy(shards_.data(), geometry_.shards.data(), shards_.size_bytes(), stream);
    platform::copy(words_.data(), words.data(), words_.size_bytes(), stream);
    if (options_.first_epoch != 0)
      platform::copy(signals_.data(), counts.data(), counts.size() * sizeof counts[0], stream);
    if (inbox_)
      platform::fill(inbox_.data(), std::byte{0},
                     static_cast<std::size_t>(inbox_.size()) * sizeof(std::uint16_t), stream);
    stream.synchronize();
  }

  /// Rounds to whole peers, so that each has workgroups of its own, if there is place for that.
  static int fit(int a_peer, int peers, int places) {
    if (places >= peers) return std::min(a_peer, places / peers) * peers;
    return places;
  }

  symmetric_heap& heap_;
  all_gather_gemm_problem problem_;
  all_gather_gemm_options options_;
  strategy chosen_ = strategy::push;
  comm::geometry geometry_{};
  grids grids_{};
  op_life life_{heap_, "all_gather_gemm"};
  symmetric_array<std::uint16_t> inbox_;
  symmetric_array<std::int64_t> offsets_;
  symmetric_array<signal_counter> signals_;
  platform::device_buffer<comm::shard> shards_;
  platform::device_buffer<std::uint64_t> words_;
};

}  // namespace hiris
