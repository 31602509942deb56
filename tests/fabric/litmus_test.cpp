// SPDX-License-Identifier: MIT
// The litmus programs on the hostile fabric, seed after seed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "litmus/agreement.hpp"
#include "litmus/atomics.hpp"
#include "litmus/causes.hpp"
#include "litmus/messages.hpp"
#include "litmus/reading.hpp"
#include "litmus/weak.hpp"
#include "support/device_test.hpp"
#include "support/fabric.hpp"

namespace {

using namespace hiris;
using namespace hiris::litmus;

using FabricLitmus = test::device_test;

constexpr amount few{.rounds = 4};

runner under(std::uint64_t seed) {
  return [seed](const world& w, platform::stream stream, const std::function<void()>& enqueue,
                const std::vector<const void*>& in_heap) {
    test::under_seed(w, seed, stream, enqueue, in_heap);
  };
}

template <class... Programs>
void every_seed(std::initializer_list<int> sizes) {
  test::for_each_seed(24, [&](std::uint64_t seed) {
    for (const int n : sizes)
      test::on_ranks(n, [&](const world& w) { (check<Programs>(w, few, under(seed)), ...); });
  });
}

TEST_F(FabricLitmus, MessagePassingByNotify) {
  every_seed<message_passing<sender::notify, receiver::block>,
             message_passing<sender::notify, receiver::thread>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByNotifyPeerStores) {
  every_seed<message_passing<sender::notify_peer_stores, receiver::block>,
             message_passing<sender::notify_peer_stores, receiver::thread>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByWave) {
  every_seed<message_passing<sender::wave, receiver::block>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByBlock) {
  every_seed<message_passing<sender::block, receiver::block>,
             message_passing<sender::block, receiver::thread>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByBlockPeerStores) {
  every_seed<message_passing<sender::block_peer_stores, receiver::block>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByAtomics) {
  every_seed<message_passing<sender::release, receiver::acquire>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByEachAtomic) {
  every_seed<passing_by<operation::add>, passing_by<operation::sub>,
             passing_by<operation::sub_number>, passing_by<operation::inc>,
             passing_by<operation::min>, passing_by<operation::max>, passing_by<operation::and_>,
             passing_by<operation::or_>, passing_by<operation::xor_>, passing_by<operation::xchg>,
             passing_by<operation::cas>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByFences) {
  every_seed<message_passing<sender::fence, receiver::fence>>({2, 3});
}
TEST_F(FabricLitmus, MessagePassingByQuiet) {
  every_seed<message_passing<sender::quiet, receiver::fence>,
             message_passing<sender::wave_quiet, receiver::fence>,
             message_passing<sender::block_quiet, receiver::fence>>({2, 3});
}
TEST_F(FabricLitmus, ReadByLoad) {
  every_seed<there_and_back<way::load_store, mover::block>>({2, 3});
}
TEST_F(FabricLitmus, ReadByGet) {
  every_seed<there_and_back<way::get_put, mover::thread>, there_and_back<way::get_put, mover::wave>,
             there_and_back<way::get_put, mover::block>>({2, 3});
}
TEST_F(FabricLitmus, ReadByCopy) {
  every_seed<there_and_back<way::copy, mover::thread>, there_and_back<way::copy, mover::wave>,
             there_and_back<way::copy, mover::block>>({2, 3});
}
TEST_F(FabricLitmus, ManyWavesToOneSignal) { every_seed<many_to_one>({2, 3}); }
TEST_F(FabricLitmus, PeersToldOneByOne) { every_seed<peer_by_peer>({3}); }
TEST_F(FabricLitmus, OrderIsHandedOn) {
  every_seed<handed_on<sender::block_peer_stores>, handed_on<sender::block_quiet>>({3});
}
TEST_F(FabricLitmus, ABufferWaitsForItsSlowReaders) { every_seed<slow_readers>({2, 3}); }
TEST_F(FabricLitmus, StoreBuffering) {
  every_seed<store_buffering<true, place::own_memory>, store_buffering<true, place::peer_memory>>(
      {2});
}
TEST_F(FabricLitmus, LoadBuffering) { every_seed<load_buffering>({2}); }
TEST_F(FabricLitmus, IndependentReadsOfIndependentWrites) { every_seed<independent_reads>({4}); }
TEST_F(FabricLitmus, Coherence) { every_seed<coherence>({2, 3}); }
TEST_F(FabricLitmus, CausesAreWhole) { every_seed<causes_are_whole>({2, 3, 4}); }
TEST_F(FabricLitmus, CausesReachTheHost) { every_seed<causes_reach_the_host>({2, 3, 4}); }
TEST_F(FabricLitmus, WithinADevice) {
  every_seed<within<scope::agent, means::loads>, within<scope::agent, means::atomics>,
             within<scope::agent, means::fences>>({2});
}
TEST_F(FabricLitmus, WithinAWorkgroup) {
  every_seed<within<scope::workgroup, means::loads>, within<scope::workgroup, means::atomics>,
             within<scope::workgroup, means::fences>>({2});
}

/// What is allowed where an order is missing does happen here.
template <class Program>
void expect_seen() {
  std::atomic<int> seen{0};
  for (std::uint64_t seed = 1; seed <= 200 && seen == 0; ++seed) {
    const runner run = [seed](const world& w, platform::stream stream,
                              const std::function<void()>& enqueue,
                              const std::vector<const void*>& in_heap) {
      constexpr bool races_are_meant = true;
      test::under_seed(w, seed, stream, enqueue, in_heap, races_are_meant);
    };
    test::on_ranks(2, [&](const world& w) { seen += outcome_of<Program>(w, few, run)[0]; });
  }
  EXPECT_GT(seen, 0);
}
TEST_F(FabricLitmus, SeesStoreBufferingWithoutFences) {
  expect_seen<store_buffering<false, place::own_memory>>();
  expect_seen<store_buffering<false, place::peer_memory>>();
}
TEST_F(FabricLitmus, SeesMessagePassingWithoutRelease) { expect_seen<passing_unreleased>(); }
TEST_F(FabricLitmus, SeesMessagePassingWithoutAcquire) { expect_seen<passing_unacquired>(); }

}  // namespace
