// SPDX-License-Identifier: MIT
#include "hiris/comm/epoch.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

/// A call of an op: notes who was last, and of which epoch.
struct call_kernel {
  static constexpr int block_threads = 128;
  struct params {
    comm::epoch_words words;
    std::uint64_t* epochs;  ///< [calls] as the last workgroup saw them.
    std::uint64_t* lasts;   ///< [calls] workgroups that took themselves for the last.
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const std::uint64_t epoch = comm::next_epoch(p.words);
    if (!comm::block_is_last(p.words, epoch, platform::block_count())) return;
    if (platform::thread_rank() != 0) return;
    const std::uint64_t call = epoch - p.words.first - 1;
    p.epochs[call] = epoch;
    platform::atomic_fetch_add<order::relaxed, scope::agent>(p.lasts + call, std::uint64_t{1});
    comm::finish_epoch(p.words, epoch);
  }
};

using Epoch = test::device_test;

TEST_F(Epoch, OneWorkgroupIsLastInEveryCallAndTheCountWraps) {
  constexpr std::size_t calls = 12;
  for (const std::uint64_t first : {std::uint64_t{0}, ~std::uint64_t{0} - 4})
    for (const int blocks : {1, 3, 7}) {
      platform::device_buffer<std::uint64_t> words(2), epochs(calls), lasts(calls);
      words.copy_from(std::vector<std::uint64_t>{first, 0});
      lasts.fill_with(std::byte{0});
      const platform::owned_stream stream;
      for (std::size_t call = 0; call < calls; ++call)
        platform::launch<call_kernel>(
            stream, blocks, {{words.data(), words.data() + 1, first}, epochs.data(), lasts.data()});
      stream.synchronize();
      for (std::size_t call = 0; call < calls; ++call) {
        EXPECT_EQ(epochs.to_host()[call], first + call + 1);
        EXPECT_EQ(lasts.to_host()[call], 1u) << call;
      }
      EXPECT_EQ(words.to_host()[0], first + calls);
      EXPECT_EQ(words.to_host()[1], calls * static_cast<std::uint64_t>(blocks));
    }
}

}  // namespace
