// SPDX-License-Identifier: MIT
/// @file
/// Holds an error to its code, its rank and the words that its text must have.
///
///     expect_error(errc::mismatch, 2, {"m is 4", "m is 5"}, [&] { op.plan(m); });
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "hiris/error.hpp"

namespace hiris::test {

/// Rank that is not looked at.
inline constexpr int any_rank = -2;

/// Fails the test unless `body` throws hiris::error with this code, rank and words.
inline void expect_error(errc code, int rank, const std::vector<std::string>& words,
                         const std::function<void()>& body) {
  try {
    body();
  } catch (const error& e) {
    EXPECT_STREQ(to_string(e.code()), to_string(code)) << e.what();
    if (rank != any_rank) {
      EXPECT_EQ(e.rank(), rank) << e.what();
    }
    for (const std::string& word : words)
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos)
          << "no \"" << word << "\" in: " << e.what();
    return;
  } catch (const std::exception& e) {
    ADD_FAILURE() << "expected hiris::error " << to_string(code) << ", got: " << e.what();
    return;
  }
  ADD_FAILURE() << "expected hiris::error " << to_string(code) << ", nothing was thrown";
}

}  // namespace hiris::test
