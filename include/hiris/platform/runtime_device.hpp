// SPDX-License-Identifier: MIT
/// @file
/// Devices: how many, what they are, which one is current, who can reach whom.
///
///     if (platform::device_count() == 0) return skip("no device");
///     const platform::device_info info = platform::describe(0);
///     platform::device_guard on(0);   // the current device, until the end of the scope
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "hiris/error.hpp"
#include "hiris/platform/hip.hpp"
#include "hiris/platform/runtime_error.hpp"

namespace hiris::platform {

/// Number of devices that this process sees; 0 when there is none, or no driver.
///
/// Caller   host.
inline int device_count() noexcept {
  int count = 0;
  if (hipGetDeviceCount(&count) == hipSuccess) return count;
  clear_last_error();
  return 0;
}

/// The device that calls of this thread refer to.
///
/// Caller   host.
/// @throws hiris::error  errc::unsupported if there is no device.
inline int current_device() {
  int device = 0;
  check(hipGetDevice(&device), "hipGetDevice");
  return device;
}

/// Makes a device the current one of this thread, until another call says otherwise.
///
/// Caller   host.
/// @param device  Ordinal, 0 .. device_count()-1.
/// @throws hiris::error  errc::runtime_failed if there is no such device.
inline void make_current(int device) {
  check(hipSetDevice(device), "hipSetDevice(" + std::to_string(device) + ")");
}

/// Makes a device the current one of this thread for a scope, and restores the former one.
class device_guard {
 public:
  /// @param device  Ordinal, 0 .. device_count()-1.
  /// @throws hiris::error  errc::runtime_failed if there is no such device.
  explicit device_guard(int device) : device_(device), former_(current_device()) {
    if (device_ != former_)
      check(hipSetDevice(device_), "hipSetDevice(" + std::to_string(device_) + ")");
  }
  ~device_guard() {
    if (device_ != former_ && hipSetDevice(former_) != hipSuccess) clear_last_error();
  }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  int device_;
  int former_;
};

/// What the library wants to know of a device.
struct device_info {
  std::string name;                ///< As marketed, e.g. "AMD Instinct MI300X".
  std::string arch;                ///< gfx90a, gfx942, gfx950, sm_90 or emulated.
  int compute_units;               ///< Compute units, or streaming multiprocessors.
  std::size_t shared_bytes;        ///< Most workgroup memory that one workgroup can have.
  std::array<std::byte, 16> uuid;  ///< The same for every process that sees the device.
};

/// Architectures that the library is compiled and checked for. One build meets only its own.
inline constexpr std::array<std::string_view, 5> supported_archs = {"gfx90a", "gfx942", "gfx950",
                                                                    "sm_90", "emulated"};

/// Describes a device, and refuses one that the library cannot run on.
///
/// Caller   host.
/// Cost     a query of the driver; call it once a device.
///
/// @param device  Ordinal, 0 .. device_count()-1.
/// @throws hiris::error  errc::unsupported if there is no device, or its architecture is not one of
///                       supported_archs; errc::invalid_argument for an ordinal out of range.
inline device_info describe(int device) {
  const int count = device_count();
  if (count == 0)
    throw error(errc::unsupported, -1,
                "device " + std::to_string(device) + " asked for, but there is no device");
  if (device < 0 || device >= count)
    throw error(errc::invalid_argument, -1,
                "device " + std::to_string(device) + " asked for, allowed are 0 to " +
                    std::to_string(count - 1));

  hipDeviceProp_t properties{};
  check(hipGetDeviceProperties(&properties, device),
        "hipGetDeviceProperties(" + std::to_string(device) + ")");
  device_info info{};
  info.name = properties.name;
  info.arch = properties.gcnArchName;
  info.arch = info.arch.substr(0, info.arch.find(':'));  // "gfx942:sramecc+:xnack-"
  info.compute_units = properties.multiProcessorCount;
  info.shared_bytes = properties.sharedMemPerBlock;

  hipUUID uuid{};
  check(hipDeviceGetUuid(&uuid, device), "hipDeviceGetUuid(" + std::to_string(device) + ")");
  static_assert(sizeof uuid.bytes == sizeof info.uuid);
  std::memcpy(info.uuid.data(), uuid.bytes, sizeof info.uuid);

  std::string allowed;
  for (std::string_view arch : supported_archs) {
    if (info.arch == arch) return info;
    allowed += (allowed.empty() ? "" : ", ") + std::string(arch);
  }
  throw error(errc::unsupported, -1,
              "device " + std::to_string(device) + " (" + info.name + ") has architecture " +
                  info.arch + ", allowed are " + allowed);
}

/// Lets kernels on `device` load and store the memory of `peer_device`, both of this process.
/// Does nothing if they can already, or are the same device.
///
/// Caller   host.
/// @throws hiris::error  errc::mapping_failed if the devices cannot reach each other.
inline void enable_peer_access(int device, int peer_device) {
  if (device == peer_device) return;
  const std::string pair = std::to_string(device) + ", " + std::to_string(peer_device);
  int can = 0;
  check(hipDeviceCanAccessPeer(&can, device, peer_device), "hipDeviceCanAccessPeer(" + pair + ")");
  if (can == 0)
    throw error(errc::mapping_failed, -1,
                "device " + std::to_string(device) + " cannot access the memory of device " +
                    std::to_string(peer_device) + "; the ranks of a heap need peer access");
  const device_guard on(device);
  const hipError_t status = hipDeviceEnablePeerAccess(peer_device, 0);
  if (status == hipErrorPeerAccessAlreadyEnabled)
    clear_last_error();
  else
    check(status, "hipDeviceEnablePeerAccess(" + pair + ")");
}

/// Asks for a hardware queue a stream, in a process where several ranks share a device.
///
/// Both runtimes deal streams onto few queues (8 on CUDA, 4 on ROCm), and a queue starts its
/// kernels in the order of submission: behind a kernel that must wait for its stream's predecessor,
/// another rank's kernel cannot start, although that predecessor waits for it. Measured on H200
/// with four ranks a device: with one queue none of 21 calls of a barrier got through, with eight
/// all did. Variables that are set already are left alone.
///
/// Caller   host, before the first call of the runtime in this process and before threads that read
///          the environment. Has no effect later, and none on the emulator.
inline void reserve_hardware_queues() noexcept {
  static_cast<void>(::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0));
  static_cast<void>(::setenv("GPU_MAX_HW_QUEUES", "32", 0));
}

/// Waits until everything that was put on the current device has finished.
///
/// Caller   host.
inline void synchronize_device() { check(hipDeviceSynchronize(), "hipDeviceSynchronize"); }

}  // namespace hiris::platform
