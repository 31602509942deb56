// SPDX-License-Identifier: MIT
// Names have one owner, and a text is made only for a report (tests/platform/cpu/ has reports).
#include "hiris/platform/names.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using namespace hiris;

static_assert(!std::is_copy_constructible_v<platform::memory_name>);
static_assert(std::is_nothrow_move_constructible_v<platform::memory_name>);
static_assert(std::is_nothrow_move_assignable_v<platform::memory_name>);

TEST(Names, CostNoText) {
  char memory[64] = {};
  bool asked = false;
  const auto text = [&](std::uint64_t) {
    asked = true;
    return std::string("memory");
  };
  platform::memory_name first(memory, sizeof memory, text);
  platform::memory_name second(std::move(first));
  first = std::move(second);
  const int before = platform::speak_for_rank(3);
  platform::speak_for_rank(before);
  EXPECT_FALSE(asked);
}

}  // namespace
