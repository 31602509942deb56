// SPDX-License-Identifier: MIT
/// @file
/// Finds accesses of kernels and copies to device memory that nothing orders: the same bytes, one
/// of the two a write, and no chain of releases, acquires, barriers and stream order between them.
///
/// Part of the hostile fabric, whose one thread calls it. Accesses through the primitives are seen,
/// and copies and fills in a stream. Two atomics never race if the scope of both has both.
/// What the host does with device memory by itself is not seen, and no race.
///
///     races.access(me, p, 16, access_kind::write);     // compares with all before, and remembers
///     races.take_found();                              // texts, both places in each
#pragma once

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hiris/order.hpp"
#include "hiris/platform/cpu/clocks.hpp"
#include "hiris/platform/cpu/fabric_memory.hpp"
#include "hiris/platform/cpu/names.hpp"
#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

enum class access_kind : std::uint8_t { read, write, atomic_read, atomic_write };

/// Who a report names: a workgroup of a kernel, or a copy in a stream.
struct actor {
  const char* what = "";  ///< A kernel's name, or "a copy"; lives as long as the process.
  int block = -1;         ///< Of a kernel.
  int rank = -1;          ///< For which the host launched it; -1 if it did not say.
};

/// What a thread knows.
struct lane_knowledge {
  shared_clock known;     ///< Has happened before what it does next.
  shared_clock released;  ///< At its last release fence: goes with its relaxed atomics.
  scope released_to = scope::workgroup;
  shared_clock polled;  ///< What came with its relaxed atomics: an acquire fence learns it.
};

/// What is known of a workgroup, or of a stream between its kernels (no lanes, no kernel).
struct group_knowledge {
  std::uint32_t number = 0;
  int device = 0;
  std::vector<lane_knowledge> lanes;
  std::uint64_t barrier_time = 0;            ///< Of the last barrier of all.
  std::uint64_t wave_time[most_waves] = {};  ///< Of each wave's last meeting.
};

class race_detector {
 public:
  static constexpr std::size_t most_told = 8;
  static constexpr std::size_t many_traces = 8;  ///< Of a grain: then needless ones are dropped.

  /// Races found since the last call, each with both places.
  std::vector<std::string> take_found() {
    told_.clear();
    return std::exchange(found_, {});
  }
  /// Everything so far has happened before everything to come.
  void forget() {
    grains_.clear();
    words_.clear();
    forgotten_ = next_number();
    entrants_.clear();
  }
  void forget(const std::byte* at, std::size_t bytes) {
    const std::uintptr_t first = grain_of(at), last = grain_of(at + bytes - 1);
    grains_.erase(first, last);
    std::erase_if(words_, [&](const auto& w) {
      return w.first / grain_bytes >= first && w.first / grain_bytes <= last;
    });
  }

  /// Of the workgroup that begins next.
  std::uint32_t next_number() const {
    return forgotten_ + static_cast<std::uint32_t>(entrants_.size());
  }

  /// A workgroup, or a copy, begins.
  void enter(group_knowledge& g, int device, int threads, const shared_clock& before,
             const actor& who) {
    g.number = next_number();
    entrants_.push_back({who});
    g.device = device;
    g.lanes.assign(static_cast<std::size_t>(threads), {before, nullptr, scope::workgroup, nullptr});
    g.barrier_time = 0;
    std::fill(std::begin(g.wave_time), std::end(g.wave_time), 0);
  }
  /// A workgroup ends. @return All that it did and knew, for what comes after its kernel.
  shared_clock leave(const group_knowledge& g) {
    shared_clock known;
    for (const lane_knowledge& l : g.lanes) known = join(known, l.known);
    clock_set with_own = known ? *known : clock_set();
    with_own.learn(g.number, whole_group, time_);
    if (g.number >= forgotten_) entrant(g.number).ended = time_;
    // What is known of all workgroups up to some number is that number: it keeps the clocks short.
    std::uint32_t all = std::max(with_own.all_before(), forgotten_);
    while (all < next_number() && with_own.knows_group(all, entrant(all).ended)) ++all;
    with_own.learn_all_before(all);
    return std::make_shared<const clock_set>(std::move(with_own));
  }

  // ---- meetings ------------------------------------------------------------------------------

