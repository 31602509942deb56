// SPDX-License-Identifier: MIT
/// @file
/// What all set-up channels share: who is in a sub-team, and how ranks are named in errors.
///
///     auto members = detail::team_members(choices, my_color);   // ranks, in team order
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hiris::detail {

/// What one rank passed to `split`. Trivially copyable: it is gathered as bytes.
struct split_choice {
  int color;
  int key;
};

/// Ranks of the team of `color`, ordered by key, then by rank.
///
/// @param choices [size], in rank order.
inline std::vector<int> team_members(const std::vector<split_choice>& choices, int color) {
  std::vector<int> members;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i].color == color) members.push_back(static_cast<int>(i));
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
  });
  return members;
}

/// "rank 3" or "ranks 0, 2, 5"; at most eight are listed.
inline std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  constexpr std::size_t shown = 8;
  for (std::size_t i = 0; i < std::min(ranks.size(), shown); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > shown) text += " and " + std::to_string(ranks.size() - shown) + " more";
  return text;
}

/// "step 'exchange of handles': ".
inline std::string name_step(std::string_view step) { return "step '" + std::string(step) + "': "; }

}  // namespace hiris::detail
