// SPDX-License-Identifier: MIT
/// @file
/// A value as text, so that values of any type can be compared between ranks and named in errors.
///
///     detail::to_text(1.5f)   // "1.5"
#pragma once

#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

namespace hiris::detail {

/// Numbers exactly (enough digits to tell any two apart), enumerations as their number.
template <class T>
std::string to_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string(std::string_view(value));
  } else {
    std::ostringstream text;
    if constexpr (std::is_floating_point_v<T>) text.precision(std::numeric_limits<T>::max_digits10);
    text << value;
    return text.str();
  }
}

}  // namespace hiris::detail
