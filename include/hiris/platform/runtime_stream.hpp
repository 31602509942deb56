// SPDX-License-Identifier: MIT
/// @file
/// Streams, events and captured graphs that are destroyed with their owners.
///
///     platform::owned_stream stream;
///     auto step = platform::graph::capture(stream, [&] { op.run(stream, a, b, c); });
///     for (int i = 0; i < 1000; ++i) step.launch(stream);
///     stream.synchronize();
#pragma once

#include <utility>

#include "hiris/error.hpp"
#include "hiris/platform/hip.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime_error.hpp"

namespace hiris::platform {

/// A stream of the runtime, owned by whoever made it. Null is the default stream.
using stream = hipStream_t;

/// Waits until everything that was put on a stream has finished.
///
/// Caller   host.
inline void synchronize(stream on) { check(hipStreamSynchronize(on), "hipStreamSynchronize"); }

/// Whether everything that was put on a stream has finished.
///
/// Caller   host.
inline bool is_idle(stream on) {
  const hipError_t status = hipStreamQuery(on);
  if (status == hipErrorNotReady) {
    clear_last_error();
    return false;
  }
  check(status, "hipStreamQuery");
  return true;
}

namespace detail {

struct empty_kernel {
  static constexpr int block_threads = 64;
  struct params {};
  struct shared {};
  static HIRIS_DEVICE void run(const params&, shared&) {}
};

}  // namespace detail

/// Gives a stream a first kernel, an empty one, and waits for it. For streams that were not made by
/// `owned_stream`, before the first kernel on them that other ranks wait for.
///
/// A runtime sets up a stream's queue at its first work, and the device may do that only when the
/// kernels that run have ended: where ranks share a device and those kernels wait for this one,
/// never. Measured on H200 with four ranks a device, each on a stream of its own: 16 of 71 first
/// calls of a barrier ran into their time limit, and none of 54 after the streams had run
/// something.
///
/// Caller   host; not in a capture, and not while kernels of this device wait for this rank.
inline void prepare_stream(stream on) {
  launch<detail::empty_kernel>(on, 1, {});
  synchronize(on);
}

/// A stream on the device that was current when it was made, prepared as by `prepare_stream`. It
/// does not wait for the default stream, nor the default stream for it. Move-only.
class owned_stream {
 public:
  owned_stream() : owned_stream(create()) { prepare_stream(stream_); }
  ~owned_stream() {
    if (stream_ != nullptr && hipStreamDestroy(stream_) != hipSuccess) clear_last_error();
  }
  owned_stream(owned_stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  owned_stream& operator=(owned_stream&& other) noexcept {
    owned_stream moved(std::move(other));
    std::swap(stream_, moved.stream_);
    return *this;
  }
  owned_stream(const owned_stream&) = delete;
  owned_stream& operator=(const owned_stream&) = delete;

  stream get() const noexcept { return stream_; }
  operator stream() const noexcept { return stream_; }  // NOLINT: it is one
  void synchronize() const { platform::synchronize(stream_); }

 private:
  explicit owned_stream(stream mine) noexcept : stream_(mine) {}
  static stream create() {
    stream made = nullptr;
    check(hipStreamCreateWithFlags(&made, hipStreamNonBlocking), "hipStreamCreateWithFlags");
    return made;
  }
  stream stream_ = nullptr;
};

/// A point in a stream: to be waited for, and to take the time by. Move-only.
class owned_event {
 public:
  owned_event() { check(hipEventCreate(&event_), "hipEventCreate"); }
  ~owned_event() {
    if (event_ != nullptr && hipEventDestroy(event_) != hipSuccess) clear_last_error();
  }
  owned_event(owned_event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  owned_event& operator=(owned_event&& other) noexcept {
    owned_event moved(std::move(other));
    std::swap(event_, moved.event_);
    return *this;
  }
  owned_event(const owned_event&) = delete;
  owned_event& operator=(const owned_event&) = delete;

  hipEvent_t get() const noexcept { return event_; }
  /// Marks the present end of a stream.
  void record(stream on) { check(hipEventRecord(event_, on), "hipEventRecord"); }
  /// The host waits for the mark.
  void synchronize() const { check(hipEventSynchronize(event_), "hipEventSynchronize"); }
  /// What is put on `on` after this call waits for the mark.
  void block(stream on) const { check(hipStreamWaitEvent(on, event_, 0), "hipStreamWaitEvent"); }

 private:
  hipEvent_t event_ = nullptr;
};

/// Milliseconds between two marks that have been reached.
///
/// Caller   host.
inline float elapsed_ms(const owned_event& start, const owned_event& stop) {
  float ms = 0;
  check(hipEventElapsedTime(&ms, start.get(), stop.get()), "hipEventElapsedTime");
  return ms;
}

/// A sequence of launches and copies, recorded once and replayed with one call. Kernel arguments
/// are recorded with it: what changes from replay to replay must live in device memory. Move-only.
class graph {
 public:
  /// Records what `f()` puts on `on` instead of running it. If `f` throws, the stream is as before.
  ///
  /// Caller   host. In `f`, nothing may allocate, synchronize or use the default stream.
  template <class F>
  static graph capture(stream on, F&& f) {
    check(hipStreamBeginCapture(on, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    hipGraph_t recorded = nullptr;
    try {
      std::forward<F>(f)();
    } catch (...) {
      if (hipStreamEndCapture(on, &recorded) != hipSuccess) clear_last_error();
      if (recorded != nullptr && hipGraphDestroy(recorded) != hipSuccess) clear_last_error();
      throw;
    }
    check(hipStreamEndCapture(on, &recorded), "hipStreamEndCapture");
    graph made;
    const hipError_t status = hipGraphInstantiate(&made.executable_, recorded, nullptr, nullptr, 0);
    if (hipGraphDestroy(recorded) != hipSuccess && status == hipSuccess) clear_last_error();
    check(status, "hipGraphInstantiate");
    return made;
  }
  ~graph() {
    if (executable_ != nullptr && hipGraphExecDestroy(executable_) != hipSuccess)
      clear_last_error();
  }
  graph(graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  graph& operator=(graph&& other) noexcept {
    graph moved(std::move(other));
    std::swap(executable_, moved.executable_);
    return *this;
  }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  /// Puts the whole sequence on a stream.
  ///
  /// Caller   host.
  void launch(stream on) { check(hipGraphLaunch(executable_, on), "hipGraphLaunch"); }

 private:
  graph() = default;
  hipGraphExec_t executable_ = nullptr;
};

}  // namespace hiris::platform
