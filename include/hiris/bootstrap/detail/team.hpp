// SPDX-License-Identifier: MIT
/// @file
/// What all set-up channels share: who is in a sub-team, and how ranks are named in errors.
///
///     auto members = detail::team_members(choices, my_color);   // ranks, in team order
#pragma once

#include <algorithm>
#include <chrono>
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

/// `cause` with the step that it ended put before it, unless it stands there already.
inline std::string in_step(std::string_view step, const std::string& cause) {
  const std::string prefix = name_step(step);
  return cause.compare(0, prefix.size(), prefix) == 0 ? cause : prefix + cause;
}

/// What a rank came with to a meeting.
struct call {
  int rank;
  std::string_view step;
  std::size_t bytes;
};

/// Text of the error when two ranks came to one meeting with different calls.
inline std::string describe_mismatch(const call& a, const call& b) {
  const auto describe = [](const call& c) {
    return "rank " + std::to_string(c.rank) + " came to step '" + std::string(c.step) + "' with " +
           std::to_string(c.bytes) + " bytes";
  };
  return describe(a) + ", but " + describe(b) + "; the call must be the same on all ranks";
}

/// Text of the error when ranks are missing.
inline std::string describe_absence(std::string_view step, const std::vector<int>& ranks,
                                    std::chrono::milliseconds limit) {
  return name_step(step) + name_ranks(ranks) + " did not come within " +
         std::to_string(limit.count()) + " ms";
}

/// Text of the error when ranks that are waited for have left.
inline std::string describe_departure(std::string_view step, const std::vector<int>& ranks) {
  return name_step(step) + name_ranks(ranks) + " left the group";
}

}  // namespace hiris::detail
