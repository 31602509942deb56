// SPDX-License-Identifier: MIT
/// @file
/// How long a step of set-up may take: the variable HIRIS_TIMEOUT_S, or 60 seconds.
///
///     HIRIS_TIMEOUT_S=600 ./my_program   # on a slow machine, or under a sanitizer
#pragma once

#include <chrono>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/variables.hpp"

namespace hiris {

/// Longest that a step of set-up waits for other ranks, where the caller does not say.
///
/// Caller  host.
/// @throws errc::invalid_argument naming HIRIS_TIMEOUT_S if it is not a number from 1 to 86400.
inline std::chrono::milliseconds time_limit_from_environment() {
  const auto seconds = detail::number("HIRIS_TIMEOUT_S", 1, 86400);
  return seconds ? std::chrono::milliseconds(*seconds * 1000) : default_time_limit;
}

}  // namespace hiris
