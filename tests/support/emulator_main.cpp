// SPDX-License-Identifier: MIT
// The main() of all tests on the emulator. On its hostile fabric, a race fails the test in which it
// was found; a test that expects one takes it (fabric.take_races()).
#include <gtest/gtest.h>

#include <string>

#include "hiris/platform/cpu/fabric.hpp"

namespace {

class race_listener : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    if (!hiris::platform::cpu::fabric_enabled()) return;
    for (const std::string& race : hiris::platform::cpu::the_fabric().take_races())
      ADD_FAILURE() << race;
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new race_listener);  // which it then owns
  return RUN_ALL_TESTS();
}
