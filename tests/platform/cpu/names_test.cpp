// SPDX-License-Identifier: MIT
// Which name a report finds for an address, and for how long; which rank a thread speaks for.
#include "hiris/platform/cpu/names.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "hiris/platform/names.hpp"
#include "hiris/platform/runtime.hpp"

namespace {

using namespace hiris;
using platform::cpu::the_names;

std::string say(std::uint64_t byte) { return "byte " + std::to_string(byte); }

TEST(EmulatorNames, LastAsLongAsTheirOwner) {
  char memory[64] = {};
  platform::memory_name outer(memory, 48, say);
  platform::memory_name inner(memory + 16, 16, [](std::uint64_t byte) { return say(1000 + byte); });
  EXPECT_EQ(the_names().describe(memory + 5), "byte 5");
  EXPECT_EQ(the_names().describe(memory + 18), "byte 1002") << "the name given last counts";
  EXPECT_EQ(the_names().describe(memory + 32), "byte 32");
  EXPECT_EQ(the_names().describe(memory + 48), "unknown memory");
  inner = {};
  EXPECT_EQ(the_names().describe(memory + 18), "byte 18");
  platform::memory_name moved(std::move(outer));
  outer = {};
  EXPECT_EQ(the_names().describe(memory + 5), "byte 5");
  moved = std::move(outer);
  EXPECT_EQ(the_names().describe(memory + 5), "unknown memory");
}

TEST(EmulatorNames, MemoryWithoutANameIsOfAnAllocation) {
  const platform::device_guard on(1);
  const platform::device_buffer<char> memory(100);
  const std::string text = the_names().describe(memory.data() + 7);
  EXPECT_EQ(text.find("byte 7 of "), 0u) << text;
  EXPECT_NE(text.find("of an allocation on device 1"), std::string::npos) << text;
}

TEST(EmulatorNames, AThreadSpeaksForOneRank) {
  const int before = platform::speak_for_rank(3);
  std::thread([] { EXPECT_EQ(platform::speak_for_rank(7), -1); }).join();
  EXPECT_EQ(platform::speak_for_rank(before), 3);
}

}  // namespace
