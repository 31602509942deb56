// SPDX-License-Identifier: MIT
/// @file
/// Variables of the environment, with errors that name the variable, its value and what is allowed.
///
///     const auto port = detail::number("HIRIS_PORT", 1, 65535);   // nothing if it is not set
#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "hiris/error.hpp"

namespace hiris::detail {

/// A variable of the environment; one that is set to nothing counts as not set.
inline std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

/// A whole number in a variable.
/// @throws errc::invalid_argument naming variable, value and range for anything else.
inline std::optional<long long> number(const char* name, long long low, long long high) {
  const std::optional<std::string> text = variable(name);
  if (!text) return std::nullopt;
  long long value = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failure != std::errc() || end != text->data() + text->size() || value < low || value > high)
    throw error(errc::invalid_argument, -1,
                std::string(name) + " is '" + *text + "'; allowed are whole numbers from " +
                    std::to_string(low) + " to " + std::to_string(high));
  return value;
}

}  // namespace hiris::detail
