// SPDX-License-Identifier: MIT
/// @file
/// Device memory by kind, copies, and handles by which another process maps it.
///
///     void* segment = platform::allocate(64 << 20, platform::memory_kind::data);
///     const platform::ipc_handle handle = platform::ipc_export(segment);
///     // the handle is sent to a peer; there:
///     char* base = static_cast<char*>(platform::ipc_open(handle));  // always the BASE
///     float* theirs = reinterpret_cast<float*>(base + handle.offset);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiris/error.hpp"
#include "hiris/platform/hip.hpp"
#include "hiris/platform/runtime_device.hpp"
#include "hiris/platform/runtime_error.hpp"
#include "hiris/platform/runtime_stream.hpp"

namespace hiris::platform {

/// What memory is for, which decides how the device caches it.
enum class memory_kind : std::uint8_t {
  data,    ///< Bulk data in device memory, cached by its owner.
  signal,  ///< Words that peers poll and add to: device memory, on amd uncached for peers.
  host     ///< Pinned host memory, mapped at the same address on every device.
};

/// Device allocations are a multiple of this: HIP exports no uncached block below it whose size is
/// not a whole number of pages (seen with ROCm 6 and 7), and both drivers allocate in such blocks
/// anyway.
inline constexpr std::size_t allocation_granularity_bytes = std::size_t{2} << 20;

/// Name of a kind as it appears in texts.
inline const char* to_string(memory_kind kind) noexcept {
  switch (kind) {
    case memory_kind::data:
      return "data";
    case memory_kind::signal:
      return "signal";
    case memory_kind::host:
      return "host";
  }
  return "unknown";
}

/// Allocates memory on the current device (or pinned on the host). It is not cleared.
///
/// Caller   host.
/// Cost     a driver call that may wait for running kernels: not between kernels that wait for each
///          other, and not in a capture.
///
/// @param bytes  At least 1; device kinds are rounded up to allocation_granularity_bytes.
/// @throws hiris::error  errc::out_of_memory naming need and have; errc::invalid_argument for 0;
///                       errc::unsupported without a device.
inline void* allocate(std::size_t bytes, memory_kind kind) {
  if (bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() - allocation_granularity_bytes)
    throw error(errc::invalid_argument, -1,
                "allocation of " + std::to_string(bytes) + " bytes, allowed are 1 or more");
  const std::size_t rounded = (bytes + allocation_granularity_bytes - 1) /
                              allocation_granularity_bytes * allocation_granularity_bytes;
  void* pointer = nullptr;
  hipError_t status = hipSuccess;
  switch (kind) {
    case memory_kind::data:
      status = hipMalloc(&pointer, rounded);
      break;
    case memory_kind::signal:
      status = hipExtMallocWithFlags(&pointer, rounded, hipDeviceMallocUncached);
      break;
    case memory_kind::host:
      status = hipHostMalloc(&pointer, bytes,
                             hipHostMallocMapped | hipHostMallocPortable | hipHostMallocCoherent);
      break;
  }
  if (status == hipErrorOutOfMemory) {
    clear_last_error();
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (hipMemGetInfo(&free_bytes, &total_bytes) != hipSuccess) clear_last_error();
    throw error(errc::out_of_memory, -1,
                "need " + std::to_string(kind == memory_kind::host ? bytes : rounded) +
                    " bytes of " + to_string(kind) + " memory, have " + std::to_string(free_bytes) +
                    " of " + std::to_string(total_bytes) + " free on device " +
                    std::to_string(current_device()));
  }
  check(status,
        "allocation of " + std::to_string(bytes) + " bytes of " + to_string(kind) + " memory");
  return pointer;
}

/// Frees what `allocate` gave, with the same kind. Null does nothing.
///
/// Caller   host; may wait for running kernels.
inline void deallocate(void* pointer, memory_kind kind) noexcept {
  if (pointer == nullptr) return;
  const hipError_t status = kind == memory_kind::host ? hipHostFree(pointer) : hipFree(pointer);
  if (status != hipSuccess) clear_last_error();
}

/// Copies between any two places, host or device, in the order of a stream. Returns at once, so the
/// memory must stay as it is until the stream is there; pageable host memory may be read before.
///
/// Caller   host.
inline void copy(void* to, const void* from, std::size_t bytes, stream on) {
  if (bytes == 0) return;
  check(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, on),
        "hipMemcpyAsync of " + std::to_string(bytes) + " bytes");
}

/// Copies between any two places, host or device, and returns when it is done. Does not wait for
/// an owned_stream: synchronize that first if it produces what is copied.
///
/// Caller   host; not in a capture.
inline void copy_now(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(hipMemcpy(to, from, bytes, hipMemcpyDefault),
        "hipMemcpy of " + std::to_string(bytes) + " bytes");
}

/// Sets every byte of device memory to `value`, in the order of a stream. Returns at once.
///
/// Caller   host.
inline void fill(void* to, std::byte value, std::size_t bytes, stream on) {
  if (bytes == 0) return;
  check(hipMemsetAsync(to, std::to_integer<int>(value), bytes, on),
        "hipMemsetAsync of " + std::to_string(bytes) + " bytes");
}

