// SPDX-License-Identifier: MIT
/// @file
/// How threads of one process meet: the shared state behind `threads.hpp`.
///
/// A team meets again and again; each meeting has a slot a rank, and two sets of slots suffice:
/// nobody can enter meeting i+2 before everybody has read the slots of meeting i. All teams that
/// were split from one group share a hub, so that a failure anywhere ends every wait.
///
///     team->meet(rank, mine, bytes, all, step);
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/team.hpp"
#include "hiris/error.hpp"

namespace hiris::detail {

class thread_team;

/// Shared by a group and all teams split from it: one lock, one bell, one cause of death.
struct thread_hub {
  explicit thread_hub(std::chrono::milliseconds limit) : time_limit(limit) {}

  const std::chrono::milliseconds time_limit;
  std::mutex mutex;
  std::condition_variable changed;
  bool broken = false;
  int culprit = -1;
  std::string cause;
  /// Teams being split off, until all their ranks have come: (parent, meeting, color).
  std::map<std::tuple<const thread_team*, std::uint64_t, int>, std::shared_ptr<thread_team>>
      forming;

  /// The first cause stays. Call with the lock held.
  void break_with(int rank, std::string why) {
    if (!broken) {
      broken = true;
      culprit = rank;
      cause = std::move(why);
    }
    changed.notify_all();
  }
};

/// Ranks that meet. Ranks are numbers within the team; errors use `names`, those of the group.
class thread_team {
 public:
  thread_team(std::shared_ptr<thread_hub> hub, std::vector<int> names)
      : hub_(std::move(hub)), names_(std::move(names)), seats_(names_.size()) {
    for (auto& set : slots_) set.resize(names_.size());
  }

  int size() const noexcept { return static_cast<int>(names_.size()); }

  void join(int rank) {
    const std::lock_guard lock(hub_->mutex);
    seat& mine = seats_[index(rank)];
    if (mine != seat::open)
      throw error(errc::invalid_argument, -1,
                  "rank " + std::to_string(name(rank)) + " joins a second time; allowed is once");
    mine = seat::taken;
  }

  /// Nobody joins any more.
  void close() {
    const std::lock_guard lock(hub_->mutex);
    for (seat& s : seats_)
      if (s == seat::open) s = seat::left;
    hub_->changed.notify_all();
  }

  void leave(int rank) {
    const std::lock_guard lock(hub_->mutex);
    seats_[index(rank)] = seat::left;
    hub_->changed.notify_all();
  }

  void fail(int rank, const std::string& why) noexcept {
    const std::lock_guard lock(hub_->mutex);
    hub_->break_with(rank, "rank " + std::to_string(rank) + " failed: " + why);
  }

  /// Rank that broke the group, or -1.
  int culprit() const {
    const std::lock_guard lock(hub_->mutex);
    return hub_->broken ? hub_->culprit : -1;
  }

  /// One all-gather. Returns the number of the meeting, the same on all ranks.
  std::uint64_t meet(int rank, const void* mine, std::size_t bytes, void* all,
                     std::string_view step) {
    std::unique_lock lock(hub_->mutex);
    const std::uint64_t number = meeting_;
    std::vector<slot>& slots = slots_[number % 2];
    if (!hub_->broken) arrive(slots, rank, mine, bytes, step);
    const auto end = std::chrono::steady_clock::now() + hub_->time_limit;
    while (meeting_ == number) {
      if (hub_->broken)
        throw error(errc::bootstrap_failed, hub_->culprit, in_step(step, hub_->cause));
      if (const std::vector<int> gone = missing(slots, true); !gone.empty()) {
        hub_->break_with(gone.front(), describe_departure(step, gone));
        throw error(errc::bootstrap_failed, hub_->culprit, hub_->cause);
      }
      if (hub_->changed.wait_until(lock, end) == std::cv_status::timeout && meeting_ == number &&
          !hub_->broken) {
        const std::vector<int> late = missing(slots, false);
        hub_->break_with(late.front(), name_step(step) + name_ranks(late) +
                                           " did not come within " +
                                           std::to_string(hub_->time_limit.count()) + " ms");
        throw error(errc::bootstrap_failed, hub_->culprit, hub_->cause);
      }
    }
    if (const verdict& v = verdicts_[number % 2]; v.rank >= 0)
      throw error(errc::mismatch, v.rank, v.text);
    for (std::size_t r = 0; r < slots.size() && bytes > 0; ++r)
      std::memcpy(static_cast<std::byte*>(all) + r * bytes, slots[r].bytes.data(), bytes);
    return number;
  }

