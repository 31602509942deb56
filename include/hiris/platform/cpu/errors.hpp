// SPDX-License-Identifier: MIT
/// @file
/// The emulator's error codes: HIP's names and numbers, their texts, and the last error of a
/// thread.
///
///     if (hipSetDevice(99) != hipSuccess) puts(hipGetErrorName(hipGetLastError()));
///
/// As in HIP and CUDA, a call that fails leaves its code behind for hipGetLastError(), which clears
/// it; a call that succeeds does not.
#pragma once

/// The codes that the emulator returns, with HIP's numbers.
enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorMemoryAllocation = 2,
  hipErrorNotInitialized = 3,
  hipErrorInitializationError = 3,
  hipErrorDeinitialized = 4,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInvalidMemcpyDirection = 21,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidContext = 201,
  hipErrorMapFailed = 205,
  hipErrorPeerAccessUnsupported = 217,
  hipErrorInvalidHandle = 400,
  hipErrorInvalidResourceHandle = 400,
  hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700,
  hipErrorLaunchOutOfResources = 701,
  hipErrorLaunchTimeOut = 702,
  hipErrorPeerAccessAlreadyEnabled = 704,
  hipErrorPeerAccessNotEnabled = 705,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorStreamCaptureInvalidated = 901,
  hipErrorStreamCaptureMerge = 902,
  hipErrorStreamCaptureUnmatched = 903,
  hipErrorStreamCaptureUnjoined = 904,
  hipErrorStreamCaptureIsolation = 905,
  hipErrorStreamCaptureImplicit = 906,
  hipErrorCapturedEvent = 907,
  hipErrorUnknown = 999
};

namespace hiris::platform::cpu {

/// The last error of the calling thread.
inline constinit thread_local hipError_t last_error = hipSuccess;

/// Returns `status`, having left a failure behind for hipGetLastError().
inline hipError_t leave(hipError_t status) noexcept {
  if (status != hipSuccess) [[unlikely]]
    last_error = status;
  return status;
}

struct error_text {
  const char* name;
  const char* text;
};

inline error_text describe(hipError_t status) noexcept {
  switch (status) {
    case hipSuccess:
      return {"hipSuccess", "no error"};
    case hipErrorInvalidValue:
      return {"hipErrorInvalidValue", "invalid argument"};
    case hipErrorOutOfMemory:
      return {"hipErrorOutOfMemory", "out of memory"};
    case hipErrorNotInitialized:
      return {"hipErrorNotInitialized", "initialization error"};
    case hipErrorDeinitialized:
      return {"hipErrorDeinitialized", "the emulator has been shut down with the process"};
    case hipErrorInvalidConfiguration:
      return {"hipErrorInvalidConfiguration", "invalid configuration argument"};
    case hipErrorInvalidDevicePointer:
      return {"hipErrorInvalidDevicePointer", "invalid device pointer"};
    case hipErrorInvalidMemcpyDirection:
      return {"hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"};
    case hipErrorInvalidDeviceFunction:
      return {"hipErrorInvalidDeviceFunction", "invalid device function"};
    case hipErrorNoDevice:
      return {"hipErrorNoDevice", "no device is detected"};
    case hipErrorInvalidDevice:
      return {"hipErrorInvalidDevice", "invalid device ordinal"};
    case hipErrorInvalidContext:
      return {"hipErrorInvalidContext", "invalid device context"};
    case hipErrorMapFailed:
      return {"hipErrorMapFailed", "mapping of memory failed"};
    case hipErrorPeerAccessUnsupported:
      return {"hipErrorPeerAccessUnsupported", "peer access is not supported between devices"};
    case hipErrorInvalidHandle:
      return {"hipErrorInvalidHandle", "invalid resource handle"};
    case hipErrorNotReady:
      return {"hipErrorNotReady", "device not ready"};
    case hipErrorIllegalAddress:
      return {"hipErrorIllegalAddress", "an illegal memory access"};
    case hipErrorLaunchOutOfResources:
      return {"hipErrorLaunchOutOfResources", "too many resources requested for launch"};
    case hipErrorLaunchTimeOut:
      return {"hipErrorLaunchTimeOut", "the launch timed out"};
    case hipErrorPeerAccessAlreadyEnabled:
      return {"hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"};
    case hipErrorPeerAccessNotEnabled:
      return {"hipErrorPeerAccessNotEnabled", "peer access has not been enabled"};
    case hipErrorLaunchFailure:
      return {"hipErrorLaunchFailure", "unspecified launch failure"};
    case hipErrorNotSupported:
      return {"hipErrorNotSupported", "operation not supported"};
    case hipErrorStreamCaptureUnsupported:
      return {"hipErrorStreamCaptureUnsupported",
              "operation not permitted when stream is capturing"};
    case hipErrorStreamCaptureInvalidated:
      return {"hipErrorStreamCaptureInvalidated", "operation failed during capture"};
    case hipErrorStreamCaptureMerge:
      return {"hipErrorStreamCaptureMerge", "operation would merge two captures"};
    case hipErrorStreamCaptureUnmatched:
      return {"hipErrorStreamCaptureUnmatched", "capture was not begun in this stream"};
    case hipErrorStreamCaptureUnjoined:
      return {"hipErrorStreamCaptureUnjoined", "capture has a fork that was not joined"};
    case hipErrorStreamCaptureIsolation:
      return {"hipErrorStreamCaptureIsolation", "dependency crosses out of the capture"};
    case hipErrorStreamCaptureImplicit:
      return {"hipErrorStreamCaptureImplicit", "capture of the legacy stream is not permitted"};
    case hipErrorCapturedEvent:
      return {"hipErrorCapturedEvent", "operation not permitted on an event of a capture"};
    case hipErrorUnknown:
      break;
  }
  return {"hipErrorUnknown", "unknown error"};
}

}  // namespace hiris::platform::cpu

/// The error that a call on this thread left last; clears it.
inline hipError_t hipGetLastError() noexcept {
  const hipError_t status = hiris::platform::cpu::last_error;
  hiris::platform::cpu::last_error = hipSuccess;
  return status;
}

/// The error that a call on this thread left last.
inline hipError_t hipPeekAtLastError() noexcept { return hiris::platform::cpu::last_error; }

/// The name of a code, e.g. "hipErrorInvalidValue".
inline const char* hipGetErrorName(hipError_t status) noexcept {
  return hiris::platform::cpu::describe(status).name;
}

/// A short text for a code, e.g. "invalid argument".
inline const char* hipGetErrorString(hipError_t status) noexcept {
  return hiris::platform::cpu::describe(status).text;
}