/// An array of memory that is freed with its owner. Move-only.
template <class T>
class device_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "a device_buffer is copied byte by byte");

 public:
  device_buffer() = default;
  /// @param n_elems  Number of elements; 0 gives an empty buffer with a null pointer.
  /// @throws hiris::error  as `allocate`.
  explicit device_buffer(std::size_t n_elems, memory_kind kind = memory_kind::data) : kind_(kind) {
    if (n_elems > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw error(errc::invalid_argument, -1,
                  "a buffer of " + std::to_string(n_elems) + " elements of " +
                      std::to_string(sizeof(T)) + " bytes is larger than the address space");
    if (n_elems != 0) data_ = static_cast<T*>(allocate(n_elems * sizeof(T), kind));
    n_elems_ = n_elems;
  }
  ~device_buffer() { deallocate(data_, kind_); }
  device_buffer(device_buffer&& other) noexcept { swap(other); }
  device_buffer& operator=(device_buffer&& other) noexcept {
    device_buffer(std::move(other)).swap(*this);
    return *this;
  }
  device_buffer(const device_buffer&) = delete;
  device_buffer& operator=(const device_buffer&) = delete;

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return n_elems_; }
  std::size_t size_bytes() const noexcept { return n_elems_ * sizeof(T); }

  /// Fills the buffer with `size()` elements from the host.
  void copy_from(const T* host) { copy_now(data_, host, size_bytes()); }
  void copy_from(const std::vector<T>& host) {
    if (host.size() != n_elems_)
      throw error(errc::invalid_argument, -1,
                  "copy of " + std::to_string(host.size()) + " elements into a buffer of " +
                      std::to_string(n_elems_));
    copy_from(host.data());
  }
  /// Copies the `size()` elements to the host.
  void copy_to(T* host) const { copy_now(host, data_, size_bytes()); }
  std::vector<T> to_host() const {
    std::vector<T> host(n_elems_);
    copy_to(host.data());
    return host;
  }
  /// Sets every byte to `value`, and returns when it is done.
  void fill_with(std::byte value) {
    fill(data_, value, size_bytes(), nullptr);
    synchronize(nullptr);
  }

  void swap(device_buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(n_elems_, other.n_elems_);
    std::swap(kind_, other.kind_);
  }

 private:
  T* data_ = nullptr;
  std::size_t n_elems_ = 0;
  memory_kind kind_ = memory_kind::data;
};

/// What another process needs to map an allocation. Trivially copyable: sent as bytes.
struct ipc_handle {
  std::array<std::byte, 64> bytes;  ///< The runtime's handle of the whole allocation.
  std::uint64_t offset;             ///< Of the exported pointer in that allocation, bytes.
};
static_assert(std::is_trivially_copyable_v<ipc_handle>);

/// The allocation that a device pointer lies in.
struct allocation_range {
  char* base;         ///< First byte.
  std::size_t bytes;  ///< Size as the runtime knows it.
};

/// Finds the allocation that a device pointer lies in.
///
/// Caller   host.
/// @throws hiris::error  errc::invalid_argument if it lies in none.
inline allocation_range allocation_of(const void* pointer) {
  hipDeviceptr_t base{};
  std::size_t bytes = 0;
  const hipError_t status = hipMemGetAddressRange(
      &base, &bytes, reinterpret_cast<hipDeviceptr_t>(const_cast<void*>(pointer)));
  if (status != hipSuccess) {
    clear_last_error();
    throw error(errc::invalid_argument, -1,
                "a pointer that is not in a device allocation: hipMemGetAddressRange returned " +
                    describe_status(status));
  }
  return {reinterpret_cast<char*>(base), bytes};
}

/// Exports the allocation that `pointer` lies in, with the pointer's offset in it.
///
/// Caller   host, on the device that owns the memory.
/// @throws hiris::error  errc::invalid_argument if it is no device memory; errc::runtime_failed if
///                       the runtime cannot export it (virtual-memory pools cannot be).
inline ipc_handle ipc_export(const void* pointer) {
  const allocation_range range = allocation_of(pointer);
  hipIpcMemHandle_t handle{};
  check(hipIpcGetMemHandle(&handle, range.base), "hipIpcGetMemHandle");
  ipc_handle exported{};
  static_assert(sizeof handle == sizeof exported.bytes);
  std::memcpy(exported.bytes.data(), &handle, sizeof handle);
  exported.offset = static_cast<std::uint64_t>(static_cast<const char*>(pointer) - range.base);
  return exported;
}

/// Maps another process's allocation on the current device.
///
/// Caller   host. Not in the process that exported it, which has the memory already.
/// @return  The BASE of the allocation: add `offset` yourself, close with the base.
/// @throws hiris::error  errc::mapping_failed.
inline void* ipc_open(const ipc_handle& exported) {
  hipIpcMemHandle_t handle{};
  std::memcpy(&handle, exported.bytes.data(), sizeof handle);
  void* base = nullptr;
  const hipError_t status = hipIpcOpenMemHandle(&base, handle, hipIpcMemLazyEnablePeerAccess);
  if (status != hipSuccess) {
    clear_last_error();
    throw error(errc::mapping_failed, -1,
                "hipIpcOpenMemHandle on device " + std::to_string(current_device()) + " returned " +
                    describe_status(status));
  }
  return base;
}

/// Undoes ipc_open. The owner frees its memory only after every peer has done this. Null does
/// nothing.
///
/// Caller   host.
inline void ipc_close(void* base) noexcept {
  if (base != nullptr && hipIpcCloseMemHandle(base) != hipSuccess) clear_last_error();
}

}  // namespace hiris::platform
