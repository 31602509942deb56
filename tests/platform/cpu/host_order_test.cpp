// SPDX-License-Identifier: MIT
// What the host waits for orders what it enqueues afterwards: each way to wait is seen by the race
// detector, and what nobody waits for is a race, however it came out.
#include "hiris/platform/cpu/host_order.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/fabric.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;
using pf::cpu::clock_set;
using pf::cpu::host_order;
using pf::cpu::whole_group;

// ---- the clock itself ------------------------------------------------------------------------

pf::cpu::shared_clock clock_of(std::uint32_t group, std::uint64_t time) {
  clock_set clock;
  clock.learn(group, whole_group, time);
  return std::make_shared<const clock_set>(std::move(clock));
}

TEST(HostOrder, KnowsWhatWasWaitedForAndNoMore) {
  host_order order;
  EXPECT_EQ(order.known(), nullptr);
  order.learn(clock_of(1, 40));
  EXPECT_TRUE(order.known()->knows({1, 5, 40}));
  EXPECT_FALSE(order.known()->knows({1, 5, 41}));
  EXPECT_FALSE(order.known()->knows({0, 5, 11}));
  order.learn(clock_of(0, 30));
  EXPECT_TRUE(order.known()->knows({0, 5, 11}));
  EXPECT_TRUE(order.known()->knows({1, 5, 40}));
  order.restart(2);
  EXPECT_TRUE(order.known()->knows({1, 5, 1000}));
  EXPECT_FALSE(order.known()->knows({2, 5, 1}));
}

TEST(HostOrder, WhatAllDidIsOneNumber) {
  clock_set clock;
  for (std::uint32_t group = 0; group < 10; ++group)
    if (group != 4) clock.learn(group, whole_group, 100 + group);
  clock.learn(4, 7, 50);  // of one thread
  clock.learn_all_before(4);
  EXPECT_EQ(clock.all_before(), 4u);
  EXPECT_EQ(clock.size(), 6u);
  EXPECT_TRUE(clock.knows({3, 0, 103}));
  EXPECT_TRUE(clock.knows({4, 7, 50}));
  EXPECT_FALSE(clock.knows({4, 8, 50}));
  clock_set other;
  other.learn(2, whole_group, 1);  // says less than the number
  other.learn(4, whole_group, 60);
  other.join(clock);
  EXPECT_EQ(other.all_before(), 4u);
  EXPECT_EQ(other.size(), 7u);
  EXPECT_TRUE(other.knows({2, 0, 102}));
  EXPECT_TRUE(other.knows({4, 8, 60}));
  EXPECT_TRUE(other.knows({9, 8, 109}));
  EXPECT_FALSE(other.knows({9, 8, 110}));
}

// ---- what is seen of programs ----------------------------------------------------------------

struct write_kernel {
  static constexpr int block_threads = 64;
  struct params {
    int* to;
  };
  struct shared {};
  static void run(const params& p, shared&) { pf::store_global(p.to + pf::thread_rank(), 1); }
};
struct read_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const int* from;
    int* wrong;
  };
  struct shared {};
  static void run(const params& p, shared&) {
    if (pf::load_global(p.from + pf::thread_rank()) != 1)
      pf::atomic_fetch_add<order::relaxed, scope::system>(p.wrong, 1);
  }
};

/// One kernel writes what another, on another stream, reads.
class HostOrderOfPrograms : public testing::Test {
 protected:
  void write(pf::stream on) { pf::launch<write_kernel>(on, 1, {memory_.data()}); }
  void read(pf::stream on) { pf::launch<read_kernel>(on, 1, {memory_.data(), wrong_.data()}); }

  /// @return What is told once both streams are through.
  std::vector<std::string> races() {
    a_.synchronize();
    b_.synchronize();
    return pf::cpu::the_fabric().take_races();
  }
  void expect_order() {
    const std::vector<std::string> told = races();
    EXPECT_TRUE(told.empty()) << told[0];
    EXPECT_EQ(wrong_.to_host()[0], 0);
  }
  void expect_race() {
    const std::vector<std::string> told = races();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told[0].find("write by (anonymous namespace)::write_kernel, block 0, thread"),
              std::string::npos)
        << told[0];
    EXPECT_NE(told[0].find("read by (anonymous namespace)::read_kernel, block 0"),
              std::string::npos)
        << told[0];
  }

  pf::device_buffer<int> memory_ = pf::device_buffer<int>(64);
  pf::device_buffer<int> wrong_ = zero();
  pf::owned_stream a_, b_;

 private:
  static pf::device_buffer<int> zero() {
    pf::device_buffer<int> made(1);
    made.fill_with(std::byte{0});
    return made;
  }
};

TEST_F(HostOrderOfPrograms, WithoutAWaitItIsARace) {
  write(a_);
  read(b_);
  expect_race();
  write(a_);  // and again, told again
  read(b_);
  expect_race();
}

TEST_F(HostOrderOfPrograms, AnUnrelatedWaitIsNoOrder) {
  const pf::owned_stream other;
  const pf::device_buffer<int> memory(64);
  write(a_);
  pf::launch<write_kernel>(other, 1, {memory.data()});
  other.synchronize();
  read(b_);
  expect_race();
}

