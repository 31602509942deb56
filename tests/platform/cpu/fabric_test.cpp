// SPDX-License-Identifier: MIT
// The hostile fabric finds what strong memory hides: each program is right with all of its drains,
// releases, acquires and acknowledgements over all seeds, and goes wrong within a few seeds when
// one of them is left out. The same seed gives the same run.
#include "hiris/platform/cpu/fabric.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "hiris/platform/cpu/fabric_choice.hpp"
#include "hiris/platform/cpu/fabric_memory.hpp"
#include "hiris/platform/cpu/guard.hpp"
#include "hiris/platform/cpu/turns.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/fabric.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;

constexpr std::uint64_t enough_seeds = 64;

/// How the data travel.
enum class way {
  pushed,  ///< Stored to the receiver's device, read there by plain loads.
  pulled,  ///< Plainly stored on the sender's device, read from there past the caches.
  local    ///< From one workgroup to another of the same device.
};

/// What is left out.
enum class flaw {
  none,
  drain,            // of all threads, before the barrier
  drain_of_others,  // only the thread that signals drains
  barrier,          // before the signal
  release,          // the signal is relaxed
  release_scope,    // the release is the device's
  signal_scope,     // the signal itself is the device's
  acquire,          // the wait only polls
  acquire_scope,    // the acquire is the device's
  poll_scope,       // the poll is the device's
  reader_barrier,   // one thread waits, the others do not wait for it
  acknowledgement   // the buffer is written again before the reader has read it
};

struct words {
  std::uint64_t arrived;
  std::uint64_t pad[15];
  std::uint64_t taken;
  std::uint64_t more_pad[15];
  std::uint64_t data[192];
};

template <way Way, flaw Flaw>
struct messages {
  static constexpr int block_threads = 192;
  static constexpr std::uint64_t rounds = 3;
  struct params {
    words* sender;    // on the sender's device
    words* receiver;  // on the receiver's device
    std::uint64_t* wrong;
    bool sends;  // this device's part; both if local
  };
  struct shared {};
  static constexpr scope reach = Way == way::local ? scope::agent : scope::system;

  /// @return False if it never came.
  template <scope Scope>
  static bool poll(const std::uint64_t* at, std::uint64_t target) {
    const std::uint64_t start_ns = pf::clock_ns();
    while (pf::atomic_load<order::relaxed, Scope>(at) < target) {
      if (pf::clock_ns() - start_ns > 2'000'000'000) return false;
      pf::pause();
    }
    return true;
  }
  static void wait(const std::uint64_t* at, std::uint64_t target, std::uint64_t* wrong) {
    if (pf::thread_rank() == 0) {
      constexpr scope polled = Flaw == flaw::poll_scope ? scope::agent : reach;
      constexpr scope acquired = Flaw == flaw::acquire_scope ? scope::agent : reach;
      if (!poll<polled>(at, target)) pf::atomic_fetch_add<order::relaxed, scope::system>(wrong, 1);
      if (Flaw != flaw::acquire) pf::acquire_after<acquired>(at);
    }
    if (Flaw != flaw::reader_barrier) pf::block_sync();
  }
  static void tell(std::uint64_t* at) {
    if (Flaw != flaw::drain && Flaw != flaw::drain_of_others) pf::drain_stores();
    if (Flaw == flaw::drain_of_others && pf::thread_rank() == 0) pf::drain_stores();
    if (Flaw != flaw::barrier) pf::block_sync();
    if (pf::thread_rank() != 0) return;
    constexpr scope signalled = Flaw == flaw::signal_scope ? scope::agent : reach;
    if constexpr (Way == way::pushed)
      pf::publish_add<signalled>(at, 1);
    else if constexpr (Flaw == flaw::release)
      pf::atomic_fetch_add<order::relaxed, signalled>(at, 1);
    else if constexpr (Flaw == flaw::release_scope)
      pf::fence<order::release, scope::agent>(),
          pf::atomic_fetch_add<order::relaxed, signalled>(at, 1);
    else
      pf::atomic_fetch_add<order::release, signalled>(at, 1);
  }

  static void run(const params& p, shared&) {
    const int t = pf::thread_rank();
    const bool sends = Way == way::local ? pf::block_rank() == 0 : p.sends;
    std::uint64_t* const data = Way == way::pushed ? p.receiver->data : p.sender->data;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (sends) {
        if (Flaw != flaw::acknowledgement) acknowledged(p, round - 1);
        if (Way == way::pushed)
          pf::peer_store(data + t, round * 1000 + static_cast<std::uint64_t>(t));
        else
          pf::store_global(data + t, round * 1000 + static_cast<std::uint64_t>(t));
        tell(&p.receiver->arrived);
      } else {
        wait(&p.receiver->arrived, round, p.wrong);
        const int other = (t + 65) % block_threads;
        const std::uint64_t got =
            Way == way::pulled ? pf::peer_load(data + other) : pf::load_global(data + other);
        if (got != round * 1000 + static_cast<std::uint64_t>(other))
          pf::atomic_fetch_add<order::relaxed, scope::system>(p.wrong, 1);
        pf::block_sync();
        if (t == 0) pf::publish_add<scope::system>(&p.sender->taken, 1);
      }
    }
  }
  static void acknowledged(const params& p, std::uint64_t target) {
    if (pf::thread_rank() == 0) {
      if (!poll<scope::system>(&p.sender->taken, target))
        pf::atomic_fetch_add<order::relaxed, scope::system>(p.wrong, 1);
      pf::acquire_after<scope::system>(&p.sender->taken);
    }
    pf::block_sync();
  }
};

