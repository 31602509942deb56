// SPDX-License-Identifier: MIT
#include "hiris/launch.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::world;
using hiris::test::expect_error;
using hiris::test::on_ranks;

using Launch = hiris::test::device_test;

/// All blocks meet: ends only if all are resident at once.
struct meet_kernel {
  static constexpr int block_threads = 256;
  struct params {
    std::uint32_t* arrived;
    std::uint32_t* gave_up;
    std::uint64_t budget_ns;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    using namespace hiris;
    if (platform::thread_rank() != 0) return;
    platform::atomic_fetch_add<order::acq_rel, scope::agent>(p.arrived, 1u);
    const std::uint64_t start = platform::clock_ns();
    while (platform::atomic_load<order::acquire, scope::agent>(p.arrived) <
           static_cast<std::uint32_t>(platform::block_count())) {
      if (platform::clock_ns() - start > p.budget_ns) {
        platform::atomic_fetch_add<order::relaxed, scope::agent>(p.gave_up, 1u);
        return;
      }
      platform::pause();
    }
  }
};

struct other_kernel {
  static constexpr int block_threads = 1024;
  struct params {
    int unused;
  };
  struct shared {
    char bytes[40000];
  };
  static HIRIS_DEVICE void run(const params&, shared& s) { s.bytes[0] = 0; }
};

TEST_F(Launch, RanksThatShareADeviceHaveAWorkgroupAUnit) {
  const int units = hiris::platform::describe(0).compute_units;
  on_ranks(1, [&](const world& w) {
    EXPECT_EQ(hiris::resident_blocks<meet_kernel>(w),
              units * hiris::platform::blocks_per_unit<meet_kernel>());
  });
  hiris::run_ranks(3, [&](std::shared_ptr<hiris::bootstrap> boot) {
    const world w(boot, 0);
    EXPECT_EQ(hiris::resident_blocks<meet_kernel>(w), units / 3);
    EXPECT_EQ(hiris::resident_blocks<other_kernel>(w), units / 3);
    const world team = w.split(w.rank() % 2, 0);
    EXPECT_EQ(hiris::resident_blocks<meet_kernel>(team), units / 3);
  });
  hiris::run_ranks(units + 1, [&](std::shared_ptr<hiris::bootstrap> boot) {
    const world w(boot, 0);
    expect_error(errc::not_resident, w.rank(),
                 {std::to_string(units + 1) + " ranks share device 0",
                  "one a compute unit, " + std::to_string(units)},
                 [&] { hiris::require_place(w, hiris::resident_blocks<meet_kernel>(w)); });
  });
}

/// Holds its places until a kernel of another rank has run. Three workgroups fit a unit of the
/// emulator, but not one beside one of full_kernel.
struct small_kernel {
  static constexpr int block_threads = 64;
  struct params {
    std::uint32_t* other_ended;
    std::uint32_t* gave_up;
    std::uint64_t budget_ns;
  };
  struct shared {
    unsigned char bytes[20 << 10];
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    using namespace hiris;
    s.bytes[platform::thread_rank()] = 1;
    if (platform::thread_rank() != 0) return;
    const std::uint64_t start = platform::clock_ns();
    while (platform::atomic_load<order::acquire, scope::system>(p.other_ended) == 0) {
      if (platform::clock_ns() - start > p.budget_ns) {
        platform::atomic_fetch_add<order::relaxed, scope::system>(p.gave_up, 1u);
        return;
      }
      platform::pause();
    }
  }
};

/// As large as a workgroup may be, and to be run while others hold their places.
struct full_kernel {
  static constexpr int block_threads = 1024;
  struct params {
    std::uint32_t* ended;
  };
  struct shared {
    unsigned char bytes[48 << 10];
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    s.bytes[hiris::platform::thread_rank()] = 1;
    hiris::platform::block_sync();
    if (hiris::platform::thread_rank() == 0)
      hiris::platform::atomic_fetch_add<hiris::order::release, hiris::scope::system>(
          p.ended, std::uint32_t{s.bytes[1023]});
  }
};

TEST_F(Launch, ALargeKernelOfOneRankFitsBesideSmallOnesOfAnother) {
  hiris::run_ranks(2, [&](std::shared_ptr<hiris::bootstrap> boot) {
    const world w(boot, 0);
    hiris::load_kernels<small_kernel, full_kernel>(w);
    const hiris::platform::owned_stream waiting, working;
    hiris::platform::device_buffer<std::uint32_t> words(2);
    words.copy_from(std::vector<std::uint32_t>{0, 0});
    w.barrier("all are ready");
    if (w.rank() == 0) {  // one thread starts both, so that the small one comes first
      hiris::launch_resident<small_kernel>(w, waiting, hiris::resident_blocks<small_kernel>(w),
                                           {words.data(), words.data() + 1, 10'000'000'000});
      hiris::launch_resident<full_kernel>(w, working, hiris::resident_blocks<full_kernel>(w),
                                          {words.data()});
      working.synchronize();
      waiting.synchronize();
      EXPECT_EQ(words.to_host()[1], 0u) << "the large kernel found no place";
    }
    w.barrier("end");
  });
}

TEST_F(Launch, AsManyAsAllowedMeet) {
  on_ranks(1, [](const world& w) {
    const hiris::platform::owned_stream stream;
    hiris::load_kernels<meet_kernel, other_kernel>(w);
    hiris::platform::device_buffer<std::uint32_t> counts(2);
    counts.copy_from(std::vector<std::uint32_t>{0, 0});
    const int most = hiris::resident_blocks<meet_kernel>(w);
    hiris::launch_resident<meet_kernel>(w, stream, most,
                                        {counts.data(), counts.data() + 1, 20'000'000'000});
    stream.synchronize();
    EXPECT_EQ(counts.to_host(), (std::vector<std::uint32_t>{static_cast<std::uint32_t>(most), 0}));
  });
}

TEST_F(Launch, MoreThanFitAreRefusedAndNotLaunched) {
  on_ranks(1, [](const world& w) {
    const hiris::platform::owned_stream stream;
    hiris::platform::device_buffer<std::uint32_t> counts(2);
    counts.copy_from(std::vector<std::uint32_t>{0, 0});
    const int most = hiris::resident_blocks<meet_kernel>(w);
    const auto launch = [&](int blocks) {
      hiris::launch_resident<meet_kernel>(w, stream, blocks,
                                          {counts.data(), counts.data() + 1, 1'000'000});
    };
    expect_error(errc::not_resident, 0,
                 {std::to_string(most + 1) + " workgroups", "allowed are " + std::to_string(most)},
                 [&] { launch(most + 1); });
    expect_error(errc::invalid_argument, 0, {"0 workgroups", "1 or more"}, [&] { launch(0); });
    expect_error(errc::invalid_argument, 0, {"-4 workgroups"}, [&] { launch(-4); });
    stream.synchronize();
    EXPECT_EQ(counts.to_host(), (std::vector<std::uint32_t>{0, 0}));
  });
}

TEST_F(Launch, LoadingIsCollective) {
  on_ranks(4, [](const world& w) { hiris::load_kernels<meet_kernel>(w); });
}

}  // namespace
