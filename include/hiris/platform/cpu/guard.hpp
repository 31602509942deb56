// SPDX-License-Identifier: MIT
/// @file
/// Shows that kernels touch some memory through the primitives only: while it is guarded, a plain
/// access ends the process with the name of the kernel. Under a hostile fabric, which would not see
/// such an access.
///
///     guard_memory(heap_pointer);      // all of the allocation; the fabric's accesses and copies
///     ...                              // in streams go by another mapping of the same pages
///     unguard_memory();
#pragma once

#include <sys/mman.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <vector>

#include "hiris/platform/cpu/memory.hpp"
#include "hiris/platform/cpu/wave.hpp"

namespace hiris::platform::cpu {

namespace detail {

struct guarded_range {
  std::byte* base;
  std::size_t mapped;
  std::byte* alias;
};
/// Changed only while no kernel runs.
inline std::vector<guarded_range> guarded;
inline std::mutex guarding;

inline void tell_plain_access(int signal, siginfo_t* info, void*) {
  for (const guarded_range& g : guarded) {
    const auto* at = static_cast<const std::byte*>(info->si_addr);
    if (at < g.base || at >= g.base + g.mapped || here.current == nullptr) continue;
    const workgroup& group = *here.current->owner->group;
    std::fprintf(stderr,
                 "hiris emulator: kernel %s, block %d, device %d: plain access to guarded memory, "
                 "byte %td of an allocation\n",
                 group.type->name, group.rank, group.device, at - g.base);
  }
  std::signal(signal, SIG_DFL);  // and again, this time fatally
}

}  // namespace detail

/// Guards the allocation that `p` lies in. Host; no kernel runs.
inline void guard_memory(const void* p) {
  const std::lock_guard lock(detail::guarding);
  const auto found = the_memory().find(p);
  if (!found || found->place == memory_place::host) return;
  for (const auto& g : detail::guarded)
    if (g.base == found->base) return;
  void* const alias =
      ::mmap(nullptr, found->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, found->file, 0);
  if (alias == MAP_FAILED || ::mprotect(found->base, found->mapped, PROT_NONE) != 0) {
    std::perror("hiris emulator: guard_memory");
    std::abort();
  }
  struct sigaction action {};
  action.sa_sigaction = detail::tell_plain_access;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
  detail::guarded.push_back({found->base, found->mapped, static_cast<std::byte*>(alias)});
}

/// Ends all guards. Host; no kernel runs.
inline void unguard_memory() {
  const std::lock_guard lock(detail::guarding);
  for (const auto& g : detail::guarded) {
    ::mprotect(g.base, g.mapped, PROT_READ | PROT_WRITE);
    ::munmap(g.alias, g.mapped);
  }
  detail::guarded.clear();
  std::signal(SIGSEGV, SIG_DFL);
}

/// Where the emulator itself accesses memory that may be guarded.
template <class T>
T* past_guard(T* p) {
  for (const auto& g : detail::guarded) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(g.base);
    if (offset < g.mapped) return reinterpret_cast<T*>(g.alias + offset);
  }
  return p;
}

}  // namespace hiris::platform::cpu
