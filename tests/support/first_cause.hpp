// SPDX-License-Identifier: MIT
/// @file
/// One rank stays away, one of those that wait for it has a short budget: all others end soon, too,
/// and say what that one says.
///
///     const one_in_a_hurry plan(w.size());
///     symmetric_heap heap(w, {.data_bytes = n, .wait_budget = plan.budget(w.rank())});
///     plan.expect_one_cause(w, [&] { launch(); heap.synchronize(stream); });
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>

#include "hiris/error.hpp"
#include "hiris/world.hpp"
#include "support/device_test.hpp"
#include "support/patience.hpp"

namespace hiris::test {

struct one_in_a_hurry {
  /// @param size Ranks, at least 2.
  explicit one_in_a_hurry(int size) : silent(1), first(size == 2 ? 0 : size - 1) {}

  static std::chrono::milliseconds short_budget() {
    return patiently(std::chrono::milliseconds(100));
  }
  static std::chrono::milliseconds long_budget() { return patiently(std::chrono::seconds(120)); }
  /// A busy machine; far below the long budget.
  static std::chrono::milliseconds soon() { return patiently(std::chrono::seconds(40)); }

  std::chrono::milliseconds budget(int rank) const {
    return rank == first ? short_budget() : long_budget();
  }

  /// Collective.
  ///
  /// @param wait Launches what waits for all ranks, and throws what is recorded. Not called on the
  ///             silent rank.
  void expect_one_cause(const world& w, const std::function<void()>& wait) const {
    w.barrier("all are ready");
    std::array<char, 512> cause{};
    if (w.rank() != silent) {
      const auto start = std::chrono::steady_clock::now();
      try {
        wait();
        ADD_FAILURE() << "rank " << w.rank() << " was told nothing";
      } catch (const error& e) {
        const std::string text = e.what();
        EXPECT_STREQ(to_string(e.code()), "timed_out") << text;
        EXPECT_EQ(e.rank(), first) << text;
        const std::string told = "rank " + std::to_string(first) + " failed first and told";
        EXPECT_EQ(text.find(told) != std::string::npos, w.rank() != first) << text;
        const std::size_t at = text.find("workgroup ");
        EXPECT_NE(at, std::string::npos) << text;
        if (at != std::string::npos) text.copy(cause.data(), cause.size() - 1, at);
      }
      EXPECT_LT(std::chrono::steady_clock::now() - start, soon());
    }
    const auto causes = gather(w, cause);
    for (int r = 0; r < w.size(); ++r)
      if (r != silent) {
        EXPECT_STREQ(causes[static_cast<std::size_t>(r)].data(),
                     causes[static_cast<std::size_t>(first)].data());
      }
  }

  const int silent;
  const int first;
};

}  // namespace hiris::test
