// SPDX-License-Identifier: MIT
/// @file
/// Every policy carries every record of every rank to every rank, call after call: one suite.
#include "hiris/comm/partials.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#include "hiris/barrier.hpp"
#include "hiris/comm/partials_policies.hpp"
#include "hiris/heap.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using test::on_ranks;

constexpr int record_floats = 8;

HIRIS_DEVICE float coded(std::uint64_t epoch, int rank, int group, int i) {
  return static_cast<float>(epoch % 64) * 4096 + static_cast<float>(rank * 512 + group * 8 + i);
}

/// Makes this rank's records, and ships them if the policy does that within.
template <class Comm>
struct make_kernel {
  static constexpr int block_threads = 64;
  using params = comm::partial_exchange;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p);
    for (int g = platform::block_rank(); g < p.groups; g += platform::block_count()) {
      for (int i = platform::thread_rank(); i < record_floats; i += block_threads)
        platform::store_global(comm.own(g) + i, coded(comm.epoch(), p.ctx.rank, g, i));
      platform::block_sync();
      if (comm.publish(g) != wait_status::ok) return;
    }
  }
};

template <class Comm>
struct ship_kernel {
  static constexpr int block_threads = 64;
  using params = comm::partial_exchange;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p);
    for (int item = platform::block_rank(); item < comm.items(); item += platform::block_count())
      if (comm.ship(item) != wait_status::ok) return;
    const wait_status end = comm.settle();
    static_cast<void>(end);
  }
};

template <class Comm>
struct read_kernel {
  static constexpr int block_threads = 64;
  struct params {
    comm::partial_exchange x;
    int* wrong;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p.x);
    for (int g = platform::block_rank(); g < p.x.groups; g += platform::block_count())
      for (int source = 0; source < p.x.ctx.size; ++source) {
        if (comm.ready(source, g) != wait_status::ok) return;
        for (int i = platform::thread_rank(); i < record_floats; i += block_threads)
          if (platform::load_global(comm.record(source, g) + i) !=
              coded(comm.epoch(), source, g, i))
            platform::atomic_fetch_add<order::relaxed, scope::agent>(p.wrong, 1);
      }
    const wait_status end = comm.finish(platform::block_count());
    static_cast<void>(end);
  }
};

template <class Comm>
class Partials : public test::device_test {};
using policies = ::testing::Types<comm::partials_bulk, comm::partials_gathered,
                                  comm::partials_awaited, comm::partials_fused>;
TYPED_TEST_SUITE(Partials, policies);

template <class Comm>
void carry(int ranks, int groups, int groups_a_signal, int calls) {
  on_ranks(ranks, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 256});
    const int signals = (groups + groups_a_signal - 1) / groups_a_signal;
    auto inbox = heap.allocate<float>(std::int64_t{2} * ranks * groups * record_floats);
    auto counts = heap.allocate_signals(std::int64_t{ranks} * (signals + 2));
    platform::device_buffer<float> own(static_cast<std::size_t>(groups * record_floats));
    platform::device_buffer<std::uint64_t> words(3);
    platform::device_buffer<int> wrong(1);
    words.fill_with(std::byte{0});
    wrong.fill_with(std::byte{0});
    const comm::partial_exchange x{heap.device_context(),
                                   own.data(),
                                   inbox.data(),
                                   counts.data(),
                                   counts.data() + ranks * signals,
                                   {words.data(), words.data() + 1, 0},
                                   groups,
                                   record_floats,
                                   groups_a_signal,
                                   signals};
    signal_counter* const barrier = counts.data() + ranks * (signals + 1);
    const platform::owned_stream stream;
    using maker = std::conditional_t<Comm::ships_within, Comm, comm::partials_kept>;
    for (int call = 0; call < calls; ++call) {
      platform::launch<make_kernel<maker>>(stream, 2, x);
      if (!Comm::ships_within && ranks > 1) platform::launch<ship_kernel<Comm>>(stream, 2, x);
      if (std::is_same_v<Comm, comm::partials_bulk> && ranks > 1)
        platform::launch<barrier_kernel>(stream, 1, {x.ctx, barrier, words.data() + 2});
      platform::launch<read_kernel<Comm>>(stream, 2, {x, wrong.data()});
    }
    heap.synchronize(stream);
    EXPECT_EQ(wrong.to_host()[0], 0) << ranks << " ranks, " << groups << " groups";
    w.barrier("end of the test");
  });
}

TYPED_TEST(Partials, ReachEveryRank) {
  for (const int ranks : {1, 2, 3, 5}) {
    carry<TypeParam>(ranks, 1, 1, 5);
    carry<TypeParam>(ranks, 7, 1, 20);
  }
}

TYPED_TEST(Partials, MayShareSignals) {
  carry<TypeParam>(3, 7, 3, 20);
  carry<TypeParam>(2, 8, 4, 20);
}

TEST(PartialsGeometry, NeverNeedsMoreSignalsThanAWorkgroupRemembers) {
  for (const int world : {1, 2, 3, 8, 64})
    for (const int groups : {1, 12, 255, 256, 257, 4096}) {
      const int shared = comm::groups_a_signal(world, groups);
      EXPECT_GE(shared, 1);
      EXPECT_LE(world * ((groups + shared - 1) / shared), comm::max_tiles);
    }
  EXPECT_EQ(comm::groups_a_signal(8, 256), 1);
}

}  // namespace
