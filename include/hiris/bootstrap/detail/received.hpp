// SPDX-License-Identifier: MIT
/// @file
/// What a peer told, before anything relies on it.
///
/// Who holds the token is let in, but may run another build, or have gone wrong: a number is
/// compared with what this rank knows, a text is read only as far as its field reaches, and what no
/// rank of this build tells is an error. It is judged from what all ranks were told, so that all
/// come to the same end.
///
///     if (told.untold > blocks)
///       throw told_wrongly(rank, step, to_text(told.untold) + " blocks", "0 to 3");
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "hiris/bootstrap/detail/team.hpp"
#include "hiris/error.hpp"

namespace hiris::detail {

/// The text in a field of fixed size: up to its first zero, or all of it.
template <std::size_t N>
std::string received_text(const std::array<char, N>& field) {
  return {field.begin(), std::find(field.begin(), field.end(), '\0')};
}

/// Whether a field of fixed size holds a text that ends.
template <std::size_t N>
bool is_text(const std::array<char, N>& field) {
  return std::find(field.begin(), field.end(), '\0') != field.end();
}

/// What is allowed of such a field, in an error.
inline constexpr const char* text_rule = "a text that ends within its field";

/// The error for what no rank of this build tells.
///
/// @param rank    Who told it.
/// @param step    The meeting in which it was told.
/// @param what    The value, and what it is.
/// @param allowed What would have been.
inline error told_wrongly(int rank, std::string_view step, const std::string& what,
                          const std::string& allowed) {
  return {errc::mismatch, rank,
          name_step(step) + "it told " + what + "; allowed is " + allowed +
              ". It runs another build, or has gone wrong"};
}

}  // namespace hiris::detail
