// SPDX-License-Identifier: MIT
#include "hiris/platform/math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using Math = test::device_test;

struct math_kernel {
  static constexpr int block_threads = 256;
  struct params {
    const float* x;
    float* y;  // [3, n]
    int n;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    for (int i = platform::thread_rank(); i < p.n; i += block_threads) {
      p.y[i] = platform::exp2(p.x[i]);
      p.y[p.n + i] = platform::log2(p.x[i] < 0 ? -p.x[i] : p.x[i]);
      p.y[2 * p.n + i] = platform::tanh(p.x[i]);
    }
  }
};

TEST_F(Math, IsWithinAFewUnitsOfTheLastPlace) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x{0, -inf, 1, -1, -126, 127};
  for (int i = -200; i <= 200; ++i) x.push_back(static_cast<float>(i) * 0.37f);
  const auto n = x.size();
  platform::device_buffer<float> in(n), out(3 * n);
  in.copy_from(x);
  platform::owned_stream stream;
  platform::launch<math_kernel>(stream, 1, {in.data(), out.data(), static_cast<int>(n)});
  stream.synchronize();
  const std::vector<float> y = out.to_host();
  const auto near = [](float got, double expected) {
    return static_cast<double>(got) == expected || std::abs(static_cast<double>(got) - expected) <=
                                                       4 * 0x1p-24 * std::abs(expected) + 1e-44;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const auto v = static_cast<double>(x[i]);
    EXPECT_TRUE(near(y[i], std::exp2(v))) << "exp2 " << v << ": " << y[i];
    EXPECT_TRUE(near(y[n + i], std::log2(std::abs(v)))) << "log2 " << v << ": " << y[n + i];
    EXPECT_TRUE(near(y[2 * n + i], std::tanh(v))) << "tanh " << v << ": " << y[2 * n + i];
  }
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[n], -inf);
}

}  // namespace
