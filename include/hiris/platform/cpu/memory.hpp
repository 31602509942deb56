// SPDX-License-Identifier: MIT
/// @file
/// The emulator's memory: who owns which addresses, how much a device has left.
///
/// Every allocation is an anonymous file (memfd) mapped shared, with an inaccessible page on both
/// sides: another process can map it through /proc/<pid>/fd, and nothing stays behind when a
/// process dies. Pages are zero and take room only when touched.
///
///     memory_registry& memory = the_memory();
///     void* p = nullptr;
///     hipError_t status = memory.allocate(&p, 4096, 0, memory_place::device);
///     memory.find(p);      // std::optional<allocation>
///     memory.release(p, memory_place::device);
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <string>

#include "hiris/platform/cpu/errors.hpp"
#include "hiris/platform/cpu/options.hpp"

namespace hiris::platform::cpu {

enum class memory_place : std::uint8_t { device, host, imported };

/// One allocation, or one mapping of another process's.
struct allocation {
  std::byte* base = nullptr;
  std::size_t bytes = 0;   ///< As asked for.
  std::size_t mapped = 0;  ///< In whole pages.
  int device = 0;          ///< The device that was current; for an import, that of the exporter.
  memory_place place = memory_place::device;
  int file = -1;
  std::uint64_t nonce = 0;  ///< Part of the file's name, so that a handle cannot fit other memory.
  int references = 1;       ///< Of an import.
  int exporter = 0;         ///< Process id, for an import.
};

inline std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/// Name of the anonymous file of an allocation.
inline std::string file_name(std::uint64_t nonce) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "hiris-%016llx", static_cast<unsigned long long>(nonce));
  return text.data();
}

/// Maps `bytes` of a file between two inaccessible pages; null if it cannot.
inline std::byte* map_file(int file, std::size_t mapped) {
  void* reserved = ::mmap(nullptr, mapped + 2 * 4096, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  std::byte* base = static_cast<std::byte*>(reserved) + 4096;
  if (::mmap(base, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    ::munmap(reserved, mapped + 2 * 4096);
    return nullptr;
  }
  return base;
}

inline void unmap_file(std::byte* base, std::size_t mapped) {
  ::munmap(base - 4096, mapped + 2 * 4096);
}

/// All allocations of the process. Calls may come from any thread.
class memory_registry {
 public:
  memory_registry() : random_(std::random_device{}()) {
    rlimit files{};  // every allocation holds one file open
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
      files.rlim_cur = files.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &files);
    }
  }

  hipError_t allocate(void** at, std::size_t bytes, int device, memory_place place) {
    if (at == nullptr) return hipErrorInvalidValue;
    *at = nullptr;
    if (bytes == 0) return hipSuccess;
    const std::size_t mapped = whole_pages(bytes);
    const std::unique_lock lock(mutex_);
    std::uint64_t& used = used_[static_cast<std::size_t>(device)];
    if (place == memory_place::device &&
        (mapped < bytes || mapped > the_options().memory_bytes - used))
      return hipErrorOutOfMemory;
    allocation a;
    a.bytes = bytes;
    a.mapped = mapped;
    a.device = device;
    a.place = place;
    a.nonce = random_();
    a.file = ::memfd_create(file_name(a.nonce).c_str(), MFD_CLOEXEC);
    if (a.file < 0) return hipErrorOutOfMemory;
    if (::ftruncate(a.file, static_cast<off_t>(mapped)) == 0) a.base = map_file(a.file, mapped);
    if (a.base == nullptr) {
      ::close(a.file);
      return hipErrorOutOfMemory;
    }
    if (place == memory_place::device) used += mapped;
    insert(a);
    *at = a.base;
    return hipSuccess;
  }

  hipError_t release(void* at, memory_place place) {
    if (at == nullptr) return hipSuccess;
    const std::unique_lock lock(mutex_);
    const auto found = all_.find(static_cast<std::byte*>(at));
    if (found == all_.end() || found->second.place != place) return hipErrorInvalidValue;
    const allocation a = found->second;
    forget(found);
    unmap_file(a.base, a.mapped);
    ::close(a.file);
    if (place == memory_place::device) used_[static_cast<std::size_t>(a.device)] -= a.mapped;
    return hipSuccess;
  }

  /// The allocation that contains an address.
  std::optional<allocation> find(const void* at) const {
    const std::shared_lock lock(mutex_);
    auto next = all_.upper_bound(static_cast<std::byte*>(const_cast<void*>(at)));
    if (next == all_.begin()) return std::nullopt;
    const allocation& a = (--next)->second;
    if (static_cast<const std::byte*>(at) >= a.base + a.bytes) return std::nullopt;
    return a;
  }

  /// False if [at, at + bytes) begins in an allocation and runs over its end.
  bool fits(const void* at, std::size_t bytes) const {
    const auto a = find(at);
    return !a || bytes <= static_cast<std::size_t>(a->base + a->bytes -
                                                   static_cast<const std::byte*>(at));
  }

  std::uint64_t used(int device) const {
    const std::shared_lock lock(mutex_);
    return used_[static_cast<std::size_t>(device)];
  }

  /// Changes whenever an address may have changed its owner; for caches of find().
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // For imports (ipc.hpp), which bring their own checks.
  std::shared_mutex& mutex() { return mutex_; }
  std::map<std::byte*, allocation>& all() { return all_; }
  void insert(const allocation& a) {
    all_.emplace(a.base, a);
    generation_.fetch_add(1, std::memory_order_release);
  }
  void forget(std::map<std::byte*, allocation>::iterator at) {
    all_.erase(at);
    generation_.fetch_add(1, std::memory_order_release);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::byte*, allocation> all_;
  std::array<std::uint64_t, 64> used_{};
  std::atomic<std::uint64_t> generation_{1};
  std::mt19937_64 random_;
};

/// The registry of this process; it outlives static objects.
inline memory_registry& the_memory() {
  static memory_registry* registry = new memory_registry;
  return *registry;
}

}  // namespace hiris::platform::cpu
