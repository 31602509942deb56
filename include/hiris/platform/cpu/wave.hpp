// SPDX-License-Identifier: MIT
/// @file
/// A wave of 64 lanes, the workgroup that owns it, and the rendezvous in which its lanes meet.
///
/// A lane is a fiber. It runs until it has to wait, then switches straight to the next lane of its
/// wave that can run, then to another wave of the workgroup, and only if there is none to the
/// executor. A wave operation completes when its last lane arrives; that lane goes on at once.
///
///     wave& w = *here.current->owner;
///     std::byte* slot = w.slot(here.current->index);   // this operation's 16 bytes of the lane
///     meet(operation_kind::shuffle, nullptr);          // the others' slots are valid after it
///
/// Lanes that have ended do not count. Lanes that wait in different operations of one wave, or an
/// incomplete barrier with no lane left to run, are an error of the kernel and end it with a text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hiris/platform/cpu/fiber.hpp"

namespace hiris::platform::cpu {

inline constexpr int lanes_per_wave = 64;
inline constexpr int most_waves = 16;  ///< Of a workgroup: 1024 threads.

/// What the lanes of a wave meet for.
enum class operation_kind : std::uint8_t {
  none,
  sync,
  shuffle,
  ballot,
  mma_f16_16,
  mma_f16_32,
  mma_bf16_16,
  mma_bf16_32
};

inline const char* to_string(operation_kind kind) {
  switch (kind) {
    case operation_kind::none:
      return "nothing";
    case operation_kind::sync:
      return "wave_sync";
    case operation_kind::shuffle:
      return "wave_shuffle";
    case operation_kind::ballot:
      return "wave_ballot";
    case operation_kind::mma_f16_16:
      return "mma_atom<float16, 16, 16>";
    case operation_kind::mma_f16_32:
      return "mma_atom<float16, 32, 32>";
    case operation_kind::mma_bf16_16:
      return "mma_atom<bfloat16, 16, 16>";
    case operation_kind::mma_bf16_32:
      return "mma_atom<bfloat16, 32, 32>";
  }
  return "unknown";
}

struct wave;
struct workgroup;
struct fabric_group;

/// One thread of a kernel.
struct lane : fiber {
  wave* owner = nullptr;
  int index = 0;  ///< In its wave.
  int rank = 0;   ///< In its workgroup.

