// SPDX-License-Identifier: MIT
/// @file
/// HIP's calls to share memory between processes, on the emulator.
///
///     hipIpcMemHandle_t h; hipIpcGetMemHandle(&h, p);      // in one process
///     void* base; hipIpcOpenMemHandle(&base, h, hipIpcMemLazyEnablePeerAccess);   // in another
///
/// A handle names the exporter's open file, which is opened through /proc; its inode and the nonce
/// in its name prove that it is still the same memory. Both processes must belong to one user.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "hiris/platform/cpu/runtime.hpp"

struct hipIpcMemHandle_t {
  char reserved[64];
};
inline constexpr unsigned hipIpcMemLazyEnablePeerAccess = 0x1;

namespace hiris::platform::cpu {

/// What a handle holds.
struct ipc_contents {
  static constexpr std::uint64_t expected_magic = 0x6370692d73697268;  // "hris-ipc"
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint64_t inode;
  std::uint64_t bytes;
  std::uint64_t mapped;
  std::int32_t process;
  std::int32_t file;
  std::int32_t device;
};
static_assert(sizeof(ipc_contents) <= sizeof(hipIpcMemHandle_t));

/// Opens the exporter's file, if it still is the one that was exported; else -1.
inline int open_exported(const ipc_contents& handle) {
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const std::string expected = "/memfd:" + file_name(handle.nonce);
  std::array<char, 256> name{};
  const ssize_t length = ::readlink(path.c_str(), name.data(), name.size() - 1);
  if (length <= 0 || std::strncmp(name.data(), expected.c_str(), expected.size()) != 0) return -1;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat facts {};
  if (::fstat(file, &facts) == 0 && facts.st_ino == handle.inode &&
      facts.st_size == static_cast<off_t>(handle.mapped))
    return file;
  ::close(file);
  return -1;
}

}  // namespace hiris::platform::cpu

inline hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* pointer) {
  using namespace hiris::platform::cpu;
  if (handle == nullptr || pointer == nullptr) return leave(hipErrorInvalidValue);
  const auto found = the_memory().find(pointer);
  if (!found || found->place != memory_place::device) return leave(hipErrorInvalidValue);
  struct stat facts {};
  if (::fstat(found->file, &facts) != 0) return leave(hipErrorInvalidValue);
  const ipc_contents contents{ipc_contents::expected_magic,
                              found->nonce,
                              facts.st_ino,
                              found->bytes,
                              found->mapped,
                              ::getpid(),
                              found->file,
                              found->device};
  if (fabric_enabled()) the_fabric().stop_seeking_races();
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &contents, sizeof contents);
  return hipSuccess;
}

/// Maps the exporter's allocation. Opening it again gives the same address once more.
/// @return hipErrorInvalidContext in the exporting process itself, hipErrorMapFailed if the memory
///         or its owner is gone.
inline hipError_t hipIpcOpenMemHandle(void** base, hipIpcMemHandle_t handle, unsigned flags) {
  using namespace hiris::platform::cpu;
  if (base == nullptr || flags != hipIpcMemLazyEnablePeerAccess) return leave(hipErrorInvalidValue);
  *base = nullptr;
  ipc_contents contents;
  std::memcpy(&contents, &handle, sizeof contents);
  if (contents.magic != ipc_contents::expected_magic || contents.bytes > contents.mapped)
    return leave(hipErrorInvalidValue);
  if (contents.process == ::getpid()) return leave(hipErrorInvalidContext);
  memory_registry& memory = the_memory();
  const std::unique_lock lock(memory.mutex());
  for (auto& [at, a] : memory.all()) {
    if (a.place != memory_place::imported || a.nonce != contents.nonce ||
        a.exporter != contents.process)
      continue;
    ++a.references;
    *base = at;
    return hipSuccess;
  }
  allocation a;
  a.file = open_exported(contents);
  if (a.file < 0) return leave(hipErrorMapFailed);
  a.base = map_file(a.file, contents.mapped);
  ::close(a.file);
  a.file = -1;
  if (a.base == nullptr) return leave(hipErrorMapFailed);
  a.bytes = contents.bytes;
  a.mapped = contents.mapped;
  a.device = contents.device;
  a.place = memory_place::imported;
  a.nonce = contents.nonce;
  a.exporter = contents.process;
  memory.insert(a);
  *base = a.base;
  if (fabric_enabled()) the_fabric().stop_seeking_races();
  return hipSuccess;
}

inline hipError_t hipIpcCloseMemHandle(void* base) {
  using namespace hiris::platform::cpu;
  memory_registry& memory = the_memory();
  const std::unique_lock lock(memory.mutex());
  const auto found = memory.all().find(static_cast<std::byte*>(base));
  if (found == memory.all().end() || found->second.place != memory_place::imported)
    return leave(hipErrorInvalidValue);
  if (--found->second.references > 0) return hipSuccess;
  const allocation a = found->second;
  memory.forget(found);
  unmap_file(a.base, a.mapped);
  return hipSuccess;
}
