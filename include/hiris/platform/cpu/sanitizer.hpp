// SPDX-License-Identifier: MIT
/// @file
/// Tells the address and the thread sanitizer about fiber switches; nothing without them.
///
///     sanitizer_fiber a, b;
///     b.start(top, bytes);
///     a.leave(b); /* the switch; some time later, back in a */ a.enter();
///
/// To the thread sanitizer every lane is a thread, and a switch orders nothing: what orders lanes
/// are the rendezvous (happens_before and happens_after, in wave.hpp), launches, and the atomics
/// that the library names. The emulator's own state is not watched (HIRIS_CPU_UNWATCHED).
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
#define HIRIS_CPU_UNWATCHED __attribute__((no_sanitize("thread")))
#else
#define HIRIS_CPU_UNWATCHED
#endif

namespace hiris::platform::cpu {

#if !defined(HIRIS_CPU_TSAN)
inline constexpr bool lanes_are_dear = false;
inline void happens_before(void*) {}
inline void happens_after(void*) {}
#endif

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
inline constexpr bool lanes_are_dear = true;  // the sanitizer has room for 8000 threads

// Fibers of the thread sanitizer are dear, so one belongs to a stack and serves lane after lane.
struct sanitizer_fiber {
  void* handle = nullptr;

  HIRIS_CPU_UNWATCHED void start(std::byte*, std::size_t) {
    if (handle == nullptr) handle = __tsan_create_fiber(0);
  }
  HIRIS_CPU_UNWATCHED void leave(sanitizer_fiber& next) {
    if (handle == nullptr) handle = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next.handle, __tsan_switch_to_fiber_no_sync);
  }
  HIRIS_CPU_UNWATCHED void leave_for_ever(sanitizer_fiber& next) { leave(next); }
  void enter() {}
};
inline void happens_before(void* point) { __tsan_release(point); }
inline void happens_after(void* point) { __tsan_acquire(point); }

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
