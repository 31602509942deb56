// SPDX-License-Identifier: MIT
/// @file
/// What a seed of the hostile fabric decides: how it is tempered, and every single choice after.
///
///     fabric_choices choose(7);
///     const fabric_temper t = make_temper(choose);
///     if (choose.chance(t.stale)) ...              // the same answers whenever the seed is 7
#pragma once

#include <cstdint>

namespace hiris::platform::cpu {

/// Random choices that a seed determines (splitmix64).
class fabric_choices {
 public:
  explicit fabric_choices(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// One of 0 .. n-1, n at least 1.
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>((next() >> 16) % n); }
  /// True `in_256` times of 256.
  bool chance(std::uint32_t in_256) { return in_256 != 0 && (next() >> 32 & 255u) < in_256; }
  /// How far they have come: equal for equal runs.
  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_;
};

/// How hostile a run is. Chances are in 256. Mild and extreme runs find different mistakes: some
/// need a store that stays away for ever, some one that comes just too late.
struct fabric_temper {
  std::uint32_t stale;         ///< A load that may be served from an old copy is.
  std::uint32_t land;          ///< A turn lets a store arrive that nobody waits for.
  std::uint32_t evict;         ///< A turn writes back what a workgroup or device holds dirty.
  std::uint32_t preempt;       ///< An access lets other waves and devices go first.
  std::uint64_t slow_devices;  ///< One bit a device that gets few turns.
};

inline fabric_temper make_temper(fabric_choices& choose) {
  constexpr std::uint32_t stale[] = {0, 64, 192, 256};
  constexpr std::uint32_t land[] = {0, 8, 64, 256};
  constexpr std::uint32_t evict[] = {0, 0, 8, 64};
  constexpr std::uint32_t preempt[] = {0, 2, 32, 160};
  fabric_temper t{};
  t.stale = stale[choose.below(4)];
  t.land = land[choose.below(4)];
  t.evict = evict[choose.below(4)];
  t.preempt = preempt[choose.below(4)];
  t.slow_devices = choose.next() & choose.next();
  if (choose.chance(128)) t.slow_devices = 0;
  return t;
}

}  // namespace hiris::platform::cpu
