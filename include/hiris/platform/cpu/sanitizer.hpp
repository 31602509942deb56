// SPDX-License-Identifier: MIT
/// @file
/// Tells the address and the thread sanitizer about fiber switches; nothing without them.
///
///     sanitizer_fiber a, b;
///     b.start(top, bytes);
///     a.leave(b); /* the switch; some time later, back in a */ a.enter();
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HIRIS_CPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HIRIS_CPU_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HIRIS_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HIRIS_CPU_TSAN 1
#endif
#endif

#if defined(HIRIS_CPU_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(HIRIS_CPU_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace hiris::platform::cpu {

#if defined(HIRIS_CPU_ASAN)

inline constexpr bool sanitized = true;

struct sanitizer_fiber {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake_stack = nullptr;
  sanitizer_fiber* previous =
      nullptr;  // who switched here, to learn the bounds of a thread's stack

  void start(std::byte* top, std::size_t size) {
    bottom = top - size;
    bytes = size;
    fake_stack = nullptr;
    __asan_unpoison_memory_region(bottom, bytes);
  }
  void leave(sanitizer_fiber& next) {
    next.previous = this;
    __sanitizer_start_switch_fiber(&fake_stack, next.bottom, next.bytes);
  }
  void leave_for_ever(sanitizer_fiber& next) {
    next.previous = this;
    __sanitizer_start_switch_fiber(nullptr, next.bottom, next.bytes);
  }
  void enter() {
    const void* from = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake_stack, &from, &size);
    if (previous != nullptr && previous->bottom == nullptr) {
      previous->bottom = from;
      previous->bytes = size;
    }
  }
};

#elif defined(HIRIS_CPU_TSAN)

inline constexpr bool sanitized = true;

// Fibers of the thread sanitizer are dear, so one belongs to a stack and serves lane after lane.
struct sanitizer_fiber {
  void* handle = nullptr;

  void start(std::byte*, std::size_t) {
    if (handle == nullptr) handle = __tsan_create_fiber(0);
  }
  // A switch by itself orders nothing: what orders lanes are the rendezvous that they wait for.
  void leave(sanitizer_fiber& next) {
    if (handle == nullptr) handle = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next.handle, __tsan_switch_to_fiber_no_sync);
  }
  void leave_for_ever(sanitizer_fiber& next) { leave(next); }
  void enter() {}
};

#else

inline constexpr bool sanitized = false;

struct sanitizer_fiber {
  void start(std::byte*, std::size_t) {}
  void leave(sanitizer_fiber&) {}
  void leave_for_ever(sanitizer_fiber&) {}
  void enter() {}
};

#endif

}  // namespace hiris::platform::cpu
