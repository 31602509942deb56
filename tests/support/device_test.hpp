// SPDX-License-Identifier: MIT
/// @file
/// Tests that need a device: skipped, and saying so, where there is none.
///
///     using Heap = hiris::test::device_test;
///     TEST_F(Heap, Works) {
///       hiris::test::on_ranks(4, [](const hiris::world& w) { ... EXPECT_EQ ... });
///     }
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "hiris/bootstrap/threads.hpp"
#include "hiris/bootstrap/time_limit.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "support/patience.hpp"

namespace hiris::test {

/// Skips where there is no device. Holds each test to leaving no error in the runtime.
class device_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (platform::device_count() == 0) GTEST_SKIP() << "no device of this platform";
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_FALSE(platform::has_last_error());
    }
  }
};

/// Runs `f(world)` on `n` thread ranks; an exception on any fails the caller.
inline void on_ranks(int n, const std::function<void(const world&)>& f) {
  run_ranks(
      n,
      [&](std::shared_ptr<bootstrap> boot) {
        const world w(std::move(boot));
        f(w);
      },
      patiently(time_limit_from_environment()));
}

/// Gathers one value a rank, on every rank. Collective.
template <class T>
std::vector<T> gather(const world& w, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(w.size()));
  w.channel().all_gather(&mine, all.data(), sizeof mine, "gather of a test");
  return all;
}

/// Copies device memory to the host.
template <class T>
std::vector<T> to_host(const T* from, std::int64_t n_elems) {
  std::vector<T> values(static_cast<std::size_t>(n_elems));
  platform::owned_stream stream;
  platform::copy(values.data(), from, values.size() * sizeof(T), stream);
  stream.synchronize();
  return values;
}

/// Copies host values to device memory.
template <class T>
void to_device(T* to, const std::vector<T>& values) {
  platform::owned_stream stream;
  platform::copy(to, values.data(), values.size() * sizeof(T), stream);
  stream.synchronize();
}

}  // namespace hiris::test
