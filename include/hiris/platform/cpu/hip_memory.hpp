// SPDX-License-Identifier: MIT
/// @file
/// HIP's memory calls on the emulator: allocation, copies, fills, and what an address belongs to.
///
///     float* x = nullptr;
///     hipMalloc(&x, n * sizeof(float));
///     hipMemcpyAsync(x, host, n * sizeof(float), hipMemcpyHostToDevice, stream);
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "hiris/platform/cpu/runtime.hpp"

enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4
};
enum hipMemoryType {
  hipMemoryTypeUnregistered = 0,
  hipMemoryTypeHost = 1,
  hipMemoryTypeDevice = 2,
  hipMemoryTypeManaged = 3
};
using hipDeviceptr_t = void*;

struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

inline constexpr unsigned hipDeviceMallocDefault = 0x0;
inline constexpr unsigned hipDeviceMallocFinegrained = 0x1;
inline constexpr unsigned hipDeviceMallocUncached = 0x3;
inline constexpr unsigned hipHostMallocDefault = 0x0;
inline constexpr unsigned hipHostMallocPortable = 0x1;
inline constexpr unsigned hipHostMallocMapped = 0x2;
inline constexpr unsigned hipHostMallocCoherent = 0x40000000;

inline hipError_t hipExtMallocWithFlags(void** at, std::size_t bytes, unsigned flags) {
  using namespace hiris::platform::cpu;
  if (flags != hipDeviceMallocDefault && flags != hipDeviceMallocFinegrained &&
      flags != hipDeviceMallocUncached)
    return leave(hipErrorInvalidValue);
  if (the_devices().count() == 0) return leave(hipErrorNoDevice);
  return leave(the_memory().allocate(at, bytes, current_device, memory_place::device));
}

inline hipError_t hipMalloc(void** at, std::size_t bytes) {
  return hipExtMallocWithFlags(at, bytes, hipDeviceMallocDefault);
}
template <class T>
hipError_t hipMalloc(T** at, std::size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(at), bytes);
}

inline hipError_t hipHostMalloc(void** at, std::size_t bytes, unsigned = hipHostMallocDefault) {
  using namespace hiris::platform::cpu;
  if (the_devices().count() == 0) return leave(hipErrorNoDevice);
  return leave(the_memory().allocate(at, bytes, current_device, memory_place::host));
}
template <class T>
hipError_t hipHostMalloc(T** at, std::size_t bytes, unsigned flags = hipHostMallocDefault) {
  return hipHostMalloc(reinterpret_cast<void**>(at), bytes, flags);
}

/// Waits for the device first, as on a GPU.
inline hipError_t hipFree(void* at) {
  using namespace hiris::platform::cpu;
  if (at == nullptr) return hipSuccess;
  const auto found = the_memory().find(at);
  if (!found || found->base != at || found->place != memory_place::device)
    return leave(hipErrorInvalidValue);
  the_devices().at(found->device)->drain();
  if (fabric_enabled()) the_fabric().forget(found->base, found->bytes);
  return leave(the_memory().release(at, memory_place::device));
}

inline hipError_t hipHostFree(void* at) {
  using namespace hiris::platform::cpu;
  const auto found = the_memory().find(at);
  if (found && found->base == at && fabric_enabled())
    the_fabric().forget(found->base, found->bytes);
  return leave(the_memory().release(at, memory_place::host));
}

inline hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer,
                                          unsigned flags) {
  using namespace hiris::platform::cpu;
  if (device_pointer == nullptr || flags != 0) return leave(hipErrorInvalidValue);
  const auto found = the_memory().find(host_pointer);
  if (!found || found->place != memory_place::host) return leave(hipErrorInvalidValue);
  *device_pointer = host_pointer;
  return hipSuccess;
}

inline hipError_t hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  using namespace hiris::platform::cpu;
  if (free_bytes == nullptr || total_bytes == nullptr) return leave(hipErrorInvalidValue);
  if (the_devices().count() == 0) return leave(hipErrorNoDevice);
  *total_bytes = the_options().memory_bytes;
  *free_bytes = *total_bytes - the_memory().used(current_device);
  return hipSuccess;
}

