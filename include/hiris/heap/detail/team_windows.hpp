// SPDX-License-Identifier: MIT
/// @file
/// Windows tables of sub-teams, made once a team and kept.
///
///     team_windows teams;
///     const window* table = teams.of(members, [&] { return memory.make_windows(map, members); });
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hiris/bootstrap/detail/received.hpp"
#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/world.hpp"

namespace hiris::detail {

/// Ranks of a heap's world that make up `team`, in team order. Collective over the team.
///
/// @param heap_id   Tells heaps apart; the same on all ranks of one heap.
/// @param heap_rank This rank in the heap's world.
/// @param heap_size Ranks of that world.
/// @throws errc::mismatch on every rank of the team if its ranks do not share one heap.
inline std::vector<int> members_of(const world& team, const std::array<std::byte, 16>& heap_id,
                                   int heap_rank, int heap_size) {
  struct member {
    std::array<std::byte, 16> heap_id;
    std::int32_t heap_rank;
  };
  const member mine{heap_id, heap_rank};
  std::vector<member> all(static_cast<std::size_t>(team.size()));
  constexpr const char* step = "context of a team";
  team.channel().all_gather(&mine, all.data(), sizeof mine, step);
  std::vector<int> members;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].heap_id != all[0].heap_id)
      throw error(
          errc::mismatch, static_cast<int>(r),
          "this rank of the team has another heap than rank 0 of the team; allowed are teams "
          "of ranks that share one symmetric heap");
    const int member = all[r].heap_rank;
    if (member < 0 || member >= heap_size ||
        std::find(members.begin(), members.end(), member) != members.end())
      throw told_wrongly(static_cast<int>(r), step,
                         "that it is rank " + std::to_string(member) + " of the heap",
                         "0 to " + std::to_string(heap_size - 1) + ", each once");
    members.push_back(member);
  }
  return members;
}

/// The tables of one peer map.
class team_windows {
 public:
  template <class Make>
  const window* of(const std::vector<int>& members, Make&& make) {
    const auto known = tables_.find(members);
    if (known != tables_.end()) return known->second.get();
    return tables_.emplace(members, std::forward<Make>(make)()).first->second.get();
  }
  void clear() noexcept { tables_.clear(); }

 private:
  std::map<std::vector<int>, std::shared_ptr<const window>> tables_;
};

}  // namespace hiris::detail
