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
#include "support/errors.hpp"
#include "support/patience.hpp"

namespace hiris::test {

struct one_in_a_hurry {
  /// @param size Ranks, at least 2.
  explicit one_in_a_hurry(int size) : silent(1), first(size == 2 ? 0 : size - 1) {}

  /// Also what a call that follows must do with, on cores that other tests keep busy.
  static std::chrono::milliseconds short_budget() {
    return patiently(std::chrono::milliseconds(300));
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

/// Of three ranks that have made a call, the last one sleeps. The wait of the first for it runs
/// out, and then that of the second, which is told. Both have another call behind that one on their
/// streams, with other data. When the last one wakes, all that it needs for its own call is there:
/// it waits for nothing, and learns of nothing. What it makes of that has to be right; of a further
/// call it has to say that it failed.
struct last_one_sleeps {
  static constexpr int size = 3;

  static std::chrono::milliseconds budget(int rank) {
    return rank == 0 ? one_in_a_hurry::short_budget() : one_in_a_hurry::long_budget();
  }

  /// Collective.
  ///
  /// @param launch(n)   Puts a call with the data of number n on the stream and waits for the
  ///                    stream, but asks for no fault: a graph.
  /// @param result      Throws what is recorded; else compares with the data of number 0.
  /// @param needs_peers Whether a call ends only when its peers say so.
  static void expect_the_truth(const world& w, const std::function<void(int)>& launch,
                               const std::function<void()>& result, bool needs_peers) {
    launch(0);
    result();
    for (int rank = 0; rank < size; ++rank) {
      w.barrier("it is this rank's turn");
      if (rank != w.rank()) continue;
      const bool fails = rank < 2 || needs_peers;
      launch(0);
      if (!fails) result();
      launch(1);
      expect_error(errc::timed_out, any_rank, {}, result);
    }
    w.barrier("all have had theirs");
  }
};

}  // namespace hiris::test
