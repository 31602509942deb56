// SPDX-License-Identifier: MIT
/// @file
/// The vendor's all-gather for a bench, where the library was found when it was built: library.cpp
/// or no_library.cpp is linked.
///
///     if (const auto library = make_library(world)) measure(library->all_gather);
#pragma once

#include <memory>

#include "hiris/ops/flash_decode_state.hpp"
#include "hiris/world.hpp"

namespace hiris::bench {

/// Keeps alive what its all-gather needs.
struct library {
  virtual ~library() = default;
  stream_all_gather all_gather;
};

/// Null where there is no library, or where ranks share a device. Collective.
std::unique_ptr<library> make_library(const world& w);

}  // namespace hiris::bench
