// SPDX-License-Identifier: MIT
/// @file
/// What the ranks run on, for the line above a table.
///
///     print_header(options, kind_of_device(world), number_of_devices(world));
#pragma once

#include <cstddef>
#include <string>

#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace example {

/// Different devices that the ranks use.
inline int number_of_devices(const hiris::world& w) {
  int n = 0;
  for (std::size_t r = 0; r < w.peers().size(); ++r) {
    bool seen = false;
    for (std::size_t q = 0; q < r; ++q) seen = seen || w.peers()[q].same_device(w.peers()[r]);
    n += seen ? 0 : 1;
  }
  return n;
}

/// Name of this rank's device, without the number that some platforms end it with.
inline std::string kind_of_device(const hiris::world& w) {
  std::string name = hiris::platform::describe(w.device()).name;
  const std::string ordinal = " " + std::to_string(w.device());
  if (name.ends_with(ordinal)) name.resize(name.size() - ordinal.size());
  return name;
}

}  // namespace example