  void meet_all(group_knowledge& g) {
    share(g.lanes, 0, g.lanes.size());
    g.barrier_time = time_;
  }
  void meet_wave(group_knowledge& g, int wave) {
    const std::size_t first = static_cast<std::size_t>(wave) * lanes_per_wave;
    share(g.lanes, first, std::min(first + lanes_per_wave, g.lanes.size()));
    g.wave_time[wave] = time_;
  }

  // ---- order ---------------------------------------------------------------------------------

  /// What a release of a thread gives: what it knows, did itself, and met.
  shared_clock release(const group_knowledge& g, std::uint32_t thread) const {
    const shared_clock& known = g.lanes[thread].known;
    clock_set given = known ? *known : clock_set();
    given.learn(g.number, whole_group, g.barrier_time);
    given.learn(g.number, whole_wave + wave_of(thread), g.wave_time[wave_of(thread)]);
    given.learn(g.number, thread, time_);
    return std::make_shared<const clock_set>(std::move(given));
  }
  /// An atomic write to `p` carries a release to those of the scope. @param replaces A store ends
  /// what came with the operations before.
  void carry(const group_knowledge& g, const void* p, scope reach, const shared_clock& given,
             bool replaces) {
    if (given == nullptr && !replaces) return;
    std::vector<carried>& word = words_[reinterpret_cast<std::uintptr_t>(p)];
    if (replaces) word.clear();
    for (carried& c : word)
      if (c.device == g.device && c.reach == reach &&
          (reach != scope::workgroup || c.group == g.number)) {
        c.given = join(c.given, given);
        return;
      }
    if (given != nullptr) word.push_back({g.device, g.number, reach, given});
  }
  /// What an acquire at `p` learns. One of a workgroup learns what was released to a workgroup.
  shared_clock carried_by(const group_knowledge& g, const void* p, scope reach) const {
    const auto word = words_.find(reinterpret_cast<std::uintptr_t>(p));
    shared_clock all;
    if (word == words_.end()) return all;
    for (const carried& c : word->second)
      if (c.reach == scope::workgroup
              ? c.group == g.number
              : reach != scope::workgroup &&
                    (c.device == g.device || (c.reach == scope::system && reach == scope::system)))
        all = join(all, c.given);
    return all;
  }

  // ---- accesses ------------------------------------------------------------------------------

  /// Compares an access within a grain with those before.
  void access(const group_knowledge& g, std::uint32_t thread, const void* p, std::size_t bytes,
              access_kind kind, scope reach) {
    const std::uintptr_t grain = grain_of(p);
    const auto mask = static_cast<std::uint16_t>(
        ((1u << bytes) - 1) << (reinterpret_cast<std::uintptr_t>(p) % grain_bytes));
    const trace now{{g.number, thread, ++time_}, mask, kind, reach, g.device};
    traces& past = grains_[grain];
    const bool writes = is_write(kind);
    bool merged = false;
    const auto kept = std::remove_if(past.begin(), past.end(), [&](trace& then) {
      if ((then.mask & mask) == 0) return false;
      const bool two_reads = !writes && !is_write(then.kind);
      // A read that is kept though a later one stands for it costs less than to find that out.
      if (two_reads && then.what.group != g.number && past.size() < many_traces) return false;
      const bool before = is_before(then.what, g, thread);
      const bool conflict = !two_reads && !both_atomic(then, now);
      if (conflict && !before) tell(then, now, p);
      if (writes ? before || conflict : before && !is_write(then.kind)) then.mask &= ~mask;
      // Lanes of a wave that read the same bytes are one reader.
      if (!writes && !merged && then.mask == mask && then.kind == kind && !is_write(then.kind) &&
          then.what.group == g.number && wave_of(then.what.thread) == wave_of(thread)) {
        then.what.thread = whole_wave + wave_of(thread);
        then.what.time = time_;
        merged = true;
      }
      return then.mask == 0;
    });
    past.erase(kept, past.end());
    if (!merged) past.push_back(now);
  }

 private:
  struct trace {
    happening what;
    std::uint16_t mask;
    access_kind kind;
    scope reach;
    int device;
  };
  /// Most grains have one writer, or one reader besides: those cost no allocation.
  using traces = boost::container::small_vector<trace, 2>;
  struct carried {
    int device;
    std::uint32_t group;  // the first that released, and the only one to a workgroup
    scope reach;
    shared_clock given;
  };

