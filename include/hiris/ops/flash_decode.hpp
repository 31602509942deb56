// SPDX-License-Identifier: MIT
/// @file
/// One decode step of attention over a KV cache that is sharded along the sequence over the ranks.
///
/// Each rank attends to its own keys and sends one partial result a group of query heads; every
/// rank ends with the whole output. Lengths and block tables are read from device memory at each
/// call.
///
///     flash_decode<bfloat16> op(heap, {.batch = 4, .q_heads = 96, .kv_heads = 8, .head_dim = 128,
///                                      .max_kv_len = 32768, .scale = 0.088f});      // collective
///     op.run(stream, q, {k, v}, kv_lengths, out);      // on every rank; returns at once
///     op.synchronize(stream);                          // throws what the kernels found
///
/// **Residency.** All workgroups of a launch that waits must run at once: grids are as large as the
/// device holds, and a device that other kernels fill may make a wait time out. Ranks that share a
/// device each need a stream of their own that has run something before: an `owned_stream`, or one
/// given to `prepare_stream`.
/// **Reuse.** Ranks may call back to back without host synchronisation, and replay a captured
/// graph. After `run`, in stream order, all operands are the caller's again. All ranks must make
/// the same number of calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "hiris/barrier.hpp"
#include "hiris/comm/partials_policies.hpp"
#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/ops/flash_decode_kernel.hpp"
#include "hiris/ops/flash_decode_plan.hpp"
#include "hiris/ops/flash_decode_state.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris {

/// A rank's cache, in its device memory, aligned to 16 bytes. Null where it has no keys at all.
///
/// Keys and values have one layout: [batch, kv_heads, max_kv_len, head_dim] if the cache is
/// contiguous, [pages, page_size, kv_heads, head_dim] if it is paged.
template <class T>
struct kv_cache {
  const T* k;
  const T* v;
  const std::int32_t* block_table = nullptr;  ///< [batch, max_pages] if paged, else null.
};

/// The op of one rank. Its heap must outlive it. One host thread at a time.
///
/// @tparam T Element of queries, cache and output: float16 or bfloat16. Softmax and partial results
///           are fp32.
template <class T>
class flash_decode {
  static_assert(std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>,
                "hiris: flash_decode takes float16 or bfloat16");

 public:
  /// Plans the op, allocates its inbox and signals on the heap, and loads its kernels. Collective.
  ///
  /// @param problem As the fields say, the same on all ranks.
  /// @param variant The same on all ranks.
  /// @throws errc::invalid_argument, errc::mismatch, errc::out_of_memory, errc::not_resident: on
  ///         every rank, before anything is launched; the heap is as before.
  flash_decode(symmetric_heap& heap, const flash_decode_problem& problem,
               flash_decode_variant variant = flash_decode_variant::fused,
               const flash_decode_options& options = {})
      : heap_(heap),
        state_(heap, problem, variant, options,
               std::is_same_v<T, float16> ? "float16" : "bfloat16") {
    prepare_kernels();
  }

