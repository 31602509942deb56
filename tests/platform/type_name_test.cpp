// SPDX-License-Identifier: MIT
#include "hiris/platform/type_name.hpp"

#include <gtest/gtest.h>

#include <string>
#include <typeinfo>

namespace {

template <class T>
struct named {};

TEST(TypeName, IsThatOfTheSource) {
  EXPECT_EQ(hiris::platform::readable_name(typeid(double)), "double");
  const std::string name = hiris::platform::readable_name(typeid(named<int>));
  EXPECT_NE(name.find("named<int>"), std::string::npos) << name;
}

}  // namespace
