// SPDX-License-Identifier: MIT
/// @file
/// Turns a status of the runtime into the library's exception.
///
/// The runtimes remember the last error and report it to whoever asks next, so a failure that has
/// been thrown is also taken out of that memory: the caller's own checks must not find it again.
///
///     platform::check(hipSetDevice(device), "hipSetDevice(" + std::to_string(device) + ")");
#pragma once

#include <string>

#include "hiris/error.hpp"
#include "hiris/platform/hip.hpp"

namespace hiris::platform {

/// Text of a status: its name, its number and the runtime's own explanation.
inline std::string describe_status(hipError_t status) {
  return std::string(hipGetErrorName(status)) + " (" + std::to_string(static_cast<int>(status)) +
         "): " + hipGetErrorString(status);
}

/// Takes the last error out of the runtime's memory, for a status that has been dealt with.
inline void clear_last_error() noexcept { static_cast<void>(hipGetLastError()); }

/// Whether the runtime remembers an error that nobody has taken yet.
inline bool has_last_error() noexcept { return hipPeekAtLastError() != hipSuccess; }

/// Throws unless `status` is success.
///
/// Caller   host.
///
/// @param status  What the runtime returned.
/// @param call    The call that returned it, with the arguments that matter.
/// @throws hiris::error  errc::unsupported if there is no device, else errc::runtime_failed.
inline void check(hipError_t status, const char* call) {
  if (status == hipSuccess) return;
  clear_last_error();
  int devices = 0;  // without a device every call fails, each in its own way
  if (hipGetDeviceCount(&devices) != hipSuccess) clear_last_error();
  const errc code = devices == 0 ? errc::unsupported : errc::runtime_failed;
  throw error(code, -1, std::string(call) + " returned " + describe_status(status));
}

/// As above, for a call whose text was put together.
inline void check(hipError_t status, const std::string& call) { check(status, call.c_str()); }

}  // namespace hiris::platform
