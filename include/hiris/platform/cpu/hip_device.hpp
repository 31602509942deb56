// SPDX-License-Identifier: MIT
/// @file
/// HIP's device calls on the emulator: which devices there are, what they are, who reaches whom.
///
///     int n = 0;
///     if (hipGetDeviceCount(&n) == hipSuccess && n > 1) hipSetDevice(1);
#pragma once

#include <cstdio>
#include <cstring>
#include <functional>

#include "hiris/platform/cpu/runtime.hpp"

struct hipUUID {
  char bytes[16];
};
using hipDevice_t = int;

/// The properties that the emulator knows.
struct hipDeviceProp_t {
  char name[256];
  hipUUID uuid;
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  int major;
  int minor;
  int multiProcessorCount;
  int integrated;
  int canMapHostMemory;
  int concurrentKernels;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  std::size_t sharedMemPerMultiprocessor;
  std::size_t maxSharedMemoryPerMultiProcessor;
  int unifiedAddressing;
  char gcnArchName[256];
};

enum hipDeviceAttribute_t {
  hipDeviceAttributeClockRate,
  hipDeviceAttributeWallClockRate,
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeMaxThreadsPerBlock,
  hipDeviceAttributeMaxThreadsPerMultiProcessor,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeWarpSize,
  hipDeviceAttributeIntegrated,
  hipDeviceAttributeCanMapHostMemory,
  hipDeviceAttributeConcurrentKernels
};

inline hipError_t hipInit(unsigned flags) {
  return hiris::platform::cpu::leave(flags == 0 ? hipSuccess : hipErrorInvalidValue);
}

inline hipError_t hipGetDeviceCount(int* count) {
  using namespace hiris::platform::cpu;
  if (count == nullptr) return leave(hipErrorInvalidValue);
  *count = the_devices().count();
  return leave(*count > 0 ? hipSuccess : hipErrorNoDevice);
}

inline hipError_t hipSetDevice(int device) {
  using namespace hiris::platform::cpu;
  if (the_devices().count() == 0) return leave(hipErrorNoDevice);
  if (!the_devices().valid(device)) return leave(hipErrorInvalidDevice);
  current_device = device;
  return hipSuccess;
}

inline hipError_t hipGetDevice(int* device) {
  using namespace hiris::platform::cpu;
  if (device == nullptr) return leave(hipErrorInvalidValue);
  if (the_devices().count() == 0) return leave(hipErrorNoDevice);
  *device = current_device;
  return hipSuccess;
}

/// Unique for boot of the host, process and ordinal: the devices of two processes are different
/// ones.
inline hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  using namespace hiris::platform::cpu;
  if (uuid == nullptr) return leave(hipErrorInvalidValue);
  if (!the_devices().valid(device)) return leave(hipErrorInvalidDevice);
  const std::uint64_t boot = std::hash<std::string>()(the_devices().boot());
  const std::uint32_t process = static_cast<std::uint32_t>(::getpid());
  const std::uint32_t ordinal = static_cast<std::uint32_t>(device);
  std::memcpy(uuid->bytes, &boot, 8);
  std::memcpy(uuid->bytes + 8, &process, 4);
  std::memcpy(uuid->bytes + 12, &ordinal, 4);
  return hipSuccess;
}

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  using namespace hiris::platform::cpu;
  if (properties == nullptr) return leave(hipErrorInvalidValue);
  if (!the_devices().valid(device)) return leave(hipErrorInvalidDevice);
  hipDeviceProp_t p{};
  std::snprintf(p.name, sizeof p.name, "hiris emulator %d", device);
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "emulated");
  (void)hipDeviceGetUuid(&p.uuid, device);
  p.totalGlobalMem = the_options().memory_bytes;
  p.sharedMemPerBlock = shared_bytes_per_unit;
  p.sharedMemPerMultiprocessor = p.maxSharedMemoryPerMultiProcessor = shared_bytes_per_unit;
  p.regsPerBlock = 65536;
  p.warpSize = lanes_per_wave;
  p.maxThreadsPerBlock = 1024;
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = 1024;
    p.maxGridSize[i] = i == 0 ? 2147483647 : 65535;
  }
  p.clockRate = 1000000;
  p.major = 9;
  p.minor = 4;
  p.multiProcessorCount = the_options().compute_units;
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = 1;
  p.pciBusID = device;
  p.l2CacheSize = 4 << 20;
  p.maxThreadsPerMultiProcessor = threads_per_unit;
  *properties = p;
  return hipSuccess;
}

inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int device) {
  using namespace hiris::platform::cpu;
  if (value == nullptr) return leave(hipErrorInvalidValue);
  if (!the_devices().valid(device)) return leave(hipErrorInvalidDevice);
  switch (which) {
    case hipDeviceAttributeClockRate:
    case hipDeviceAttributeWallClockRate:
      *value = 1000000;
      return hipSuccess;  // kHz: 1 ns a tick
    case hipDeviceAttributeMultiprocessorCount:
      *value = the_options().compute_units;
      return hipSuccess;
    case hipDeviceAttributeMaxThreadsPerBlock:
      *value = 1024;
      return hipSuccess;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      *value = threads_per_unit;
      return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      *value = static_cast<int>(shared_bytes_per_unit);
      return hipSuccess;
    case hipDeviceAttributeWarpSize:
      *value = lanes_per_wave;
      return hipSuccess;
    case hipDeviceAttributeIntegrated:
      *value = 0;
      return hipSuccess;
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeConcurrentKernels:
      *value = 1;
      return hipSuccess;
  }
  return leave(hipErrorInvalidValue);
}

inline hipError_t hipDeviceSynchronize() {
  using namespace hiris::platform::cpu;
  executor* device = the_devices().current();
  return leave(device == nullptr ? hipErrorNoDevice : device->synchronize());
}

inline hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  using namespace hiris::platform::cpu;
  if (can == nullptr) return leave(hipErrorInvalidValue);
  if (!the_devices().valid(device) || !the_devices().valid(peer))
    return leave(hipErrorInvalidDevice);
  *can = device != peer ? 1 : 0;
  return hipSuccess;
}

inline hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  using namespace hiris::platform::cpu;
  if (flags != 0) return leave(hipErrorInvalidValue);
  if (!the_devices().valid(peer) || peer == current_device) return leave(hipErrorInvalidDevice);
  return leave(the_devices().enable_peer(current_device, peer) ? hipSuccess
                                                               : hipErrorPeerAccessAlreadyEnabled);
}

inline hipError_t hipDeviceDisablePeerAccess(int peer) {
  using namespace hiris::platform::cpu;
  if (!the_devices().valid(peer) || peer == current_device) return leave(hipErrorInvalidDevice);
  return leave(the_devices().disable_peer(current_device, peer) ? hipSuccess
                                                                : hipErrorPeerAccessNotEnabled);
}
