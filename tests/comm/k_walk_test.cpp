// SPDX-License-Identifier: MIT
#include "hiris/comm/k_walk.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

/// Writes source, k, left and k_of_all of every step, and then -1.
struct walk_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const comm::shard* shards;
    std::int64_t* steps;
    int world, rank, depth;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    std::int64_t* to = p.steps;
    for (comm::k_walk walk(p.shards, p.world, p.rank, p.depth); !walk.done(); walk.advance())
      if (platform::thread_rank() == 0) {
        *to++ = walk.source();
        *to++ = walk.k();
        *to++ = walk.left();
        *to++ = walk.k_of_all();
      }
    if (platform::thread_rank() == 0) *to = -1;
  }
};

using Walk = test::device_test;

TEST_F(Walk, CoversEveryColumnOnceOwnFirstThenRotated) {
  constexpr int depth = 64;
  const std::vector<std::vector<std::int64_t>> cases{
      {1}, {64, 64}, {0, 65, 0, 1, 200}, {0, 0, 3}, {130, 0, 0}};
  for (const auto& k_shards : cases) {
    const int world = static_cast<int>(k_shards.size());
    const comm::geometry g = comm::make_geometry(4, k_shards, 16, depth, 128);
    platform::device_buffer<comm::shard> shards(g.shards.size());
    shards.copy_from(g.shards);
    platform::device_buffer<std::int64_t> steps(4 * 64 + 1);
    for (int rank = 0; rank < world; ++rank) {
      const platform::owned_stream stream;
      platform::launch<walk_kernel>(stream, 1, {shards.data(), steps.data(), world, rank, depth});
      stream.synchronize();
      const std::vector<std::int64_t> got = steps.to_host();
      std::size_t at = 0;
      for (int turn = 0; turn < world; ++turn) {
        const int source = (rank + turn) % world;
        const comm::shard& s = g.shards[static_cast<std::size_t>(source)];
        for (int k = 0; k < s.k_count; k += depth) {
          ASSERT_EQ(got[at++], source);
          ASSERT_EQ(got[at++], k);
          ASSERT_EQ(got[at++], s.k_count - k);
          ASSERT_EQ(got[at++], s.k_begin + k);
        }
      }
      EXPECT_EQ(got[at], -1);
    }
  }
}

}  // namespace
