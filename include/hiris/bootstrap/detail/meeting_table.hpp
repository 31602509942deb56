// SPDX-License-Identifier: MIT
/// @file
/// Who has come to which meeting: the state behind the server of the TCP channel, without sockets.
///
///     meeting_table table(size, time_limit);
///     meeting_result result = table.take(rank, std::move(request));   // replies that are now due
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hiris/bootstrap/detail/socket.hpp"
#include "hiris/bootstrap/detail/team.hpp"
#include "hiris/bootstrap/detail/wire.hpp"

namespace hiris::detail {

/// Number of a team in a request to leave that means every team.
inline constexpr std::uint64_t all_teams = ~std::uint64_t{0};

/// A request as it came from a rank.
struct request {
  request_header header;
  std::string step;
  std::string payload;
};

/// A reply as it goes to a rank.
struct reply_parts {
  reply_status status;
  int rank;
  std::string text;
  std::uint64_t team;
  std::string payload;
};

struct delivery {
  int rank;
  reply_parts reply;
};

/// What follows from a request: replies, or the end of the channel.
struct meeting_result {
  bool failed = false;
  int rank = -1;
  std::string text;
  std::vector<delivery> deliveries;
};

class meeting_table {
 public:
  meeting_table(int size, std::chrono::milliseconds time_limit) : time_limit_(time_limit) {
    team all;
    for (int r = 0; r < size; ++r) all.members.push_back({r, false, std::nullopt});
    teams_.emplace(0, std::move(all));
  }

  /// A rank has sent a request.
  meeting_result take(int rank, request r) {
    if (r.header.kind == request_kind::leave) return leave(rank, r.header.team);
    const auto found = teams_.find(r.header.team);
    if (found == teams_.end()) return nonsense(rank);
    team& t = found->second;
    member* const m = t.find(rank);
    const bool is_split = r.header.kind == request_kind::split;
    if (m == nullptr || m->left || m->came ||
        (!is_split && r.header.kind != request_kind::gather) ||
        (is_split && r.payload.size() != sizeof(split_choice)))
      return nonsense(rank);
    if (t.ranks([](const member& x) { return x.came.has_value(); }).empty())
      t.end = deadline_in(time_limit_);
    m->came = std::move(r);
    if (!t.ranks([](const member& x) { return !x.came; }).empty()) return departure(t);
    meeting_result result = conclude(t);
    for (member& x : t.members) x.came.reset();
    return result;
  }

  /// When the first meeting runs out.
  deadline next_deadline() const {
    deadline next = deadline::max();
    for (const auto& [id, t] : teams_)
      if (t.waited_for()) next = std::min(next, t.end);
    return next;
  }

  /// The failure of a meeting that ran out by `now`, if there is one.
  std::optional<meeting_result> expired(deadline now) const {
    for (const auto& [id, t] : teams_) {
      if (!t.waited_for() || now < t.end) continue;
      const std::vector<int> late = t.ranks([](const member& m) { return !m.came; });
      return failure(late.front(), describe_absence(t.step(), late, time_limit_));
    }
    return std::nullopt;
  }

  /// Ends all meetings.
  void clear() { teams_.clear(); }

 private:
  struct member {
    int rank;
    bool left;
    std::optional<request> came;  ///< Its part in the present meeting.
  };
  struct team {
    std::vector<member> members;
    deadline end{};

    member* find(int rank) {
      const auto at = std::find_if(members.begin(), members.end(),
                                   [&](const member& m) { return m.rank == rank; });
      return at == members.end() ? nullptr : &*at;
    }
    template <class Condition>
    std::vector<int> ranks(Condition condition) const {
      std::vector<int> found;
      for (const member& m : members)
        if (condition(m)) found.push_back(m.rank);
      return found;
    }
    bool waited_for() const {
      return std::any_of(members.begin(), members.end(),
                         [](const member& m) { return m.came.has_value(); });
    }
    /// Step of the first rank that came. @pre waited_for()
    const std::string& step() const {
      return std::find_if(members.begin(), members.end(),
                          [](const member& m) { return m.came.has_value(); })
          ->came->step;
    }
  };

  static meeting_result failure(int rank, std::string text) {
    return {true, rank, std::move(text), {}};
  }
  static meeting_result nonsense(int rank) {
    return failure(rank, "rank " + std::to_string(rank) + " sent a request that makes no sense");
  }
  /// A failure if somebody waits for a rank that left.
  static meeting_result departure(const team& t) {
    if (!t.waited_for()) return {};
    const std::vector<int> gone = t.ranks([](const member& m) { return m.left && !m.came; });
    return gone.empty() ? meeting_result{}
                        : failure(gone.front(), describe_departure(t.step(), gone));
  }

  meeting_result leave(int rank, std::uint64_t id) {
    for (auto& [number, t] : teams_) {
      member* const m = t.find(rank);
      if (m == nullptr || (id != all_teams && id != number)) continue;
      m->left = true;
      if (meeting_result result = departure(t); result.failed) return result;
    }
    std::erase_if(teams_, [](const auto& entry) {
      return entry.second.ranks([](const member& m) { return !m.left; }).empty();
    });
    return {};
  }

  /// Everybody is here.
  meeting_result conclude(const team& t) {
    meeting_result result;
    const request& first = *t.members.front().came;
    std::string all;
    for (const member& m : t.members) {
      const request& r = *m.came;
      if (r.step != first.step || r.payload.size() != first.payload.size() ||
          r.header.kind != first.header.kind) {
        const int rank = m.rank;
        const std::string text =
            describe_mismatch({t.members.front().rank, first.step, first.payload.size()},
                              {rank, r.step, r.payload.size()});
        for (const member& x : t.members)
          result.deliveries.push_back({x.rank, {reply_status::mismatch, rank, text, 0, {}}});
        return result;
      }
      all += r.payload;
    }
    const std::vector<std::uint64_t> ids = first.header.kind == request_kind::split
                                               ? split(t)
                                               : std::vector<std::uint64_t>(t.members.size());
    for (std::size_t i = 0; i < t.members.size(); ++i)
      result.deliveries.push_back({t.members[i].rank, {reply_status::ok, -1, {}, ids[i], all}});
    return result;
  }

  /// Makes the teams that the members chose. Returns each member's new team.
  std::vector<std::uint64_t> split(const team& t) {
    std::vector<split_choice> choices;
    for (const member& m : t.members)
      choices.push_back(from_bytes<split_choice>(m.came->payload.data()));
    std::vector<std::uint64_t> ids(choices.size());
    std::set<int> colors;
    for (const split_choice& c : choices)
      if (c.color >= 0) colors.insert(c.color);
    std::map<std::uint64_t, team> made;  // inserting into teams_ now would be sound, but subtle
    for (const int color : colors) {
      team fresh;
      for (const int i : team_members(choices, color)) {
        const auto at = static_cast<std::size_t>(i);
        fresh.members.push_back({t.members[at].rank, false, std::nullopt});
        ids[at] = next_id_;
      }
      made.emplace(next_id_++, std::move(fresh));
    }
    teams_.merge(made);
    return ids;
  }

  const std::chrono::milliseconds time_limit_;
  std::map<std::uint64_t, team> teams_;
  std::uint64_t next_id_ = 1;
};

}  // namespace hiris::detail
