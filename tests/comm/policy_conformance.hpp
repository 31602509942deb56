// SPDX-License-Identifier: MIT
/// @file
/// What every communication policy promises, held by one suite: a kernel that only gathers.
///
/// Workgroups walk positions as a multiply would, wait for each, and copy what `tile` points at
/// into a matrix of their own. Nothing else of an op is here, so a policy that fails fails by
/// itself.
///
///     TEST_F(Push, Gathers) { test::expect_policy_gathers<comm::push<float16>>(strategy::push); }
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "hiris/barrier.hpp"
#include "hiris/comm/exchange.hpp"
#include "hiris/comm/k_walk.hpp"
#include "hiris/heap.hpp"
#include "hiris/ops/all_gather_gemm_state.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace hiris::test {

inline constexpr int step_k = 128;
inline constexpr int step_rows = 16;

/// Ships, if the policy has something to ship in this launch, and gathers the whole matrix.
template <class Comm>
struct gather_kernel {
  static constexpr int block_threads = 256;
  struct params {
    typename Comm::params comm;
    const comm::shard* shards;
    std::uint16_t* to;  ///< [blocks, m, k]: each workgroup gathers all of it.
    int m, k, world, rank;
    bool ship;  ///< Whether this launch ships, or gathers.
  };
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p.comm);
    if (p.ship || Comm::ships_within)
      for (int item = platform::block_rank(); item < comm.items(); item += platform::block_count())
        if (comm.ship(item) != wait_status::ok) return;
    if (p.ship) return;
    if (comm.begin() != wait_status::ok) return;
    std::uint16_t* const mine = p.to + platform::block_rank() * p.m * p.k;
    for (int row = 0; row < p.m; row += step_rows) {
      const int rows = p.m - row < step_rows ? p.m - row : step_rows;
      for (comm::k_walk walk(p.shards, p.world, p.rank, step_k); !walk.done(); walk.advance()) {
        const comm::position at{walk.source(), row, rows, walk.k()};
        if (comm.ready(at) != wait_status::ok) return;
        const auto strip = comm.tile(at);
        const int columns = walk.left() < step_k ? walk.left() : step_k;
        for (int i = platform::thread_rank(); i < rows * columns; i += block_threads)
          mine[(row + i / columns) * p.k + walk.k_of_all() + i % columns] =
              platform::load_global(strip.data + i / columns * strip.stride + i % columns).bits;
      }
    }
    const wait_status end = comm.finish(platform::block_count());
    static_cast<void>(end);
  }
};

/// `calls` calls on `world_size` ranks; every workgroup of every rank must see every element of the
/// call's own data.
template <class Comm>
void expect_policy_gathers(strategy s, const std::vector<std::int64_t>& k_shards, std::int64_t m,
                           int calls = 5) {
  on_ranks(static_cast<int>(k_shards.size()), [&](const world& w) {
    const platform::device_guard guard(w.device());
    symmetric_heap heap(w, {.data_bytes = 8 << 20, .signals = 256});
    const all_gather_gemm_problem p{m, 1, k_shards};
    all_gather_gemm_state state(heap, p, s, {}, "float16");
    constexpr int blocks = 2;
    const auto elems = static_cast<std::size_t>(m * p.k());
    const platform::owned_stream stream;
    platform::device_buffer<std::uint16_t> to(elems * blocks);
    auto a = heap.allocate<float16>(m * p.k());
    const auto value = [](int call, std::int64_t row, std::int64_t k) {
      return static_cast<std::uint16_t>(call * 20011 + row * 257 + k * 3 + 1);
    };
    std::int64_t first_k = 0;
    for (int r = 0; r < w.rank(); ++r) first_k += k_shards[static_cast<std::size_t>(r)];
    for (int call = 0; call < calls; ++call) {
      std::vector<float16> shard;
      for (std::int64_t row = 0; row < m; ++row)
        for (std::int64_t k = 0; k < state.own_k(); ++k)
          shard.push_back({value(call, row, first_k + k)});
      platform::copy(a.data(), shard.data(), shard.size() * sizeof(float16), stream);
      platform::fill(to.data(), std::byte{0xff}, to.size_bytes(), stream);
      typename gather_kernel<Comm>::params params{};
      params.comm = state.template comm_params<Comm>(a.data(), heap.device_context().windows);
      params.shards = state.shards();
      params.to = to.data();
      params.m = static_cast<int>(m);
      params.k = static_cast<int>(p.k());
      params.world = w.size();
      params.rank = w.rank();
      if (!Comm::ships_within && s != strategy::pull) {
        params.ship = true;
        platform::launch<gather_kernel<Comm>>(stream, blocks, params);
      }
      if (s == strategy::bulk_synchronous)
        platform::launch<guarded_barrier_kernel>(stream, 1, state.barrier_params());
      params.ship = false;
      platform::launch<gather_kernel<Comm>>(stream, blocks, params);
      heap.synchronize(stream);
      const std::vector<std::uint16_t> got = to.to_host();
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i % elems);
        ASSERT_EQ(got[i], value(call, at / p.k(), at % p.k()))
            << to_string(s) << " rank " << w.rank() << " call " << call << " block " << i / elems
            << " row " << at / p.k() << " k " << at % p.k();
      }
    }
  });
}

/// The suite itself: shapes that are whole, ragged, empty on a rank, and of several tiles.
template <class Comm>
void expect_conformance(strategy s) {
  expect_policy_gathers<Comm>(s, {50}, 3);
  expect_policy_gathers<Comm>(s, {128, 128}, 16);
  expect_policy_gathers<Comm>(s, {129, 0, 7, 64}, 5);
  expect_policy_gathers<Comm>(s, {2100, 30}, 15);
  expect_policy_gathers<Comm>(s, std::vector<std::int64_t>(8, 24), 1);
}

}  // namespace hiris::test
