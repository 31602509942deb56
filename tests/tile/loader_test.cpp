// SPDX-License-Identifier: MIT
#include "hiris/tile/loader.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hiris/mma/shared_layout.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;

constexpr int lines = 64, depth = 64, threads = 256;
using shape = tile::load_shape<lines, depth, threads>;
using layout = mma::swizzled<lines, depth>;

/// Loads a strip into shared memory and writes it out as [lines, depth].
template <class Loader>
struct load_kernel {
  static constexpr int block_threads = threads;
  struct params {
    tile::strip<float16> from;
    std::uint16_t* to;
    int* whole;
  };
  struct shared {
    alignas(16) platform::vec16 stage[layout::slots];
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    Loader loader;
    loader.prefetch(p.from);
    loader.template commit<layout>(s.stage);
    platform::block_sync();
    for (int i = platform::thread_rank(); i < layout::slots; i += threads)
      for (int e = 0; e < 8; ++e)
        p.to[i * 8 + e] = static_cast<std::uint16_t>(
            s.stage[layout::slot(i / layout::chunks, i % layout::chunks)].word[e / 2] >>
            (e % 2 * 16));
    if (platform::thread_rank() == 0) *p.whole = p.from.whole(depth) ? 1 : 0;
  }
};

/// @param transposed Whether the source is [depth, lines].
/// @param stride     Elements from run to run.
/// @param shift      Elements that the first is off a 16-byte boundary.
template <class Loader>
void expect_loaded(bool transposed, int real_lines, int k_count, int stride, int shift,
                   bool expect_whole) {
  const std::string what = std::to_string(real_lines) + " lines " + std::to_string(k_count) +
                           " k stride " + std::to_string(stride) + " shift " +
                           std::to_string(shift) + (transposed ? " transposed" : "");
  // As much memory as the strip has and not an element more, so that a checker sees a read beyond.
  const int runs = transposed ? k_count : real_lines;
  const int last = transposed ? real_lines : k_count;
  const int elems = shift + (runs - 1) * stride + last;
  std::vector<float16> source(static_cast<std::size_t>(elems));
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i].bits = static_cast<std::uint16_t>(i * 40503u + 1u);
  platform::device_buffer<float16> from(source.size());
  platform::device_buffer<std::uint16_t> to(std::size_t{lines} * depth);
  platform::device_buffer<int> whole(1);
  from.copy_from(source);
  to.fill_with(std::byte{0xee});
  const platform::owned_stream stream;
  platform::launch<load_kernel<Loader>>(
      stream, 1, {{from.data() + shift, stride, real_lines, k_count}, to.data(), whole.data()});
  stream.synchronize();
  EXPECT_EQ(whole.to_host()[0], expect_whole ? 1 : 0) << what;
  const std::vector<std::uint16_t> got = to.to_host();
  for (int line = 0; line < real_lines; ++line)
    for (int k = 0; k < depth; ++k) {
      const int at = shift + (transposed ? k * stride + line : line * stride + k);
      const std::uint16_t expected =
          k < k_count ? source[static_cast<std::size_t>(at)].bits : std::uint16_t{0};
      ASSERT_EQ(got[static_cast<std::size_t>(line * depth + k)], expected)
          << what << " at line " << line << " k " << k;
    }
}

using Loader = test::device_test;
using rows = tile::row_loader<float16, shape>;
using transposing = tile::transposing_loader<float16, shape>;

TEST_F(Loader, RowsWholeAndMasked) {
  expect_loaded<rows>(false, 64, 64, 64, 0, true);
  expect_loaded<rows>(false, 64, 64, 104, 8, true);
  expect_loaded<rows>(false, 1, 64, 64, 0, true);
  expect_loaded<rows>(false, 63, 64, 72, 0, true);
  expect_loaded<rows>(false, 33, 1, 64, 0, false);
  expect_loaded<rows>(false, 64, 63, 63, 0, false);
  expect_loaded<rows>(false, 64, 57, 64, 0, false);
  expect_loaded<rows>(false, 64, 64, 65, 0, false);
  expect_loaded<rows>(false, 5, 64, 64, 1, false);
}

TEST_F(Loader, TransposedWholeAndMasked) {
  expect_loaded<transposing>(true, 64, 64, 64, 0, true);
  expect_loaded<transposing>(true, 64, 64, 72, 8, true);
  expect_loaded<transposing>(true, 8, 64, 64, 0, true);
  expect_loaded<transposing>(true, 40, 64, 40, 0, true);
  expect_loaded<transposing>(true, 64, 1, 64, 0, false);
  expect_loaded<transposing>(true, 64, 63, 64, 0, false);
  expect_loaded<transposing>(true, 7, 64, 7, 0, false);
  expect_loaded<transposing>(true, 1, 9, 1, 0, false);
  expect_loaded<transposing>(true, 64, 64, 64, 3, false);
}

/// More k than a step has is the same as a whole one: the rest is another step's.
TEST_F(Loader, LongShardsAreLoadedAStepAtATime) { expect_loaded<rows>(false, 9, 64, 200, 0, true); }

}  // namespace
