// SPDX-License-Identifier: MIT
#include "hiris/error.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using hiris::errc;

TEST(Error, TextHasCodeRankAndSentence) {
  const hiris::error e(errc::out_of_memory, 3, "need 10 bytes, have 5");
  EXPECT_STREQ(e.what(), "hiris: out_of_memory on rank 3: need 10 bytes, have 5");
  EXPECT_EQ(e.code(), errc::out_of_memory);
  EXPECT_EQ(e.rank(), 3);
}

TEST(Error, NoRankIsNotMentioned) {
  const hiris::error e(errc::unsupported, -1, "there is no device");
  EXPECT_STREQ(e.what(), "hiris: unsupported: there is no device");
}

TEST(Error, EveryCodeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (errc code :
       {errc::invalid_argument, errc::mismatch, errc::not_symmetric, errc::out_of_memory,
        errc::not_resident, errc::unsupported, errc::bootstrap_failed, errc::mapping_failed,
        errc::timed_out, errc::aborted, errc::corrupted, errc::runtime_failed})
    names.insert(hiris::to_string(code));
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_STREQ(hiris::to_string(static_cast<errc>(200)), "unknown");
}

}  // namespace