  /// The team that the ranks `members` of this one form in `meeting`: the first makes it.
  std::shared_ptr<thread_team> form(std::uint64_t meeting, int color,
                                    const std::vector<int>& members, int rank_there) {
    std::shared_ptr<thread_team> team;
    {
      const std::lock_guard lock(hub_->mutex);
      const auto key = std::make_tuple(static_cast<const thread_team*>(this), meeting, color);
      std::shared_ptr<thread_team>& forming = hub_->forming[key];
      if (!forming) {
        std::vector<int> names;
        for (int r : members) names.push_back(name(r));
        forming = std::make_shared<thread_team>(hub_, std::move(names));
      }
      team = forming;
      if (++team->formed_ == team->size()) hub_->forming.erase(key);
    }
    team->join(rank_there);
    return team;
  }

 private:
  enum class seat : std::uint8_t { open, taken, left };
  struct slot {
    bool here = false;
    std::string step;
    std::vector<std::byte> bytes;
  };
  struct verdict {
    int rank = -1;  ///< First rank that disagrees with rank 0, or -1.
    std::string text;
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  int name(int rank) const { return names_[index(rank)]; }

  void arrive(std::vector<slot>& slots, int rank, const void* mine, std::size_t bytes,
              std::string_view step) {
    slot& s = slots[index(rank)];
    s.here = true;
    s.step = step;
    s.bytes.assign(static_cast<const std::byte*>(mine),
                   static_cast<const std::byte*>(mine) + bytes);
    if (!missing(slots, false).empty()) return;
    verdicts_[meeting_ % 2] = judge(slots);
    ++meeting_;
    for (slot& next : slots_[meeting_ % 2]) next.here = false;
    hub_->changed.notify_all();
  }

  /// Names of the ranks that have not come to this meeting, or only of those that left the team.
  std::vector<int> missing(const std::vector<slot>& slots, bool only_left) const {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < slots.size(); ++r)
      if (!slots[r].here && (!only_left || seats_[r] == seat::left)) ranks.push_back(names_[r]);
    return ranks;
  }

  verdict judge(const std::vector<slot>& slots) const {
    const slot& a = slots.front();
    for (std::size_t r = 1; r < slots.size(); ++r) {
      const slot& b = slots[r];
      if (b.step == a.step && b.bytes.size() == a.bytes.size()) continue;
      return {names_[r], describe_mismatch({names_[0], a.step, a.bytes.size()},
                                           {names_[r], b.step, b.bytes.size()})};
    }
    return {};
  }

  const std::shared_ptr<thread_hub> hub_;
  const std::vector<int> names_;
  std::vector<seat> seats_;
  int formed_ = 0;
  std::uint64_t meeting_ = 0;
  std::array<std::vector<slot>, 2> slots_;
  std::array<verdict, 2> verdicts_;
};

/// A rank's end of a team.
class thread_bootstrap final : public bootstrap {
 public:
  /// @param rank A rank that has joined `team`.
  thread_bootstrap(std::shared_ptr<thread_team> team, int rank)
      : team_(std::move(team)), rank_(rank) {}
  ~thread_bootstrap() override { team_->leave(rank_); }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return team_->size(); }

  void all_gather(const void* mine, void* all, std::size_t bytes, std::string_view step) override {
    team_->meet(rank_, mine, bytes, all, step);
  }

  void barrier(std::string_view step) override { team_->meet(rank_, nullptr, 0, nullptr, step); }

  std::unique_ptr<bootstrap> split(int color, int key, std::string_view step) override {
    const split_choice mine{color, key};
    std::vector<split_choice> all(static_cast<std::size_t>(size()));
    const std::uint64_t meeting = team_->meet(rank_, &mine, sizeof mine, all.data(), step);
    if (color < 0) return nullptr;
    const std::vector<int> members = team_members(all, color);
    const int rank_there =
        static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
    return std::make_unique<thread_bootstrap>(team_->form(meeting, color, members, rank_there),
                                              rank_there);
  }

 private:
  const std::shared_ptr<thread_team> team_;
  const int rank_;
};

}  // namespace hiris::detail