  std::uint64_t bit() const { return std::uint64_t{1} << index; }
};

/// What a matrix operation gathers from its lanes.
struct alignas(64) mma_operands {
  alignas(64) std::byte a[lanes_per_wave][16];
  alignas(64) std::byte b[lanes_per_wave][16];
  float* c[lanes_per_wave];
};

/// The sets of lanes are disjoint; a lane in none of them is running.
struct alignas(64) wave {
  std::uint64_t alive = 0;    ///< Not ended.
  std::uint64_t ready = 0;    ///< Can run.
  std::uint64_t arrived = 0;  ///< Waits in `kind` for the others.
  std::uint64_t in_barrier = 0;
  std::uint64_t paused = 0;
  operation_kind kind = operation_kind::none;
  std::uint32_t parity = 0;  ///< Which half of the exchange the next operation uses.
  int rank = 0;
  workgroup* group = nullptr;
  void (*complete)(wave&) = nullptr;
  std::uint64_t votes[2] = {0, 0};
  std::uint64_t took_part[2] = {0, 0};  ///< The lanes that met in the operation of a parity.
  /// Two halves, since the last lane may enter the next operation before the others have read.
  alignas(64) std::byte exchange[2][lanes_per_wave][16];
  mma_operands mma;
  lane lanes[lanes_per_wave];
  stack_set stacks{lanes_per_wave};
};

/// A kernel as the executor sees it.
struct kernel_type {
  const char* name;
  int block_threads;
  std::size_t shared_bytes;  ///< 0 if K::shared is empty.
  void (*run)(const void* params, void* shared);
};

/// The resident state of one workgroup.
struct workgroup {
  const kernel_type* type = nullptr;
  const void* params = nullptr;
  void* shared = nullptr;
  int rank = 0;
  int count = 0;
  int device = 0;
  std::uint16_t launch = 0;  ///< Number of the launch, for statistics.
  wave* waves[most_waves] = {};
  int n_waves = 0;
  int alive_waves = 0;
  int waves_in_barrier = 0;
  bool votes[2] = {false, false};  ///< block_any
  std::uint32_t parity = 0;
  std::uint64_t steps = 0;  ///< Grows with everything that is not a pause.
  bool failed = false;
  std::string failure;                 ///< Why the kernel has to end, if it failed.
  std::shared_ptr<fabric_group> view;  ///< What a hostile fabric knows of it.
  char start = 0, end = 0;             ///< Points of order, for the thread sanitizer.
};

/// What the calling operating-system thread is running.
struct execution {
  lane* current = nullptr;  ///< Null outside kernels.
  fiber* scheduler = nullptr;
};
inline constinit thread_local execution here{};

// ---- switching ---------------------------------------------------------------------------------

/// The next lane that can run, taken out of its set; null if none.
HIRIS_CPU_UNWATCHED inline lane* take_ready(wave& w) {
  if (w.ready != 0) [[likely]] {
    lane& next = w.lanes[std::countr_zero(w.ready)];
    w.ready &= w.ready - 1;
    return &next;
  }
  const workgroup& group = *w.group;
  for (int i = 1, at = w.rank; i < group.n_waves; ++i) {
    if (++at == group.n_waves) at = 0;
    wave& other = *group.waves[at];
    if (other.ready == 0) continue;
    lane& next = other.lanes[std::countr_zero(other.ready)];
    other.ready &= other.ready - 1;
    return &next;
  }
  return nullptr;
}

/// Runs others until this lane is made ready and chosen again.
HIRIS_CPU_UNWATCHED inline void wait_turn(lane& self) {
  lane* next = take_ready(*self.owner);
  if (next != nullptr) [[likely]] {
    if (next == &self) return;
    here.current = next;
    self.switch_to(*next);
  } else {
    here.current = nullptr;
    self.switch_to(*here.scheduler);
  }
  here.current = &self;
}

/// Ends the kernel, for what `failure` of the workgroup says; does not return, so nothing of the
/// caller's is destroyed.
[[noreturn]] HIRIS_CPU_UNWATCHED inline void fail(lane& self) {
  workgroup& group = *self.owner->group;
  group.failed = true;
  happens_before(&group.end);
  here.current = nullptr;
  self.end(*here.scheduler);
  __builtin_unreachable();
}

/// Gives the executor a chance. The lane is the running one.
HIRIS_CPU_UNWATCHED inline void give_way(lane& self) {
  self.owner->ready |= self.bit();
  here.current = nullptr;
  self.switch_to(*here.scheduler);
  here.current = &self;
}

/// The same once in many steps, so that a workgroup that never pauses cannot keep the others from
/// running.
HIRIS_CPU_UNWATCHED inline void take_breath(lane& self) {
  if ((self.owner->group->steps & 1023u) == 0) [[unlikely]]
    give_way(self);
}

// ---- meeting -----------------------------------------------------------------------------------

/// Tells a hostile fabric that a wave, or with -1 the whole workgroup, has met.
void note_meeting(workgroup& group, int wave);

HIRIS_CPU_UNWATCHED inline void complete_operation(wave& w) {
  if (w.group->view != nullptr) [[unlikely]]
    note_meeting(*w.group, w.rank);
  if (w.complete != nullptr) w.complete(w);
  w.took_part[w.parity] = w.arrived;
  w.votes[w.parity ^ 1u] = 0;
  w.ready |= w.arrived;
  w.arrived = 0;
  w.parity ^= 1u;
  ++w.group->steps;
}

HIRIS_CPU_UNWATCHED inline void complete_barrier(workgroup& group) {
  if (group.view != nullptr) [[unlikely]]
    note_meeting(group, -1);
  for (int i = 0; i < group.n_waves; ++i) {
    wave& w = *group.waves[i];
    w.ready |= w.in_barrier;
    w.in_barrier = 0;
  }
  group.votes[group.parity ^ 1u] = false;
  group.parity ^= 1u;
  group.waves_in_barrier = 0;
  ++group.steps;
}

[[noreturn]] void fail_divergent(lane& self, operation_kind kind);

/// Waits until all lanes of the wave have come, then has run `complete` once.
HIRIS_CPU_UNWATCHED inline void meet(operation_kind kind, void (*complete)(wave&)) {
  lane& self = *here.current;
  wave& w = *self.owner;
  if (w.arrived == 0) {
    w.kind = kind;
    w.complete = complete;
  } else if (w.kind != kind) [[unlikely]] {
    fail_divergent(self, kind);
  }
  std::uint64_t* point = &w.votes[w.parity];  // any address of this operation's own
  w.arrived |= self.bit();
  happens_before(point);
  if (w.arrived == w.alive) {
    happens_after(point);
    complete_operation(w);
    happens_before(point);
    w.ready &= ~self.bit();
    take_breath(self);
  } else {
    wait_turn(self);
    happens_after(point);
  }
}

/// Waits until all lanes of the workgroup have come.
HIRIS_CPU_UNWATCHED inline void meet_block() {
  lane& self = *here.current;
  wave& w = *self.owner;
  workgroup& group = *w.group;
  bool* point = &group.votes[group.parity];
  w.in_barrier |= self.bit();
  happens_before(point);
  if (w.in_barrier == w.alive && ++group.waves_in_barrier == group.alive_waves) {
    complete_barrier(group);
    w.ready &= ~self.bit();
    take_breath(self);
  } else {
    wait_turn(self);
  }
  happens_after(point);
}

/// Meets the workgroup. @return True if any thread voted so.
HIRIS_CPU_UNWATCHED inline bool meet_block_and_vote(bool vote) {
  workgroup& group = *here.current->owner->group;
  const std::uint32_t parity = group.parity;
  if (vote) group.votes[parity] = true;
  meet_block();
  return group.votes[parity];
}

/// Meets the wave. @return A bit for each lane that voted so.
HIRIS_CPU_UNWATCHED inline std::uint64_t meet_and_vote(bool vote) {
  const lane& self = *here.current;
  wave& w = *self.owner;
  const std::uint32_t parity = w.parity;
  if (vote) w.votes[parity] |= self.bit();
  meet(operation_kind::ballot, nullptr);
  return w.votes[parity];
}

/// Lets everyone else run first.
HIRIS_CPU_UNWATCHED inline void pause_lane() {
  lane& self = *here.current;
  self.owner->paused |= self.bit();
  wait_turn(self);
}

/// Takes the lane out of its wave; what the others wait for may be complete without it.
[[noreturn]] HIRIS_CPU_UNWATCHED inline void end_lane(lane& self) {
  wave& w = *self.owner;
  workgroup& group = *w.group;
  happens_before(&group.end);
  w.alive &= ~self.bit();
  ++group.steps;
  if (w.alive == 0) {
    if (--group.alive_waves > 0 && group.waves_in_barrier == group.alive_waves)
      complete_barrier(group);
  } else if (w.arrived == w.alive) {
    complete_operation(w);
  } else if (w.in_barrier == w.alive && ++group.waves_in_barrier == group.alive_waves) {
    complete_barrier(group);
  }
  lane* next = take_ready(w);
  here.current = next;
  self.end(next != nullptr ? static_cast<fiber&>(*next) : *here.scheduler);
  __builtin_unreachable();
}

}  // namespace hiris::platform::cpu