  struct entrant_state {
    actor who;
    std::uint64_t ended = ~std::uint64_t{0};  ///< When; runs until then.
  };

  entrant_state& entrant(std::uint32_t number) { return entrants_[number - forgotten_]; }
  const actor& actor_of(const trace& t) const { return entrants_[t.what.group - forgotten_].who; }

  static bool is_write(access_kind kind) {
    return kind == access_kind::write || kind == access_kind::atomic_write;
  }
  static bool is_atomic(access_kind kind) { return kind >= access_kind::atomic_read; }
  static bool both_atomic(const trace& a, const trace& b) {
    if (!is_atomic(a.kind) || !is_atomic(b.kind)) return false;
    if (a.device != b.device) return a.reach == scope::system && b.reach == scope::system;
    return a.what.group == b.what.group ||
           (a.reach != scope::workgroup && b.reach != scope::workgroup);
  }
  static bool is_before(const happening& then, const group_knowledge& g, std::uint32_t thread) {
    if (then.group == g.number) {
      if (then.thread == thread || then.time <= g.barrier_time) return true;
      if (wave_of(then.thread) == wave_of(thread) && then.time <= g.wave_time[wave_of(thread)])
        return true;
    }
    const shared_clock& known = g.lanes[thread].known;
    return known != nullptr && known->knows(then);
  }
  /// Lanes first .. last-1 learn what any of them knows.
  static void share(std::vector<lane_knowledge>& lanes, std::size_t first, std::size_t last) {
    share(lanes, first, last, &lane_knowledge::known);
    share(lanes, first, last, &lane_knowledge::released);
    for (std::size_t i = first; i < last; ++i)
      lanes[first].released_to = std::max(lanes[first].released_to, lanes[i].released_to);
    for (std::size_t i = first; i < last; ++i) lanes[i].released_to = lanes[first].released_to;
  }
  static void share(std::vector<lane_knowledge>& lanes, std::size_t first, std::size_t last,
                    shared_clock lane_knowledge::*what) {
    shared_clock all = lanes[first].*what;
    bool differ = false;
    for (std::size_t i = first + 1; i < last; ++i)
      if (lanes[i].*what != lanes[i - 1].*what) {
        all = join(all, lanes[i].*what);
        differ = true;
      }
    if (!differ) return;
    for (std::size_t i = first; i < last; ++i) lanes[i].*what = all;
  }

  std::string describe(const trace& t) const {
    const char* const kinds[] = {"read", "write", "atomic read", "atomic write"};
    const actor& who = actor_of(t);
    std::string text = std::string(kinds[static_cast<int>(t.kind)]) + " by " + who.what;
    if (who.block < 0) return text + of_rank(who, t.device);
    text += ", block " + std::to_string(who.block);
    if (t.what.thread >= whole_wave)
      text += ", wave " + std::to_string(wave_of(t.what.thread));
    else
      text += ", thread " + std::to_string(t.what.thread);
    return text + of_rank(who, t.device);
  }
  static std::string of_rank(const actor& who, int device) {
    return (who.rank >= 0 ? " (rank " + std::to_string(who.rank) + ", device " : " (device ") +
           std::to_string(device) + ")";
  }
  void tell(const trace& then, const trace& now, const void* p) {
    if (found_.size() == most_told) return;
    std::array pair{actor_of(then).what, actor_of(now).what};
    std::ranges::sort(pair, std::less<>());
    if (std::ranges::find(told_, pair) != told_.end()) return;  // of two kernels, one is enough
    told_.push_back(pair);
    std::string text =
        "race: " + describe(now) + " and " + describe(then) + " at " + the_names().describe(p);
    std::fprintf(stderr, "hiris emulator: %s\n", text.c_str());
    found_.push_back(std::move(text));
  }

  std::uint64_t time_ = 0;  ///< Of the last access.
  grain_table<traces> grains_;
  std::unordered_map<std::uintptr_t, std::vector<carried>> words_;  ///< By address.
  std::uint32_t forgotten_ = 0;                                     ///< Workgroups before this.
  std::vector<entrant_state> entrants_;                             ///< From there on.
  std::vector<std::string> found_;
  std::vector<std::array<const char*, 2>> told_;
};

}  // namespace hiris::platform::cpu
