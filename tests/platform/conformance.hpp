// SPDX-License-Identifier: MIT
/// @file
/// What the suite that holds all backends needs: a fixture, and kernels that fill an array.
///
/// The tests are written with names of hiris::platform only and run on whatever device there is.
///
///     class Ranks : public hiris::test::conformance {};
///     TEST_F(Ranks, AreDense) {
///       const std::vector<int> out = run<rank_kernel<100>, int>(3, 300);  // 3 blocks, 300 results
///       EXPECT_EQ(out[299], 99);
///     }
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::test {

/// Parameters of a kernel that writes `out` and may read `in`.
template <class Out, class In = Out>
struct array_params {
  Out* out;
  const In* in;
  int n_elems;
};

class conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    if (platform::device_count() == 0) GTEST_SKIP() << "no device of this platform";
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_FALSE(platform::has_last_error());
  }

  /// Runs K over `blocks` blocks; `out` begins as bytes 0xcd.
  template <class K, class Out, class In = Out>
  static std::vector<Out> run(int blocks, int n_elems, const std::vector<In>& in = {}) {
    platform::owned_stream stream;
    platform::device_buffer<Out> out(static_cast<std::size_t>(n_elems));
    platform::device_buffer<In> source(in.size());
    out.fill_with(std::byte{0xcd});
    if (!in.empty()) source.copy_from(in);
    platform::launch<K>(stream, blocks, typename K::params{out.data(), source.data(), n_elems});
    stream.synchronize();
    return out.to_host();
  }
};

}  // namespace hiris::test