  /// Computes the output. Returns at once; the host talks to nobody.
  ///
  /// Caller   host; may be captured into a graph, which may be replayed.
  ///
  /// @param stream     Stream of this rank's device.
  /// @param q          [batch, q_heads, head_dim], aligned to 16 bytes.
  /// @param cache      This rank's part of keys and values.
  /// @param kv_lengths [batch] keys of each sequence on this rank, device memory; 0 is allowed. A
  ///                   length outside 0 .. max_kv_len is brought into that range and reported, as
  ///                   is a page that is not in the pool, whose keys count as zeros.
  /// @param out        [batch, q_heads, head_dim], aligned to 16 bytes. Zeros where no rank has
  ///                   keys.
  /// @param lse        [batch, q_heads] log-sum-exp of the scores; -inf where there are no keys.
  ///                   May be null.
  /// @throws errc::invalid_argument: nothing was launched and nothing changed.
  /// @throws errc::timed_out if a wait of an earlier call ran out, or a fault of the heap was reset
  ///         since the op was built: the op refuses from then on. Graphs of it refuse nothing, and
  ///         are not to be replayed then.
  void run(platform::stream stream, const T* q, const kv_cache<T>& cache,
           const std::int32_t* kv_lengths, T* out, float* lse = nullptr) {
    const flash_decode_problem& p = state_.problem();
    const bool any = p.max_kv_len > 0;
    require_operand("q", q, true, 16);
    require_operand("k", cache.k, any, 16);
    require_operand("v", cache.v, any, 16);
    require_operand("block_table", cache.block_table, any && p.page_size > 0, 4);
    require_operand("kv_lengths", kv_lengths, true, 4);
    require_operand("out", out, true, 16);
    require_operand("lse", lse, false, 4);
    state_.require_alive();
    const platform::device_guard guard(heap_.ranks().device());
    const decode_inputs<T> in{q,
                              cache.k,
                              cache.v,
                              p.page_size > 0 ? cache.block_table : nullptr,
                              kv_lengths,
                              static_cast<int>(p.max_kv_len),
                              static_cast<int>(p.page_size),
                              static_cast<int>(p.max_pages),
                              static_cast<int>(p.pages)};
    const decode_output<T> to{out, lse, p.deterministic};
    launch_kernels(stream, in, to);
  }

  /// Waits for the stream, then throws what its kernels found.
  ///
  /// @throws errc::timed_out with the text of the fault record. The op refuses further calls.
  /// @throws errc::invalid_argument for a length or page that is not allowed; once, and the op
  ///         lives.
  void synchronize(platform::stream stream) {
    platform::synchronize(stream);
    state_.require_alive();
  }

  flash_decode_variant variant() const noexcept { return state_.variant(); }
  const flash_decode_problem& problem() const noexcept { return state_.problem(); }
  const flash_decode_plan& plan() const noexcept { return state_.plan(); }
  /// What a call costs this rank. The emulator counts the same.
  taxes expected_taxes() const {
    return flash_decode_taxes(state_.plan(), variant(), heap_.ranks().size(),
                              state_.library() != nullptr);
  }

  /// Why a problem cannot be run, or an empty text. Asks only what needs no memory.
  static std::string why_not(const flash_decode_problem& problem,
                             const flash_decode_options& options = {}) {
    return flash_decode_state::why_not(problem, options);
  }

 private:
  // Not in the class: an explicit instantiation elsewhere then spares a user the kernels.
  void prepare_kernels();
  void launch_kernels(platform::stream stream, const decode_inputs<T>& in,
                      const decode_output<T>& to);

  template <class Journey, class Comm>
  struct kernels {
    using journey = Journey;
    using comm = Comm;
    /// Whether kernels of ours bring the records to the peers.
    static constexpr bool gathers = !std::is_same_v<Comm, hiris::comm::partials_collected>;
  };

  template <class F>
  void with_variant(F&& f) {
    switch (state_.variant()) {
      case flash_decode_variant::bulk_synchronous:
        if (state_.library() != nullptr)
          return f(kernels<comm::partials_kept, comm::partials_collected>{});
        return f(kernels<comm::partials_kept, comm::partials_bulk>{});
      case flash_decode_variant::independent_gather:
        return f(kernels<comm::partials_kept, comm::partials_gathered>{});
      case flash_decode_variant::fine_grained:
        return f(kernels<comm::partials_kept, comm::partials_awaited>{});
      case flash_decode_variant::fused:
        return f(kernels<comm::partials_fused, comm::partials_fused>{});
    }
  }

  /// Calls f with an object of the kernel that attends: the smallest whose head_dim suffices.
  template <class Journey, class F>
  void with_attend(F&& f) {
    switch ((state_.problem().head_dim + 63) / 64) {
      case 1:
        return f(flash_decode_kernel<T, 64, Journey>{});
      case 2:
        return f(flash_decode_kernel<T, 128, Journey>{});
      case 3:
        return f(flash_decode_kernel<T, 192, Journey>{});
      default:
        return f(flash_decode_kernel<T, 256, Journey>{});
    }
  }