inline hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes,
                                        hipDeviceptr_t inside) {
  using namespace hiris::platform::cpu;
  const auto found = the_memory().find(inside);
  if (!found) return leave(hipErrorInvalidValue);
  if (base != nullptr) *base = found->base;
  if (bytes != nullptr) *bytes = found->bytes;
  return hipSuccess;
}

inline hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* at) {
  using namespace hiris::platform::cpu;
  if (attributes == nullptr || at == nullptr) return leave(hipErrorInvalidValue);
  const auto found = the_memory().find(at);
  hipPointerAttribute_t a{};
  a.type = !found                               ? hipMemoryTypeUnregistered
           : found->place == memory_place::host ? hipMemoryTypeHost
                                                : hipMemoryTypeDevice;
  a.device = found ? found->device : -1;
  if (found) a.devicePointer = const_cast<void*>(at);
  if (found && found->place == memory_place::host) a.hostPointer = const_cast<void*>(at);
  *attributes = a;
  return hipSuccess;
}

namespace hiris::platform::cpu {

/// A copy in stream order. From pageable host memory the source is read now, as on a GPU.
inline hipError_t enqueue_copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
  if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
  if (bytes == 0) return hipSuccess;
  if (to == nullptr || from == nullptr) return hipErrorInvalidValue;
  if (!the_memory().fits(to, bytes) || !the_memory().fits(from, bytes)) return hipErrorInvalidValue;
  const bool to_known = the_memory().find(to).has_value();
  const bool from_known = the_memory().find(from).has_value();
  if (((kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice) && !from_known) ||
      ((kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice) && !to_known))
    return hipErrorInvalidValue;
  operation op;
  const ihipStream_t* target = resolve(stream);
  if (!from_known && bytes <= 65536 && target != nullptr && !target->recording) {
    const auto* first = static_cast<const std::byte*>(from);
    op.function = [to, staged = std::vector<std::byte>(first, first + bytes)] {
      note_copy(to, nullptr, staged.size());
      std::memcpy(past_guard(to), staged.data(), staged.size());
    };
  } else {
    op.function = [=] {
      note_copy(to, from, bytes);
      std::memmove(past_guard(to), past_guard(from), bytes);
    };
  }
  return enqueue(stream, std::move(op));
}

/// Waits for a stream that does not record.
inline hipError_t synchronize(hipStream_t handle) {
  ihipStream_t* stream = resolve(handle);
  if (stream == nullptr) return hipErrorNoDevice;
  if (stream->recording) {
    stream->recording->invalidated = true;
    return hipErrorStreamCaptureUnsupported;
  }
  return stream->device->synchronize(*stream);
}

}  // namespace hiris::platform::cpu

inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                 hipStream_t stream = nullptr) {
  return hiris::platform::cpu::leave(
      hiris::platform::cpu::enqueue_copy(to, from, bytes, kind, stream));
}

inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  using namespace hiris::platform::cpu;
  const hipError_t status = enqueue_copy(to, from, bytes, kind, nullptr);
  return leave(status == hipSuccess && bytes > 0 ? synchronize(nullptr) : status);
}

inline hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes,
                                 hipStream_t stream = nullptr) {
  using namespace hiris::platform::cpu;
  if (bytes == 0) return hipSuccess;
  if (to == nullptr || !the_memory().find(to) || !the_memory().fits(to, bytes))
    return leave(hipErrorInvalidValue);
  operation op;
  op.function = [=] {
    note_copy(to, nullptr, bytes);
    std::memset(past_guard(to), value, bytes);
  };
  return leave(enqueue(stream, std::move(op)));
}

inline hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  using namespace hiris::platform::cpu;
  const hipError_t status = hipMemsetAsync(to, value, bytes, nullptr);
  return leave(status == hipSuccess && bytes > 0 ? synchronize(nullptr) : status);
}