struct outcome {
  std::uint64_t wrong;             ///< Values that were not what was sent, and waits in vain.
  std::vector<std::string> races;  ///< What the detector says.
};

/// Runs a program under a seed.
template <way Way, flaw Flaw>
outcome run(std::uint64_t seed) {
  using program = messages<Way, Flaw>;
  const pf::device_guard receiver_device(1);
  const pf::device_buffer<words> receiver(1);
  const pf::device_buffer<std::uint64_t> wrong(1);
  const pf::owned_stream receives;
  const pf::device_guard sender_device(0);
  const pf::device_buffer<words> sender(1);
  const pf::owned_stream sends;
  pf::cpu::the_turns().hold();
  const auto enqueue = [&](const pf::owned_stream& on, words* from, words* to, int blocks,
                           bool is_sender) {
    pf::launch<program>(on, blocks, {from, to, wrong.data(), is_sender});
  };
  for (const auto* memory : {sender.data(), receiver.data()})
    pf::fill(const_cast<words*>(memory), std::byte{0}, sizeof(words), sends);
  pf::fill(wrong.data(), std::byte{0}, sizeof(std::uint64_t), sends);
  pf::cpu::the_turns().release(seed);
  sends.synchronize();
  pf::cpu::the_turns().hold();
  if (Way == way::local) {
    enqueue(sends, sender.data(), sender.data(), 2, true);
  } else {
    enqueue(sends, sender.data(), receiver.data(), 1, true);
    const pf::device_guard receiver_again(1);
    enqueue(receives, sender.data(), receiver.data(), 1, false);
  }
  pf::cpu::the_turns().release(seed);
  sends.synchronize();
  receives.synchronize();
  std::vector<std::string> races = pf::cpu::the_fabric().take_races();
  pf::cpu::the_turns().expect_more();
  return {wrong.to_host()[0], std::move(races)};
}

/// The right program is right under every seed, and what is wrong shows within a few.
template <way Way, flaw Flaw>
void expect_found(const char* what) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= enough_seeds && found == 0; ++seed)
    if (run<Way, Flaw>(seed).wrong != 0) found = seed;
  if (Flaw == flaw::none) {
    EXPECT_EQ(found, 0u) << what << " is right";
  } else {
    EXPECT_NE(found, 0u) << what << " is wrong, and was not found in " << enough_seeds << " seeds";
    std::printf("%s: found by seed %llu\n", what, static_cast<unsigned long long>(found));
  }
}

TEST(Fabric, RightProgramsStayRight) {
  expect_found<way::pushed, flaw::none>("pushed");
  expect_found<way::pulled, flaw::none>("pulled");
  expect_found<way::local, flaw::none>("local");
}

TEST(Fabric, StoresThatWereNotDrainedAreOvertaken) {
  expect_found<way::pushed, flaw::drain>("pushed without drains");
  expect_found<way::pushed, flaw::drain_of_others>("pushed, one thread drains");
  expect_found<way::pulled, flaw::drain_of_others>("pulled, one thread drains");
  expect_found<way::local, flaw::drain_of_others>("local, one thread drains");
}

TEST(Fabric, OtherWavesAreWaitedFor) {
  expect_found<way::pushed, flaw::barrier>("pushed without a barrier before the signal");
  expect_found<way::pulled, flaw::barrier>("pulled without a barrier before the signal");
  expect_found<way::local, flaw::barrier>("local without a barrier before the signal");
  expect_found<way::pushed, flaw::reader_barrier>("pushed without a barrier after the wait");
}

TEST(Fabric, PlainStoresStayWhereTheyAreUntilReleased) {
  expect_found<way::pulled, flaw::release>("pulled by a relaxed signal");
  expect_found<way::pulled, flaw::release_scope>("pulled, released to the device");
  expect_found<way::pulled, flaw::signal_scope>("pulled, signalled at the device's scope");
  expect_found<way::pushed, flaw::signal_scope>("pushed, signalled at the device's scope");
  expect_found<way::local, flaw::release>("local by a relaxed signal");
}

