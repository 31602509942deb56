// SPDX-License-Identifier: MIT
/// @file
/// HIP's stream and event calls on the emulator.
///
///     hipStream_t s; hipEvent_t e;
///     hipStreamCreateWithFlags(&s, hipStreamNonBlocking);
///     hipEventCreateWithFlags(&e, hipEventDisableTiming);
///     hipEventRecord(e, s); hipStreamWaitEvent(other, e, 0);
#pragma once

#include "hiris/platform/cpu/hip_memory.hpp"

inline constexpr unsigned hipStreamDefault = 0x0;
inline constexpr unsigned hipStreamNonBlocking = 0x1;
inline constexpr unsigned hipEventDefault = 0x0;
inline constexpr unsigned hipEventBlockingSync = 0x1;
inline constexpr unsigned hipEventDisableTiming = 0x2;
using hipHostFn_t = void (*)(void*);

inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  using namespace hiris::platform::cpu;
  if (stream == nullptr || flags > hipStreamNonBlocking) return leave(hipErrorInvalidValue);
  executor* device = the_devices().current();
  if (device == nullptr) return leave(hipErrorNoDevice);
  *stream = device->create_stream(flags == hipStreamDefault);
  return hipSuccess;
}

inline hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithFlags(stream, hipStreamDefault);
}

/// Priorities are accepted and mean nothing.
inline hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}

inline hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return hipSuccess;
}

inline hipError_t hipStreamDestroy(hipStream_t stream) {
  using namespace hiris::platform::cpu;
  if (stream == nullptr || stream->is_default) return leave(hipErrorInvalidHandle);
  if (stream->recording) stream->recording->invalidated = true;
  stream->recording.reset();
  stream->device->close_stream(*stream);
  return hipSuccess;
}

inline hipError_t hipStreamSynchronize(hipStream_t stream) {
  return hiris::platform::cpu::leave(hiris::platform::cpu::synchronize(stream));
}

inline hipError_t hipStreamQuery(hipStream_t handle) {
  using namespace hiris::platform::cpu;
  ihipStream_t* stream = resolve(handle);
  if (stream == nullptr) return leave(hipErrorNoDevice);
  if (stream->recording) {
    stream->recording->invalidated = true;
    return leave(hipErrorStreamCaptureUnsupported);
  }
  if (!stream->device->idle(*stream)) return leave(hipErrorNotReady);
  return leave(stream->device->take_error(*stream));
}

/// Runs a host function in stream order, on the device's thread.
inline hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* argument) {
  using namespace hiris::platform::cpu;
  if (function == nullptr) return leave(hipErrorInvalidValue);
  operation op;
  op.function = [=] { function(argument); };
  op.is_hosts = true;
  return leave(enqueue(stream, std::move(op)));
}

// ---- events ------------------------------------------------------------------------------------

inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  using namespace hiris::platform::cpu;
  if (event == nullptr || flags > 7) return leave(hipErrorInvalidValue);
  *event = new ihipEvent_t;
  (*event)->timing = (flags & hipEventDisableTiming) == 0;
  return hipSuccess;
}

inline hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}

inline hipError_t hipEventDestroy(hipEvent_t event) {
  if (event == nullptr) return hiris::platform::cpu::leave(hipErrorInvalidHandle);
  delete event;
  return hipSuccess;
}

inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t handle = nullptr) {
  using namespace hiris::platform::cpu;
  if (event == nullptr) return leave(hipErrorInvalidHandle);
  ihipStream_t* stream = resolve(handle);
  if (stream == nullptr) return leave(hipErrorNoDevice);
  operation op;
  op.kind = operation::event_record;
  op.event = std::make_shared<occurrence>(stream->device);
  event->last = op.event;
  event->recording = stream->recording;
  return leave(enqueue(stream, std::move(op)));
}

inline hipError_t hipEventQuery(hipEvent_t event) {
  using namespace hiris::platform::cpu;
  if (event == nullptr) return leave(hipErrorInvalidHandle);
  if (event->recording) return leave(hipErrorCapturedEvent);
  if (!event->last) return hipSuccess;
  if (!event->last->done.load(std::memory_order_acquire)) return leave(hipErrorNotReady);
  executor::tell_host(event->last->known);
  return leave(event->last->status);
}

inline hipError_t hipEventSynchronize(hipEvent_t event) {
  using namespace hiris::platform::cpu;
  if (event == nullptr) return leave(hipErrorInvalidHandle);
  if (event->recording) return leave(hipErrorCapturedEvent);
  if (!event->last) return hipSuccess;
  event->last->device->wait(*event->last);
  return leave(event->last->status);
}

inline hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  using namespace hiris::platform::cpu;
  if (ms == nullptr) return leave(hipErrorInvalidValue);
  if (start == nullptr || stop == nullptr || !start->last || !stop->last || !start->timing ||
      !stop->timing || start->recording || stop->recording)
    return leave(hipErrorInvalidHandle);
  if (!start->last->done.load(std::memory_order_acquire) ||
      !stop->last->done.load(std::memory_order_acquire))
    return leave(hipErrorNotReady);
  executor::tell_host(stop->last->known);
  executor::tell_host(start->last->known);
  *ms = static_cast<float>(static_cast<double>(stop->last->time_ns) -
                           static_cast<double>(start->last->time_ns)) *
        1e-6f;
  return hipSuccess;
}

/// In a capture, brings the waiting stream into it.
inline hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned flags = 0) {
  using namespace hiris::platform::cpu;
  if (event == nullptr) return leave(hipErrorInvalidHandle);
  if (flags != 0) return leave(hipErrorInvalidValue);
  ihipStream_t* stream = resolve(handle);
  if (stream == nullptr) return leave(hipErrorNoDevice);
  if (!event->last) return hipSuccess;
  if (event->recording && !event->recording->ended) {
    if (stream->recording && stream->recording != event->recording)
      return leave(hipErrorStreamCaptureMerge);
    if (stream->is_default) return leave(hipErrorStreamCaptureImplicit);
    if (event->last->device != stream->device) return leave(hipErrorStreamCaptureIsolation);
    if (!stream->recording) {
      stream->recording = event->recording;
      stream->branch = event->recording->captured.branches.size();
      event->recording->captured.branches.emplace_back();
      event->recording->members.push_back(stream);
    }
  } else if (event->recording) {
    return leave(hipErrorCapturedEvent);
  } else if (stream->recording) {
    stream->recording->invalidated = true;
    return leave(hipErrorStreamCaptureIsolation);
  }
  operation op;
  op.kind = operation::event_wait;
  op.event = event->last;
  return leave(enqueue(stream, std::move(op)));
}
