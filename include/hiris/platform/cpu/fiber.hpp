// SPDX-License-Identifier: MIT
/// @file
/// Fibers: a context that can be switched to, and stacks for many of them.
///
/// A fiber stays on the operating-system thread that started it, so thread_local variables keep
/// their addresses across a switch. Stacks of a wave are one mapping; the first waves of a process
/// have a guard page below every stack, later ones one below the whole: the number of mappings of a
/// process is limited, and all lanes of a kernel run the same code, so the first waves overflow
/// too.
///
///     fiber scheduler, worker;
///     worker.start(stack_top, stack_bytes, entry);  // entry(transfer_t) never returns
///     scheduler.switch_to(worker);                  // back when someone switches to `scheduler`
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <new>

#include "hiris/platform/cpu/sanitizer.hpp"

namespace hiris::platform::cpu {

using boost::context::detail::transfer_t;

/// A suspended context.
struct fiber {
  boost::context::detail::fcontext_t context = nullptr;
  sanitizer_fiber sanitizer;

  HIRIS_CPU_UNWATCHED void start(std::byte* top, std::size_t bytes, void (*entry)(transfer_t)) {
    context = boost::context::detail::make_fcontext(top, bytes, entry);
    sanitizer.start(top, bytes);
  }

  /// Suspends this one and runs `next`, until someone switches back.
  HIRIS_CPU_UNWATCHED void switch_to(fiber& next) {
    sanitizer.leave(next.sanitizer);
    arrived(boost::context::detail::jump_fcontext(next.context, this));
    sanitizer.enter();
  }

  /// Suspends this one for ever.
  HIRIS_CPU_UNWATCHED void end(fiber& next) {
    sanitizer.leave_for_ever(next.sanitizer);
    boost::context::detail::jump_fcontext(next.context, this);
  }

  /// Keeps the context of the fiber that switched here.
  HIRIS_CPU_UNWATCHED static void arrived(transfer_t from) {
    static_cast<fiber*>(from.data)->context = from.fctx;
  }
};

/// The stacks of one wave.
class stack_set {
 public:
  static constexpr std::size_t stack_bytes = sanitized ? 256 * 1024 : 64 * 1024;
  static constexpr std::size_t page_bytes = 4096;

  explicit stack_set(int count) : count_(static_cast<std::size_t>(count)) {
    void* at = ::mmap(nullptr, total(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(at);
    const bool guard_each = guarded_sets().fetch_add(1, std::memory_order_relaxed) < 64;
    for (std::size_t i = 0; i < (guard_each ? count_ : 1); ++i)
      ::mprotect(base_ + i * stack_bytes, page_bytes, PROT_NONE);
  }
  ~stack_set() { ::munmap(base_, total()); }
  stack_set(const stack_set&) = delete;
  stack_set& operator=(const stack_set&) = delete;

  /// Top of stack i. Tops are moved by a few lines each, or all would share one set of the L1
  /// cache.
  std::byte* top(std::size_t i) const { return base_ + (i + 1) * stack_bytes - (i * 7 % 64) * 64; }
  std::size_t usable_bytes(std::size_t i) const {
    return static_cast<std::size_t>(top(i) - bottom(i));
  }

 private:
  static std::atomic<int>& guarded_sets() {
    static std::atomic<int> sets{0};
    return sets;
  }
  std::size_t total() const { return count_ * stack_bytes; }
  std::byte* bottom(std::size_t i) const { return base_ + i * stack_bytes + page_bytes; }

  std::size_t count_;
  std::byte* base_ = nullptr;
};

}  // namespace hiris::platform::cpu
