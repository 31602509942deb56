// SPDX-License-Identifier: MIT
/// @file
/// Every policy carries every record of every rank to every rank, call after call: one suite.
#include "hiris/comm/partials.hpp"

#include <gtest/gtest.h>

#include "comm/partials_case.hpp"
#include "hiris/comm/partials_policies.hpp"
#include "hiris/heap.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using test::on_ranks;

template <class Comm>
class Partials : public test::device_test {};
using policies = ::testing::Types<comm::partials_bulk, comm::partials_gathered,
                                  comm::partials_awaited, comm::partials_fused>;
TYPED_TEST_SUITE(Partials, policies);

template <class Comm>
void carry(int ranks, int groups, int groups_a_signal, int calls) {
  on_ranks(ranks, [&](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 256});
    const test::partials_rank mine(heap, groups, groups_a_signal);
    const platform::owned_stream stream;
    for (int call = 0; call < calls; ++call) {
      mine.make<Comm>(stream);
      mine.ship<Comm>(stream);
      mine.read<Comm>(stream);
    }
    heap.synchronize(stream);
    EXPECT_EQ(mine.wrong(), 0) << ranks << " ranks, " << groups << " groups";
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
