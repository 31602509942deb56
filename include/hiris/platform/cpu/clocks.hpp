// SPDX-License-Identifier: MIT
/// @file
/// What a thread of a kernel knows to have happened before: a vector clock, sparse and shared.
///
/// One operating-system thread runs all lanes of a hostile fabric, so all accesses have one time.
/// A clock says for a workgroup, a wave or a lane up to which time all that it did is known. A
/// workgroup's barrier is one entry, however many lanes it has.
///
///     clock_set known;
///     known.learn(key_of_group(3), 100);               // all that workgroup 3 did up to 100
///     known.knows({.group = 3, .thread = 7, .time = 99});   // true
///     known.learn_all_before(3);                       // all of workgroups 0 to 2
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

/// Who did something, and when. Beyond the threads, a wave as a whole is `whole_wave + wave`.
struct happening {
  std::uint32_t group = 0;
  std::uint32_t thread = 0;
  std::uint64_t time = 0;
};
inline constexpr std::uint32_t whole_wave = 1u << 16;
inline constexpr std::uint32_t whole_group = 1u << 17;

inline std::uint32_t wave_of(std::uint32_t thread) {
  return thread >= whole_wave ? thread - whole_wave : thread / lanes_per_wave;
}

class clock_set {
 public:
  /// All that `who` of a workgroup (a thread, a wave, all) did up to `time` is known.
  void learn(std::uint32_t group, std::uint32_t who, std::uint64_t time) {
    const std::uint64_t key = key_of(group, who);
    const auto at = std::ranges::lower_bound(entries_, key, {}, &entry::key);
    if (at == entries_.end() || at->key != key)
      entries_.insert(at, {key, time});
    else
      at->time = std::max(at->time, time);
  }

  /// All that the workgroups before number `group` did is known: entries of theirs say no more.
  void learn_all_before(std::uint32_t group) {
    if (group <= all_before_) return;
    all_before_ = group;
    entries_.erase(entries_.begin(), first_of(group));
  }
  std::uint32_t all_before() const { return all_before_; }
  /// Whether all that a workgroup did up to `time` is known.
  bool knows_group(std::uint32_t group, std::uint64_t time) const {
    return group < all_before_ || time_of(group, whole_group) >= time;
  }
  std::size_t size() const { return entries_.size(); }

  bool knows(const happening& h) const {
    if (h.group < all_before_) return true;
    const auto first = find(key_of(h.group, whole_group));
    if (first == entries_.end() || first->key >> 32 != h.group) return false;
    if (first->key == key_of(h.group, whole_group) && first->time >= h.time) return true;
    if (time_of(h.group, whole_wave + wave_of(h.thread)) >= h.time) return true;
    return h.thread < whole_wave && time_of(h.group, h.thread) >= h.time;
  }

  void join(const clock_set& other) {
    learn_all_before(other.all_before_);
    std::vector<entry> both;
    both.reserve(entries_.size() + other.entries_.size());
    auto a = entries_.cbegin();
    auto b = other.first_of(all_before_);
    while (a != entries_.end() || b != other.entries_.end()) {
      if (b == other.entries_.end() || (a != entries_.cend() && a->key < b->key)) {
        both.push_back(*a++);
      } else if (a == entries_.end() || b->key < a->key) {
        both.push_back(*b++);
      } else {
        both.push_back({a->key, std::max(a->time, b->time)});
        ++a, ++b;
      }
    }
    entries_ = std::move(both);
  }

 private:
  struct entry {
    std::uint64_t key;
    std::uint64_t time;
  };
  /// A workgroup's entries lie together, what is known of all of it first.
  static std::uint64_t key_of(std::uint32_t group, std::uint32_t who) {
    return std::uint64_t{group} << 32 | (whole_group - who);
  }
  std::vector<entry>::const_iterator find(std::uint64_t key) const {
    return std::ranges::lower_bound(entries_, key, {}, &entry::key);
  }
  std::vector<entry>::const_iterator first_of(std::uint32_t group) const {
    return find(std::uint64_t{group} << 32);
  }
  std::uint64_t time_of(std::uint32_t group, std::uint32_t who) const {
    const auto at = find(key_of(group, who));
    return at == entries_.end() || at->key != key_of(group, who) ? 0 : at->time;
  }

  std::uint32_t all_before_ = 0;
  std::vector<entry> entries_;  // by key
};

/// A clock that nobody changes any more; null is one that knows nothing.
using shared_clock = std::shared_ptr<const clock_set>;

inline shared_clock join(const shared_clock& a, const shared_clock& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  auto both = std::make_shared<clock_set>(*a);
  both->join(*b);
  return both;
}

}  // namespace hiris::platform::cpu
