// SPDX-License-Identifier: MIT
#include "hiris/error.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using hiris::errc;
using hiris::error;

TEST(Error, TextHasCodeRankAndSentence) {
  const error e(errc::mismatch, 3, "m is 4, but rank 0 has 5");
  EXPECT_EQ(e.code(), errc::mismatch);
  EXPECT_EQ(e.rank(), 3);
  EXPECT_STREQ(e.what(), "hiris: mismatch on rank 3: m is 4, but rank 0 has 5");
}

TEST(Error, WithoutARankTheTextNamesNone) {
  const error e(errc::unsupported, -1, "no device");
  EXPECT_EQ(e.rank(), -1);
  EXPECT_STREQ(e.what(), "hiris: unsupported: no device");
}

TEST(Error, IsARuntimeError) {
  EXPECT_THROW(throw error(errc::timed_out, 0, "late"), std::runtime_error);
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(errc::runtime_failed); ++code)
    names.insert(to_string(static_cast<errc>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(errc::runtime_failed) + 1);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(names.count("out_of_memory"), 1u);
}

}  // namespace
