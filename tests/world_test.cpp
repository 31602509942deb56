// SPDX-License-Identifier: MIT
#include "hiris/world.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hiris/bootstrap/threads.hpp"
#include "hiris/platform/runtime_device.hpp"
#include "support/altered_channel.hpp"
#include "support/errors.hpp"
#include "support/ranks.hpp"

namespace {

using hiris::errc;
using hiris::run_ranks;
using hiris::world;
using hiris::test::expect_error;
using channel = std::shared_ptr<hiris::bootstrap>;

TEST(World, KnowsItsRanks) {
  run_ranks(3, [](channel boot) {
    world w(boot);
    EXPECT_EQ(w.rank(), boot->rank());
    EXPECT_EQ(w.size(), 3);
    EXPECT_EQ(&w.channel(), boot.get());
    ASSERT_EQ(w.peers().size(), 3u);
    for (const hiris::peer_info& p : w.peers()) {
      EXPECT_TRUE(p.same_host(w.peer(w.rank())));
      EXPECT_TRUE(p.same_process(w.peer(w.rank())));
      EXPECT_EQ(p.process, getpid());
      EXPECT_NE(std::string(p.host.data()).find("boot "), std::string::npos);
    }
    w.barrier("the end");
  });
}

TEST(World, RanksShareANamedDevice) {
  run_ranks(4, [](channel boot) {
    world w(boot, 0);
    EXPECT_EQ(w.device(), 0);
    EXPECT_EQ(w.ranks_on_device(), 4);
    world half = w.split(w.rank() / 2, 0);
    EXPECT_EQ(half.ranks_on_device(), 4) << "the other team is there, too";
  });
}

TEST(World, SplitMakesAWorld) {
  run_ranks(5, [](channel boot) {
    world w(boot);
    world team = w.split(w.rank() % 2, -w.rank());
    EXPECT_EQ(team.size(), w.rank() % 2 == 0 ? 3 : 2);
    EXPECT_EQ(team.rank(), (4 - w.rank()) / 2);
    EXPECT_EQ(team.device(), w.device());
    team.require_equal("team", "color", w.rank() % 2);
    expect_error(errc::invalid_argument, 3, {"color -1", "0 and more"},
                 [&] { w.split(w.rank() == 3 ? -1 : 0, 0); });
    w.barrier("still usable");
  });
}

TEST(World, CollectivelyReturnsTheValue) {
  run_ranks(3, [](channel boot) {
    world w(boot);
    EXPECT_EQ(w.collectively("value", [&] { return 10 + w.rank(); }), 10 + w.rank());
    auto moved = w.collectively("move-only", [&] { return std::make_unique<int>(w.rank()); });
    EXPECT_EQ(*moved, w.rank());
    int here = 0;
    int& same = w.collectively("reference", [at = &here]() -> int& { return *at; });
    EXPECT_EQ(&same, &here);
    w.collectively("nothing", [] {});
  });
}

TEST(World, CollectivelyTellsTheFirstFailureToAll) {
  std::atomic<int> told = 0;
  run_ranks(4, [&](channel boot) {
    world w(boot);
    expect_error(errc::out_of_memory, 1, {"reserving: need 7, have 3"}, [&] {
      w.collectively("reserving", [&] {
        if (w.rank() == 1) throw hiris::error(errc::out_of_memory, 1, "need 7, have 3");
        if (w.rank() == 3) throw std::runtime_error("later");
        return 0;
      });
    });
    expect_error(errc::runtime_failed, 0, {"plain"},
                 [&] { w.collectively("step", [] { throw std::logic_error("plain"); }); });
    expect_error(errc::out_of_memory, 2, {"host memory"}, [&] {
      w.collectively("step", [&] {
        if (w.rank() == 2) throw std::bad_alloc();
      });
    });
    expect_error(errc::runtime_failed, 3, {" ..."}, [&] {
      w.collectively("step", [&] {
        if (w.rank() == 3) throw std::runtime_error(std::string(5000, 'x'));
      });
    });
    w.barrier("still usable");
    ++told;
  });
  EXPECT_EQ(told, 4);
}

TEST(World, RequireEqual) {
  enum class color { red, green };
  std::atomic<int> told = 0;
  run_ranks(3, [&](channel boot) {
    world w(boot);
    const bool odd = w.rank() == 2;
    w.require_equal("plan", "m", 7);
    w.require_equal("plan", "name", std::string(3000, 'a'));
    expect_error(errc::mismatch, 2, {"plan: m is 4 on rank 0, but m is 5 on rank 2"},
                 [&] { w.require_equal("plan", "m", odd ? 5 : 4); });
    expect_error(errc::mismatch, 2, {"dtype is fp16", "dtype is bf16"},
                 [&] { w.require_equal("plan", "dtype", odd ? "bf16" : "fp16"); });
    expect_error(errc::mismatch, 2, {"c is 0", "c is 1"},
                 [&] { w.require_equal("plan", "c", odd ? color::green : color::red); });
    expect_error(errc::mismatch, 2, {"alpha is 1 on", "alpha is 1.0000001"},
                 [&] { w.require_equal("plan", "alpha", odd ? 1.0000001192f : 1.0f); });
    expect_error(errc::mismatch, 2, {"long"}, [&] {
      w.require_equal("plan", "long", std::string(2000, 'a') + (odd ? "b" : "c"));
    });
    expect_error(errc::mismatch, 2, {"m is 4", "n is 4"},
                 [&] { w.require_equal("plan", odd ? "n" : "m", 4); });
    w.barrier("still usable");
    ++told;
  });
  EXPECT_EQ(told, 3);
}

TEST(World, ChoosesDevicesInTurnAndMakesThemCurrent) {
  const int devices = hiris::platform::device_count();
  if (devices == 0) GTEST_SKIP() << "no device";
  run_ranks(devices + 1, [&](channel boot) {
    world w(boot);
    EXPECT_EQ(w.device(), w.rank() % devices);
    EXPECT_EQ(hiris::platform::current_device(), w.device());
    EXPECT_EQ(w.ranks_on_device(), w.device() == 0 ? 2 : 1);
    EXPECT_EQ(w.peer(0).uuid, w.peer(devices).uuid);
    EXPECT_EQ(w.peer(0).uuid, hiris::platform::describe(0).uuid);
  });
}

TEST(World, DeviceThatIsNotThereIsToldToAll) {
  if (hiris::platform::device_count() == 0) GTEST_SKIP() << "no device";
  std::atomic<int> told = 0;
  run_ranks(3, [&](channel boot) {
    for (const int bad : {99, -2})
      expect_error(errc::invalid_argument, 1, {"device " + std::to_string(bad), "0 to "},
                   [&] { world w(boot, boot->rank() == 1 ? bad : 0); });
    ++told;
  });
  EXPECT_EQ(told, 3);
}

TEST(World, AcrossProcesses) {
  hiris::test::run_process_ranks(3, [](channel boot) {
    world w(boot, 0);
    for (int r = 0; r < 3; ++r) {
      EXPECT_TRUE(w.peer(r).same_host(w.peer(w.rank())));
      EXPECT_EQ(w.peer(r).same_process(w.peer(w.rank())), r == w.rank());
    }
    expect_error(errc::mismatch, 1, {"m is 0", "m is 1"},
                 [&] { w.require_equal("plan", "m", w.rank()); });
    world team = w.split(w.rank() == 0 ? 0 : 1, -w.rank());
    EXPECT_EQ(team.rank(), w.rank() == 1 ? 1 : 0);
    EXPECT_EQ(team.peer(team.rank()).process, getpid());
  });
}

TEST(World, NoDeviceIsToldToAll) {
  if (hiris::test::is_process_rank()) {
    const auto boot = hiris::join_environment();
    expect_error(errc::unsupported, 0, {"no device"}, [&] { world w(boot); });
    boot->barrier("the end");
    return;
  }
  const auto outcome = hiris::test::launch_this_test(
      2, {"HIRIS_CPU_DEVICES=0", "CUDA_VISIBLE_DEVICES=-1", "HIP_VISIBLE_DEVICES=-1"});
  EXPECT_TRUE(outcome.ok()) << outcome.text;
}

/// What rank 2 of 3 says of itself, as all ranks hear it, makes the world throw there.
void expect_refused(const std::function<void(hiris::peer_info&)>& alter, errc code,
                    const std::vector<std::string>& words) {
  std::atomic<int> told = 0;
  run_ranks(3, [&](channel boot) {
    const auto changed =
        hiris::test::altered<hiris::peer_info>(boot, "exchange of hosts and devices", 2, alter);
    expect_error(code, 2, words, [&] { world w(changed, 0); });
    ++told;
  });
  EXPECT_EQ(told, 3);
}

TEST(World, RanksOnAnotherHostAreRefused) {
  expect_refused([](hiris::peer_info& p) { p.host[0] = '?'; }, errc::unsupported,
                 {"host ?", "rank 0 on", "one host"});
}

TEST(World, WhatNoRankSaysOfItselfIsRefused) {
  expect_refused(
      [](hiris::peer_info& p) { p.host.fill('h'); }, errc::mismatch,
      {"step 'exchange of hosts and devices'",
       std::string(sizeof hiris::peer_info::host, 'h') + "'", "a text that ends within its field"});
  expect_refused([](hiris::peer_info& p) { p.device = -7; }, errc::mismatch,
                 {"device -7", "0 or more"});
}

TEST(World, NullBootstrap) {
  expect_error(errc::invalid_argument, -1, {"null"}, [] { world w(nullptr); });
}

}  // namespace
