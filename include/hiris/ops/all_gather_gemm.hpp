// SPDX-License-Identifier: MIT
/// @file
/// All-gather + GEMM in one op: C = [A_0 | ... | A_{W-1}] B, A sharded along K over the ranks.
///
/// The multiplication starts on each tile of A as it arrives. Every rank computes the whole C with
/// its own B.
///
///     hiris::all_gather_gemm<float16> op(heap, {m, n, k_shards});        // collective
///     op.run(stream, a_shard, b, c);                   // on every rank; returns at once
///     op.synchronize(stream);                          // throws errc::timed_out if a wait ran out
///
/// **Residency.** All workgroups of a launch must run at once, since they wait for peers: grids are
/// as large as the device holds, and a device that other kernels fill may make a wait time out.
/// Ranks that share a device each need a stream of their own that has run something before: an
/// `owned_stream`, or one given to `prepare_stream`.
/// **Reuse.** Ranks may call back to back without host synchronisation, and replay a captured
/// graph. After `run`, in stream order, A, B and C are the caller's again. All ranks must make the
/// same number of calls. After a time-out what is enqueued already runs, but ships nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "hiris/comm/bulk_synchronous.hpp"
#include "hiris/comm/pull.hpp"
#include "hiris/comm/push.hpp"
#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/ops/all_gather_gemm_kernel.hpp"
#include "hiris/ops/all_gather_gemm_plan.hpp"
#include "hiris/ops/all_gather_gemm_state.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris {

/// The op of one rank. Its heap must outlive it. One host thread at a time.
///
/// @tparam T   Element of A and B: float16 or bfloat16.
/// @tparam B   Layout of B: row_major [k, n], or col_major, the [n, k] of a linear layer.
/// @tparam Out Element of C: T or float. Sums are fp32 and rounded once.
template <class T, matrix_layout B = matrix_layout::row_major, class Out = T>
class all_gather_gemm {
  static_assert(std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>,
                "hiris: A and B of all_gather_gemm are float16 or bfloat16");
  static_assert(std::is_same_v<Out, T> || std::is_same_v<Out, float>,
                "hiris: C of all_gather_gemm has the element type of A, or float");

 public:
  /// Plans the op, allocates its inbox and signals on the heap, and loads its kernels. Collective.
  ///
  /// @param problem The same on all ranks.
  /// @param wanted  The same on all ranks.
  /// @throws errc::invalid_argument, errc::mismatch, errc::out_of_memory, errc::not_resident: on
  ///         every rank, before anything is launched; the heap is as before.
  all_gather_gemm(symmetric_heap& heap, all_gather_gemm_problem problem,
                  strategy wanted = strategy::automatic, all_gather_gemm_options options = {})
      : heap_(heap), state_(heap, std::move(problem), wanted, options, element_name()) {
    heap.ranks().collectively("kernels of all_gather_gemm", [&] {
      const platform::device_guard guard(heap_.ranks().device());
      prepare_kernels();
    });
  }

  /// Computes C. Returns at once; the host talks to nobody.
  ///
  /// Caller   host; may be captured into a graph, which may be replayed.
  ///
  /// @param stream  Stream of this rank's device.
  /// @param a_shard [m, k_shards[rank]], row-major. For `pull` in a block of the heap, anywhere.
  ///                May be null if the shard has no columns.
  /// @param b       [k, n] or [n, k], this device's memory.
  /// @param c       [m, n], row-major, this device's memory.
  /// @throws errc::invalid_argument, errc::not_symmetric: nothing was launched and nothing changed.
  /// @throws errc::timed_out if a wait of an earlier call ran out, or a fault of the heap was reset
  ///         since the op was built: the op refuses from then on. Graphs of it refuse nothing, and
  ///         are not to be replayed then.
  void run(platform::stream stream, const T* a_shard, const T* b, Out* c) {
    check(a_shard, b, c);
    if (chosen() == strategy::pull) state_.require_symmetric(a_shard, sizeof(T));
    launch_kernels(stream, heap_.device_context().windows, a_shard, b, c);
  }

  /// As above with A in memory that heap.attach() made symmetric: all ranks pass the region of the
  /// same attach(). Strategies other than `pull` take A from anywhere.
  ///
  /// @throws errc::not_symmetric unless the shard lies in the region.
  void run(platform::stream stream, const symmetric_region<T>& region, const T* a_shard, const T* b,
           Out* c) {
    check(a_shard, b, c);
    const window* const windows = heap_.device_context(region).windows;
    if (chosen() == strategy::pull)
      state_.require_inside(a_shard, sizeof(T), region.data(), region.size());
    launch_kernels(stream, windows, a_shard, b, c);
  }

  /// Waits for the stream, then throws if a wait of this rank ran out.
  ///
  /// @throws errc::timed_out with the text of the fault record. The op refuses further calls.
  void synchronize(platform::stream stream) {
    platform::synchronize(stream);
    state_.require_alive();
  }

  /// The strategy in use, never `automatic`.
  strategy chosen() const noexcept { return state_.chosen(); }
  const all_gather_gemm_problem& problem() const noexcept { return state_.problem(); }
  /// What a call costs this rank. The emulator counts the same.
  taxes expected_taxes() const {
    return plan_taxes(state_.problem(), chosen(), heap_.ranks().rank());
  }