TEST(Fabric, LoadsMayBeOldUntilTheWorkgroupAcquires) {
  expect_found<way::pushed, flaw::acquire>("pushed, polled only");
  expect_found<way::pushed, flaw::acquire_scope>("pushed, acquired from the device");
  expect_found<way::pushed, flaw::poll_scope>("pushed, polled at the device's scope");
  expect_found<way::local, flaw::acquire>("local, polled only");
}

/// What is not ordered is told under every seed, whatever values came out.
template <way Way, flaw Flaw>
void expect_race(const char* what) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const std::vector<std::string> races = run<Way, Flaw>(seed).races;
    if (Flaw == flaw::none) {
      EXPECT_TRUE(races.empty()) << what << ": " << races[0];
      continue;
    }
    ASSERT_FALSE(races.empty()) << what << " with seed " << seed;
    EXPECT_NE(races[0].find("write by"), std::string::npos) << races[0];
    EXPECT_NE(races[0].find("read by"), std::string::npos) << races[0];
    EXPECT_NE(races[0].find("messages<"), races[0].rfind("messages<")) << races[0];
    EXPECT_NE(races[0].find("of an allocation on device"), std::string::npos) << races[0];
  }
}

TEST(Fabric, RacesAreToldWithBothPlaces) {
  expect_race<way::pushed, flaw::none>("pushed");
  expect_race<way::pulled, flaw::none>("pulled");
  expect_race<way::local, flaw::none>("local");
  expect_race<way::pushed, flaw::acquire>("pushed, polled only");
  expect_race<way::pushed, flaw::acquire_scope>("pushed, acquired from the device");
  expect_race<way::pulled, flaw::acquire>("pulled, polled only");
  expect_race<way::pulled, flaw::release>("pulled by a relaxed signal");
  expect_race<way::pulled, flaw::release_scope>("pulled, released to the device");
  expect_race<way::pulled, flaw::barrier>("pulled without a barrier before the signal");
  expect_race<way::pushed, flaw::reader_barrier>("pushed without a barrier after the wait");
  expect_race<way::local, flaw::release>("local by a relaxed signal");
  expect_race<way::local, flaw::acquire>("local, polled only");
  // Here a reader may be so late that all is ordered, and only the values are wrong.
  std::size_t told = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed)
    told += run<way::pushed, flaw::acknowledgement>(seed).races.size();
  EXPECT_GT(told, 0u);
}

struct plain_kernel {
  static constexpr int block_threads = 64;
  struct params {
    int* at;
    bool plainly;
  };
  struct shared {};
  static void run(const params& p, shared&) {
    if (p.plainly)
      p.at[pf::thread_rank()] = 1;
    else
      pf::store_global(p.at + pf::thread_rank(), 1);
  }
};

/// Writes guarded memory. @return What came of it.
std::vector<int> write_guarded(bool plainly) {
  const pf::device_buffer<int> memory(64);
  const pf::owned_stream stream;
  pf::cpu::the_turns().hold();
  pf::launch<plain_kernel>(stream, 1, {memory.data(), plainly});
  pf::cpu::guard_memory(memory.data());
  pf::cpu::the_turns().release(1);
  stream.synchronize();
  pf::cpu::unguard_memory();
  return memory.to_host();
}
TEST(FabricDeathTest, APlainAccessToGuardedMemoryIsTold) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EQ(write_guarded(false), std::vector<int>(64, 1));
  EXPECT_DEATH(write_guarded(true), "plain_kernel, block 0.*plain access to guarded memory");
}

/// Two workgroups write the same place. Ends the process.
[[noreturn]] void race_and_exit(bool take, int status) {
  const pf::device_buffer<int> memory(64);
  const pf::owned_stream stream;
  pf::launch<plain_kernel>(stream, 2, {memory.data(), false});
  stream.synchronize();
  if (take) pf::cpu::the_fabric().take_races();
  std::exit(status);
}
TEST(FabricDeathTest, RacesThatNobodyTookAreAnExitStatus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(race_and_exit(false, 0), testing::ExitedWithCode(66), "there were races");
  EXPECT_EXIT(race_and_exit(true, 0), testing::ExitedWithCode(0), "race: ");
  EXPECT_EXIT(race_and_exit(false, 3), testing::ExitedWithCode(3), "race: ");
}

TEST(Fabric, ABufferIsFreeOnlyWhenItsReaderSaysSo) {
  expect_found<way::pushed, flaw::acknowledgement>("pushed without acknowledgement");
  expect_found<way::pulled, flaw::acknowledgement>("pulled without acknowledgement");
}

}  // namespace
