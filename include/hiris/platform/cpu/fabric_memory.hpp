// SPDX-License-Identifier: MIT
/// @file
/// Memory as a hostile fabric shows it: what each workgroup and device holds of it that others do
/// not see, and what was there before, for those who may still see that.
///
/// Three levels. The bytes in memory are what system scope sees. A device holds bytes that agent
/// scope has published and system scope has not; a workgroup holds bytes of its plain stores that
/// nothing has published. Of every 16 bytes, a *grain*, the last writes are remembered: a load may
/// be served from before a write unless the observer has acquired since, has seen it, or made it.
///
///     fabric_memory memory;
///     fabric_observer here{.device = 0};
///     memory.write(here, p, bytes, 4, scope::agent);
///     memory.read(here, p, out, 4, scope::workgroup, stale);   // stale: whether it may be old
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "hiris/order.hpp"
#include "hiris/platform/cpu/fabric_choice.hpp"
#include "hiris/platform/cpu/grain_table.hpp"

namespace hiris::platform::cpu {

using grain_value = std::array<std::byte, grain_bytes>;

/// Some bytes of a grain.
struct held_bytes {
  grain_value value;
  std::uint32_t mask = 0;                        ///< One bit a byte.
  std::array<std::uint64_t, grain_bytes> since;  ///< When each was published to the device.

  void put(std::size_t at, const std::byte* from, std::size_t n, std::uint64_t now) {
    for (std::size_t i = 0; i < n; ++i) {
      value[at + i] = from[i];
      since[at + i] = now;
    }
    mask |= ((1u << n) - 1) << at;
  }
  void drop(std::size_t at, std::size_t n) { mask &= ~(((1u << n) - 1) << at); }
};
using held_map = std::unordered_map<std::uintptr_t, held_bytes>;

/// One workgroup as the memory knows it.
struct fabric_observer {
  int device = 0;
  std::uint64_t agent_time = 0;   ///< Of its last acquire at agent scope or wider.
  std::uint64_t system_time = 0;  ///< Of its last acquire at system scope.
  held_map own;                   ///< Plain stores that nothing has published.
  std::unordered_map<std::uintptr_t, std::uint64_t> seen;  ///< No grain may go back before this.
};

/// Used by one thread at a time.
class fabric_memory {
 public:
  std::uint64_t now() const { return time_; }

  /// Reads `n` bytes within a grain.
  ///
  /// @param reach Workgroup: a plain load, which may be old in all that was not acquired. Agent: in
  ///              what other devices wrote. System: what is in memory and on this device.
  void read(fabric_observer& who, const void* p, std::byte* to, std::size_t n, scope reach,
            fabric_choices& choose, std::uint32_t stale) {
    const std::uintptr_t grain = grain_of(p);
    const std::size_t at = offset_of(p);
    grain_value value;
    std::memcpy(value.data(), address_of(grain), grain_bytes);
    if (reach != scope::system)
      make_old(who, grain, value, reach, choose, stale);
    else if (past_of(grain) != nullptr)
      who.seen[grain] = time_;
    held_map& published = devices_[who.device];
    if (const auto found = published.find(grain); found != published.end())
      add_published(who, grain, found->second, value,
                    reach == scope::workgroup && choose.chance(stale));
    if (const auto found = who.own.find(grain); found != who.own.end()) merge(value, found->second);
    std::memcpy(to, value.data() + at, n);
  }

  /// Writes `n` bytes within a grain, to where the reach has them.
  void write(fabric_observer& who, void* p, const std::byte* from, std::size_t n, scope reach) {
    const std::uintptr_t grain = grain_of(p);
    const std::size_t at = offset_of(p);
    if (reach == scope::workgroup) {
      who.own[grain].put(at, from, n, 0);
      return;
    }
    drop(who.own, grain, at, n);
    if (reach == scope::agent) {
      devices_[who.device][grain].put(at, from, n, ++time_);
    } else {
      drop(devices_[who.device], grain, at, n);
      remember(grain, who.device, time_ + 1);
      std::memcpy(p, from, n);
    }
    who.seen[grain] = time_;
  }