TEST_F(HostOrderOfPrograms, EachWaitOfTheHostIsSeen) {
  const std::vector<std::function<void()>> waits = {
      [&] { a_.synchronize(); },
      [&] { pf::synchronize_device(); },
      [&] {
        while (!pf::is_idle(a_)) std::this_thread::yield();
      },
      [&] {
        pf::owned_event event;
        event.record(a_);
        event.synchronize();
      },
      [&] {
        pf::owned_event event;
        event.record(a_);
        while (hipEventQuery(event.get()) == hipErrorNotReady) std::this_thread::yield();
      },
      [&] { pf::device_buffer<int> freed(64); },  // which waits for the device first
  };
  for (std::size_t i = 0; i < waits.size(); ++i) {
    SCOPED_TRACE("wait " + std::to_string(i));
    write(a_);
    waits[i]();
    read(b_);
    expect_order();
  }
}

TEST_F(HostOrderOfPrograms, AnEventIsOrderFromItsRecordOn) {
  pf::owned_event event;
  write(a_);
  event.record(a_);
  event.block(b_);
  read(b_);
  expect_order();
  event.record(a_);
  write(a_);  // after the record
  event.block(b_);
  read(b_);
  expect_race();
}

TEST_F(HostOrderOfPrograms, AcrossDevices) {
  const pf::device_guard on(1);
  const pf::owned_stream there;
  write(a_);
  a_.synchronize();
  read(there);
  there.synchronize();
  expect_order();
  pf::owned_event event;
  pf::fill(memory_.data(), std::byte{0}, memory_.size_bytes(), a_);
  write(a_);
  event.record(a_);
  event.block(there);
  read(there);
  there.synchronize();
  expect_order();
  write(a_);
  read(there);
  there.synchronize();
  expect_race();
}

TEST_F(HostOrderOfPrograms, HostThreadsHaveOneClock) {
  std::thread([&] {
    write(a_);
    a_.synchronize();
  }).join();
  read(b_);
  expect_order();
  std::thread([&] { write(a_); }).join();  // ends before its kernel may have
  read(b_);
  expect_race();
}

TEST_F(HostOrderOfPrograms, AGraphComesAfterWhatItsLaunchDoes) {
  pf::graph writes = pf::graph::capture(a_, [&] { write(a_); });
  for (int i = 0; i < 3; ++i) {
    writes.launch(a_);
    a_.synchronize();
    read(b_);
    expect_order();
  }
  writes.launch(a_);
  read(b_);
  expect_race();
  writes.launch(a_);  // the second launch waits for the first, wherever it is
  writes.launch(b_);
  read(b_);
  expect_order();
}

TEST_F(HostOrderOfPrograms, BranchesOfAGraphAreOrderedByEvents) {
  const auto forked = [&](bool ordered) {
    pf::owned_event fork, middle, join;
    return pf::graph::capture(a_, [&] {
      fork.record(a_);
      fork.block(b_);
      write(a_);
      middle.record(a_);
      if (ordered) middle.block(b_);
      read(b_);
      join.record(b_);
      join.block(a_);
    });
  };
  forked(true).launch(a_);
  expect_order();
  forked(false).launch(a_);
  expect_race();
}

TEST_F(HostOrderOfPrograms, TheDefaultStreamWaitsForThoseThatAskIt) {
  hipStream_t waits = nullptr;
  ASSERT_EQ(hipStreamCreate(&waits), hipSuccess);
  write(waits);
  read(nullptr);
  pf::synchronize(nullptr);
  expect_order();
  write(nullptr);
  read(waits);
  pf::synchronize(waits);
  expect_order();
  write(nullptr);
  read(b_);
  pf::synchronize(nullptr);
  expect_race();
  write(waits);
  ASSERT_EQ(hipStreamDestroy(waits), hipSuccess);  // its kernel runs on
  pf::synchronize_device();
  read(b_);
  expect_order();
}

TEST_F(HostOrderOfPrograms, CopiesTakePart) {
  write(a_);
  const std::vector<int> values = memory_.to_host();  // by the default stream, which waits for none
  const std::vector<std::string> told = races();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("read by a copy or fill"), std::string::npos) << told[0];
  pf::fill(memory_.data(), std::byte{1}, memory_.size_bytes(), a_);
  a_.synchronize();
  EXPECT_EQ(memory_.to_host()[63], 0x01010101);
  EXPECT_TRUE(races().empty());
}

/// Compares and exchanges a word that is 0.
struct exchange_kernel {
  static constexpr int block_threads = 64;
  struct params {
    int* word;
    int expected;
  };
  struct shared {};
  static void run(const params& p, shared&) {
    pf::atomic_compare_exchange<order::relaxed, scope::system>(p.word, p.expected, 1);
  }
};

TEST_F(HostOrderOfPrograms, AComparisonThatFailsIsALoad) {
  for (const int expected : {7, 0}) {
    memory_.fill_with(std::byte{0});
    pf::launch<exchange_kernel>(a_, 1, {memory_.data(), expected});
    EXPECT_EQ(memory_.to_host()[1], 0);
    EXPECT_EQ(races().size(), expected == 0 ? 1u : 0u);
  }
}

TEST_F(HostOrderOfPrograms, AFunctionOfTheHostKnowsWhatTheHostDoes) {
  write(a_);
  ASSERT_EQ(hipLaunchHostFunc(
                a_, [](void*) {}, nullptr),
            hipSuccess);
  while (!pf::is_idle(a_)) std::this_thread::yield();
  read(b_);
  expect_order();
}

TEST_F(HostOrderOfPrograms, NewMemoryHasNoPast) {
  for (int i = 0; i < 4; ++i) {  // likely at the same address
    const pf::device_buffer<int> memory(64);
    pf::launch<write_kernel>(i % 2 == 0 ? a_ : b_, 1, {memory.data()});
  }
  EXPECT_TRUE(races().empty());
}

}  // namespace