  /// Why a problem cannot be run on the heap, or an empty text. Not collective, allocates nothing;
  /// asks only what this rank can know.
  static std::string why_not(const symmetric_heap& heap, const all_gather_gemm_problem& problem,
                             strategy wanted = strategy::automatic) {
    return all_gather_gemm_state::why_not(heap, problem, wanted);
  }

 private:
  using types = gemm_types<T, B, Out>;

  // Not in the class: an explicit instantiation elsewhere then spares a user the kernels.
  void prepare_kernels();
  /// @param a_windows Where the memory that holds A is mapped, of each rank.
  void launch_kernels(platform::stream stream, const window* a_windows, const T* a, const T* b,
                      Out* c);

  template <class Comm, class Tile>
  using kernels_of = all_gather_gemm_kernels<Comm, types, Tile>;

  static constexpr const char* element_name() {
    return std::is_same_v<T, float16> ? "float16" : "bfloat16";
  }

  template <class F>
  void with_kernels(F&& f) {
    with_tile(choose_tile(state_.problem().m), [&](auto t) {
      using tile_type = decltype(t);
      switch (chosen()) {
        case strategy::bulk_synchronous:
          return f(kernels_of<comm::bulk_synchronous<T>, tile_type>{});
        case strategy::pull:
          return f(kernels_of<comm::pull<T>, tile_type>{});
        case strategy::push:
          return f(kernels_of<comm::push<T>, tile_type>{});
        default:
          return f(kernels_of<comm::push_fused<T>, tile_type>{});
      }
    });
  }

  /// Loads the kernels and fixes the grids.
  template <class Kernels>
  void prepare() {
    const world& w = heap_.ranks();
    platform::load_kernel<typename Kernels::gemm>();
    platform::load_kernel<typename Kernels::ship>();
    platform::load_kernel<guarded_barrier_kernel>();
    using tile_type = typename Kernels::tile;
    schedule_ = tile::make_schedule(state_.problem().m, state_.problem().n, tile_type::m,
                                    tile_type::n, tile_type::group_m, dies_of(w.device()));
    state_.plan_grids(resident_blocks<typename Kernels::gemm>(w),
                      resident_blocks<typename Kernels::ship>(w), schedule_.tiles());
  }

  template <class Kernels>
  void launch(platform::stream stream, const window* a_windows, const T* a, const T* b, Out* c) {
    const grids& blocks = state_.blocks();
    const auto comm = state_.template comm_params<typename Kernels::comm>(a, a_windows);
    if (blocks.ship > 0 && !Kernels::comm::ships_within)
      platform::launch<typename Kernels::ship>(stream, blocks.ship, comm);
    if (chosen() == strategy::bulk_synchronous && heap_.ranks().size() > 1)
      platform::launch<guarded_barrier_kernel>(stream, 1, state_.barrier_params());
    const all_gather_gemm_problem& p = state_.problem();
    typename Kernels::gemm::params params{};
    params.comm = comm;
    params.shards = state_.shards();
    params.b = b;
    params.c = c;
    params.b_stride = B == matrix_layout::row_major ? p.n : p.k();
    params.m = static_cast<int>(p.m);
    params.n = static_cast<int>(p.n);
    params.world = heap_.ranks().size();
    params.rank = heap_.ranks().rank();
    params.ship_blocks = Kernels::comm::ships_within ? blocks.ship : 0;
    params.schedule = schedule_;
    platform::launch<typename Kernels::gemm>(stream, blocks.gemm, params);
  }

  /// Chiplets over which the device deals workgroups round robin.
  static int dies_of(int device) {
    const std::string arch = platform::describe(device).arch;
    return arch.starts_with("gfx94") || arch.starts_with("gfx95") ? 8 : 1;
  }

  void check(const T* a_shard, const T* b, const Out* c) {
    state_.require_alive();
    require_operand("a_shard", a_shard, state_.own_k() > 0);
    require_operand("b", b, true);
    require_operand("c", c, true);
  }

  void require_operand(const char* name, const void* pointer, bool needed) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (pointer == nullptr && needed)
      throw error(errc::invalid_argument, heap_.ranks().rank(),
                  std::string(name) + " of all_gather_gemm is null; allowed is device memory");
    if (address % alignof(T) != 0 || (name[0] == 'c' && address % alignof(Out) != 0))
      throw error(errc::invalid_argument, heap_.ranks().rank(),
                  std::string(name) + " of all_gather_gemm is at address " +
                      std::to_string(address) + "; allowed are multiples of its element size");
  }

  symmetric_heap& heap_;
  all_gather_gemm_state state_;
  tile::schedule schedule_{};
};

template <class T, matrix_layout B, class Out>
void all_gather_gemm<T, B, Out>::prepare_kernels() {
  with_kernels([&](auto kernels) { prepare<decltype(kernels)>(); });
}

template <class T, matrix_layout B, class Out>
void all_gather_gemm<T, B, Out>::launch_kernels(platform::stream stream, const window* a_windows,
                                                const T* a, const T* b, Out* c) {
  const platform::device_guard guard(heap_.ranks().device());
  state_.launching([&] {
    with_kernels([&](auto kernels) { launch<decltype(kernels)>(stream, a_windows, a, b, c); });
  });
}

}  // namespace hiris