  /// Makes the bytes that this workgroup and its device hold of a grain visible to all, before an
  /// atomic operation at system scope; `remember_write` goes with the operation.
  void write_back_grain(fabric_observer& who, std::uintptr_t grain) {
    publish_grain(who, grain);
    held_map& published = devices_[who.device];
    const auto found = published.find(grain);
    if (found == published.end()) return;
    write_back(grain, found->second, who.device);
    published.erase(found);
  }
  void remember_write(fabric_observer& who, const void* p) {
    const std::uintptr_t grain = grain_of(p);
    remember(grain, who.device, time_ + 1);
    who.seen[grain] = time_;
  }
  /// The same for an atomic operation at agent scope.
  void publish_grain(fabric_observer& who, std::uintptr_t grain) {
    const auto found = who.own.find(grain);
    if (found == who.own.end()) return;
    publish(who, grain, found->second, ++time_);
    who.own.erase(found);
  }

  /// Releases what the workgroup holds, and at system scope what its device holds: who publishes
  /// for others what he has acquired from them needs no more than that.
  void release(fabric_observer& who, scope reach) {
    if (reach == scope::workgroup) return;
    ++time_;
    for (auto& [grain, held] : who.own) publish(who, grain, held, time_);
    who.own.clear();
    if (reach == scope::system) write_back_device(who.device);
  }
  void acquire(fabric_observer& who, scope reach) {
    if (reach == scope::workgroup) return;
    who.agent_time = time_;
    if (reach != scope::system) return;
    who.system_time = time_;
    system_times_[who.device] = time_;
    who.seen.clear();
  }

  /// A workgroup starts: its first copies are no older than the launch, as far as its device wrote
  /// them, and than the device's last acquire at system scope.
  void enter(fabric_observer& who) {
    who.agent_time = time_;
    who.system_time = system_times_[who.device];
  }
  /// The host sees, and is seen by, a device: before and after copies, events, and when it waits.
  void host_boundary(int device) {
    write_back_device(device);
    system_times_[device] = time_;
  }
  /// A device is to see what was in memory at `time`.
  void acquire_until(int device, std::uint64_t time) {
    std::uint64_t& seen = system_times_[device];
    seen = std::max(seen, time);
  }
  void write_back_device(int device) {
    held_map& published = devices_[device];
    for (auto& [grain, held] : published) write_back(grain, held, device);
    published.clear();
  }

  /// Forgets the past; nothing may be held.
  void forget() { past_.clear(); }
  /// Forgets all about [at, at + bytes), which is no more.
  void forget(const std::byte* at, std::size_t bytes) {
    const std::uintptr_t first = grain_of(at), last = grain_of(at + bytes - 1);
    const auto inside = [&](const auto& entry) {
      return entry.first >= first && entry.first <= last;
    };
    past_.erase(first, last);
    for (auto& [device, published] : devices_) std::erase_if(published, inside);
  }

 private:
  struct past_write {
    std::uint64_t system_time;  ///< When it came to memory.
    std::uint64_t agent_time;   ///< When its own device could see it.
    int device;
    grain_value before;
  };
  struct past {
    static constexpr std::size_t most = 4;
    std::array<past_write, most> writes;  // oldest first
    std::size_t count = 0;
  };

  /// Null where nothing is remembered.
  const past* past_of(std::uintptr_t grain) {
    const past* const p = past_.find(grain);
    return p != nullptr && p->count > 0 ? p : nullptr;
  }
  static std::size_t offset_of(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % grain_bytes;
  }
  static void merge(grain_value& value, const held_bytes& held) {
    for (std::size_t i = 0; i < grain_bytes; ++i)
      if ((held.mask >> i & 1u) != 0) value[i] = held.value[i];
  }
  static void drop(held_map& from, std::uintptr_t grain, std::size_t at, std::size_t n) {
    const auto found = from.find(grain);
    if (found == from.end()) return;
    found->second.drop(at, n);
    if (found->second.mask == 0) from.erase(found);
  }
  static std::uint64_t seen_of(const fabric_observer& who, std::uintptr_t grain) {
    const auto found = who.seen.find(grain);
    return found == who.seen.end() ? 0 : found->second;
  }

