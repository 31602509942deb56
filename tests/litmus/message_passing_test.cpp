// SPDX-License-Identifier: MIT
// Litmus tests: small programs, each with an outcome that the memory model forbids, run many times
// between the ranks. On a GPU a lost release or acquire shows as a forbidden outcome. The strong
// memory of the emulator hides most of them here; its hostile fabric (tests/fabric/), the thread
// sanitizer and the assembly checks of tests/codegen do not.
#include <gtest/gtest.h>

#include <initializer_list>

#include "litmus/agreement.hpp"
#include "litmus/atomics.hpp"
#include "litmus/causes.hpp"
#include "litmus/messages.hpp"
#include "litmus/reading.hpp"
#include "support/device_test.hpp"
#include "support/processes.hpp"

namespace {

using namespace hiris;
using namespace hiris::litmus;

using Litmus = test::device_test;

template <class Program>
void on_world(const world& w) {
  check<Program>(w, amount_of_a_program(), run_freely);
}
template <class Program>
void on_all(std::initializer_list<int> sizes) {
  for (const int n : sizes) test::on_ranks(n, on_world<Program>);
}

TEST_F(Litmus, MessagePassingByNotify) {
  on_all<message_passing<sender::notify, receiver::block>>({2, 3, 5});
  on_all<message_passing<sender::notify, receiver::thread>>({2});
}
TEST_F(Litmus, MessagePassingByNotifyPeerStores) {
  on_all<message_passing<sender::notify_peer_stores, receiver::block>>({2, 3, 5});
  on_all<message_passing<sender::notify_peer_stores, receiver::thread>>({2});
}
TEST_F(Litmus, MessagePassingByWave) {
  on_all<message_passing<sender::wave, receiver::block>>({2, 3, 5});
}
TEST_F(Litmus, MessagePassingByBlock) {
  on_all<message_passing<sender::block, receiver::block>>({2, 3, 5});
  on_all<message_passing<sender::block, receiver::thread>>({2});
}
TEST_F(Litmus, MessagePassingByBlockPeerStores) {
  on_all<message_passing<sender::block_peer_stores, receiver::block>>({2, 3, 5});
}
TEST_F(Litmus, MessagePassingByAtomics) {
  on_all<message_passing<sender::release, receiver::acquire>>({2, 3});
}
TEST_F(Litmus, MessagePassingByEachAtomic) {
  on_all<passing_by<operation::add>>({2, 3});
  on_all<passing_by<operation::sub>>({2, 3});
  on_all<passing_by<operation::sub_number>>({2, 3});
  on_all<passing_by<operation::inc>>({2, 3});
  on_all<passing_by<operation::min>>({2, 3});
  on_all<passing_by<operation::max>>({2, 3});
  on_all<passing_by<operation::and_>>({2, 3});
  on_all<passing_by<operation::or_>>({2, 3});
  on_all<passing_by<operation::xor_>>({2, 3});
  on_all<passing_by<operation::xchg>>({2, 3});
  on_all<passing_by<operation::cas>>({2, 3});
}
TEST_F(Litmus, MessagePassingByFences) {
  on_all<message_passing<sender::fence, receiver::fence>>({2, 3});
}
TEST_F(Litmus, MessagePassingByQuiet) {
  on_all<message_passing<sender::quiet, receiver::fence>>({2, 3});
  on_all<message_passing<sender::wave_quiet, receiver::fence>>({2, 3});
  on_all<message_passing<sender::block_quiet, receiver::fence>>({2, 3});
}
TEST_F(Litmus, MessagePassingAcrossProcesses) {
  test::on_processes({.processes = 2, .threads = 1}, [](const world& w) {
    on_world<message_passing<sender::block, receiver::block>>(w);
    on_world<message_passing<sender::block_peer_stores, receiver::block>>(w);
    on_world<store_buffering<true, place::own_memory>>(w);
    on_world<coherence>(w);
    on_world<causes_are_whole>(w);
  });
}
TEST_F(Litmus, ReadByLoad) { on_all<there_and_back<way::load_store, mover::block>>({2, 3, 5}); }
TEST_F(Litmus, ReadByGet) {
  on_all<there_and_back<way::get_put, mover::thread>>({2, 3});
  on_all<there_and_back<way::get_put, mover::wave>>({2, 3});
  on_all<there_and_back<way::get_put, mover::block>>({2, 3});
}
TEST_F(Litmus, ReadByCopy) {
  on_all<there_and_back<way::copy, mover::thread>>({2, 3});
  on_all<there_and_back<way::copy, mover::wave>>({2, 3});
  on_all<there_and_back<way::copy, mover::block>>({2, 3});
}
TEST_F(Litmus, ManyWavesToOneSignal) { on_all<many_to_one>({2, 3, 5}); }
TEST_F(Litmus, PeersToldOneByOne) { on_all<peer_by_peer>({3, 5}); }
TEST_F(Litmus, OrderIsHandedOn) {
  on_all<handed_on<sender::block_peer_stores>>({3});
  on_all<handed_on<sender::block_quiet>>({3});
}
TEST_F(Litmus, ABufferWaitsForItsSlowReaders) { on_all<slow_readers>({2, 3}); }
TEST_F(Litmus, StoreBuffering) {
  on_all<store_buffering<true, place::own_memory>>({2});
  on_all<store_buffering<true, place::peer_memory>>({2});
}
TEST_F(Litmus, LoadBuffering) { on_all<load_buffering>({2}); }
TEST_F(Litmus, IndependentReadsOfIndependentWrites) { on_all<independent_reads>({4}); }
TEST_F(Litmus, Coherence) { on_all<coherence>({4}); }
TEST_F(Litmus, CausesAreWhole) { on_all<causes_are_whole>({2, 3, 5}); }
TEST_F(Litmus, CausesReachTheHost) { on_all<causes_reach_the_host>({2, 3, 5}); }
TEST_F(Litmus, WithinADevice) {
  on_all<within<scope::agent, means::loads>>({2});
  on_all<within<scope::agent, means::atomics>>({2});
  on_all<within<scope::agent, means::fences>>({2});
}
TEST_F(Litmus, WithinAWorkgroup) {
  on_all<within<scope::workgroup, means::loads>>({2});
  on_all<within<scope::workgroup, means::atomics>>({2});
  on_all<within<scope::workgroup, means::fences>>({2});
}

}  // namespace