  /// Loads the kernels, and fixes the grids by what is resident.
  template <class Kernels>
  void prepare() {
    const world& w = heap_.ranks();
    int attend = 1, gather = 1, combine = 1;
    w.collectively("kernels of flash_decode", [&] {
      const platform::device_guard guard(w.device());
      with_attend<typename Kernels::journey>([&](auto k) {
        platform::load_kernel<decltype(k)>();
        attend = resident_blocks<decltype(k)>(w);
      });
      if constexpr (!Kernels::journey::ships_within) {
        using combine_kernel = flash_decode_combine_kernel<T, typename Kernels::comm>;
        platform::load_kernel<combine_kernel>();
        combine = resident_blocks<combine_kernel>(w);
        if constexpr (Kernels::gathers) {
          using gather_kernel = flash_decode_gather_kernel<typename Kernels::comm>;
          platform::load_kernel<gather_kernel>();
          platform::load_kernel<guarded_barrier_kernel>();
          gather = resident_blocks<gather_kernel>(w);
        }
      }
    });
    state_.prepare(attend, gather, combine);
  }

  template <class Kernels>
  void launch(platform::stream stream, const decode_inputs<T>& in, const decode_output<T>& to) {
    const comm::partial_exchange x = state_.exchange();
    const flash_decode_plan& d = state_.plan();
    with_attend<typename Kernels::journey>([&](auto k) {
      typename decltype(k)::params params{};
      params.x = x;
      params.plan = d;
      params.in = in;
      params.to = to;
      params.scale = score_scale_of(state_.problem());
      params.split_done = state_.split_done();
      params.split_records = state_.split_records();
      params.report = state_.report();
      platform::launch<decltype(k)>(stream, state_.attend_blocks(), params);
    });
    if constexpr (!Kernels::journey::ships_within) {
      if constexpr (Kernels::gathers) {
        if (heap_.ranks().size() > 1)
          platform::launch<flash_decode_gather_kernel<typename Kernels::comm>>(
              stream, state_.gather_blocks(), x);
        if (state_.variant() == flash_decode_variant::bulk_synchronous && heap_.ranks().size() > 1)
          platform::launch<guarded_barrier_kernel>(stream, 1, state_.barrier_params());
      } else {
        (*state_.library())(stream, x.own, x.inbox,
                            sizeof(float) * static_cast<std::size_t>(d.record_floats) *
                                static_cast<std::size_t>(d.groups));
      }
      platform::launch<flash_decode_combine_kernel<T, typename Kernels::comm>>(
          stream, state_.combine_blocks(), {x, d, to});
    }
  }

  static score_scale score_scale_of(const flash_decode_problem& p) {
    constexpr float log2_e = 1.44269504088896341f;
    if (p.soft_cap > 0) return {p.scale / p.soft_cap, p.soft_cap * log2_e};
    return {p.scale * log2_e, 0};
  }

  void require_operand(const char* name, const void* pointer, bool needed,
                       std::uintptr_t alignment) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (pointer == nullptr && needed)
      throw error(errc::invalid_argument, heap_.ranks().rank(),
                  std::string(name) + " of flash_decode is null; allowed is device memory");
    if (address % alignment != 0)
      throw error(errc::invalid_argument, heap_.ranks().rank(),
                  std::string(name) + " of flash_decode is at address " + std::to_string(address) +
                      "; allowed are multiples of " + std::to_string(alignment));
  }

  symmetric_heap& heap_;
  flash_decode_state state_;
};

template <class T>
void flash_decode<T>::prepare_kernels() {
  with_variant([&](auto v) { prepare<decltype(v)>(); });
}

template <class T>
void flash_decode<T>::launch_kernels(platform::stream stream, const decode_inputs<T>& in,
                                     const decode_output<T>& to) {
  state_.launching([&] { with_variant([&](auto v) { launch<decltype(v)>(stream, in, to); }); });
}

}  // namespace hiris