  /// Replaces a grain's value by one from before some of its last writes, if that may be.
  void make_old(fabric_observer& who, std::uintptr_t grain, grain_value& value, scope reach,
                fabric_choices& choose, std::uint32_t stale) {
    const past* const found = past_of(grain);
    if (found == nullptr) return;
    const past& p = *found;
    const std::uint64_t seen = seen_of(who, grain);
    const auto must_see = [&](const past_write& w) {
      return w.system_time <= std::max(who.system_time, seen) ||
             (w.device == who.device &&
              (reach == scope::agent || w.agent_time <= std::max(who.agent_time, seen)));
    };
    std::size_t missable = 0;
    while (missable < p.count && !must_see(p.writes[p.count - 1 - missable])) ++missable;
    std::size_t missed = 0;
    if (missable > 0 && choose.chance(stale)) missed = 1 + choose.below(missable);
    if (missed > 0) value = p.writes[p.count - missed].before;
    if (missed < p.count) {
      std::uint64_t& latest = who.seen[grain];
      latest = std::max(latest, p.writes[p.count - 1 - missed].system_time);
    }
  }

  /// Adds what the device has published, but for what the observer has not acquired if `old`.
  void add_published(fabric_observer& who, std::uintptr_t grain, const held_bytes& held,
                     grain_value& value, bool old) {
    const std::uint64_t known = std::max(who.agent_time, seen_of(who, grain));
    std::uint64_t latest = 0;
    for (std::size_t i = 0; i < grain_bytes; ++i) {
      if ((held.mask >> i & 1u) == 0 || (old && held.since[i] > known)) continue;
      value[i] = held.value[i];
      latest = std::max(latest, held.since[i]);
    }
    if (latest > known) who.seen[grain] = latest;
  }

  void publish(fabric_observer& who, std::uintptr_t grain, const held_bytes& held,
               std::uint64_t now) {
    held_bytes& to = devices_[who.device][grain];
    for (std::size_t i = 0; i < grain_bytes; ++i)
      if ((held.mask >> i & 1u) != 0) to.put(i, &held.value[i], 1, now);
    who.seen[grain] = now;
  }
  void write_back(std::uintptr_t grain, const held_bytes& held, int device) {
    std::uint64_t first = ~std::uint64_t{0};
    for (std::size_t i = 0; i < grain_bytes; ++i)
      if ((held.mask >> i & 1u) != 0) first = std::min(first, held.since[i]);
    remember(grain, device, first);
    std::byte* const to = address_of(grain);
    for (std::size_t i = 0; i < grain_bytes; ++i)  // no byte that is not held: a peer may write it
      if ((held.mask >> i & 1u) != 0) to[i] = held.value[i];
  }
  void remember(std::uintptr_t grain, int device, std::uint64_t agent_time) {
    past& p = past_[grain];
    if (p.count == past::most) {
      std::move(p.writes.begin() + 1, p.writes.end(), p.writes.begin());
      --p.count;
    }
    past_write& w = p.writes[p.count++];
    w.system_time = ++time_;
    w.agent_time = std::min(agent_time, time_);
    w.device = device;
    std::memcpy(w.before.data(), address_of(grain), grain_bytes);
  }

  std::uint64_t time_ = 0;  ///< Counts what happens to memory.
  grain_table<past> past_;
  std::unordered_map<int, held_map> devices_;
  std::unordered_map<int, std::uint64_t> system_times_;
};

}  // namespace hiris::platform::cpu
