// SPDX-License-Identifier: MIT
#include "hiris/tile/view.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hiris/platform/float16.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

struct gather_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const float16* from;
    std::uint32_t* to;  ///< [9, 2, 4] chunks: of 0 .. 8 elements, one and three apart.
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int i = platform::thread_rank();
    if (i >= 18) return;
    const platform::vec16 chunk = tile::gather_chunk(p.from, i % 2 == 0 ? 1 : 3, i / 2);
    for (int w = 0; w < 4; ++w) p.to[i * 4 + w] = chunk.word[w];
  }
};

using View = test::device_test;

TEST_F(View, GathersWhatThereIsAndZerosBeyond) {
  std::vector<float16> source(24);
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i].bits = static_cast<std::uint16_t>(0xff00 + i);
  platform::device_buffer<float16> from(source.size());
  platform::device_buffer<std::uint32_t> to(18 * 4);
  from.copy_from(source);
  const platform::owned_stream stream;
  platform::launch<gather_kernel>(stream, 1, {from.data(), to.data()});
  stream.synchronize();
  const std::vector<std::uint32_t> got = to.to_host();
  for (std::size_t i = 0; i < 18; ++i)
    for (std::size_t e = 0; e < 8; ++e) {
      const auto bits = static_cast<std::uint16_t>(got[i * 4 + e / 2] >> (e % 2 * 16));
      const std::uint16_t expected =
          e < i / 2 ? source[e * (i % 2 == 0 ? 1 : 3)].bits : std::uint16_t{0};
      EXPECT_EQ(bits, expected) << i / 2 << " elements, element " << e;
    }
}

}  // namespace
