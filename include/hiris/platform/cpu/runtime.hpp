// SPDX-License-Identifier: MIT
/// @file
/// The devices of this process, the current device of a thread, and the end of it all.
///
///     executor* device = the_devices().current();   // null: there is none
///     resolve(stream)                       // null is the current device's default stream
///
/// The devices are made at first use and never destroyed, so that static objects may still free
/// their memory; their threads end in a handler of exit(). A child of fork() has no devices: it has
/// to exec, or to fork before the first use, as with a GPU.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "hiris/platform/cpu/executor.hpp"
#include "hiris/platform/cpu/memory.hpp"
#include "hiris/platform/cpu/names.hpp"
#include "hiris/platform/cpu/turns.hpp"

namespace hiris::platform::cpu {

/// The device that calls of this thread go to.
inline constinit thread_local int current_device = 0;

/// Exit status of a program with races that nobody took, as under the thread sanitizer.
inline constexpr int status_of_races = 66;

class device_set {
 public:
  explicit device_set(int count) {
    fabric_decided = count > 0 && the_options().fabric_seed != 0;
    if (fabric_decided) accesses_watched = true;
    for (int i = 0; i < count; ++i) devices_.push_back(std::make_unique<executor>(i));
    if (fabric_enabled())
      for (const auto& device : devices_) the_turns().add(device.get());
    peers_.resize(devices_.size() * devices_.size());
  }

  int count() const { return static_cast<int>(devices_.size()); }
  executor* at(int ordinal) { return devices_[static_cast<std::size_t>(ordinal)].get(); }
  executor* current() { return devices_.empty() ? nullptr : at(current_device); }
  bool valid(int ordinal) const { return ordinal >= 0 && ordinal < count(); }
  const std::string& boot() const { return boot_; }

  /// @return False if it already was.
  bool enable_peer(int device, int peer) {
    return !peers_[static_cast<std::size_t>(device * count() + peer)].exchange(true);
  }
  bool disable_peer(int device, int peer) {
    return peers_[static_cast<std::size_t>(device * count() + peer)].exchange(false);
  }

  void ring() {
    for (const auto& device : devices_) device->ring();
  }
  void stop() {
    if (fabric_enabled()) the_turns().stop();
    for (const auto& device : devices_) device->stop();
  }
  /// The process ends. If it would say that all is well, but there are races that nobody took, it
  /// does not.
  void end(int status) {
    stop();
    if (status != 0 || !fabric_enabled() || the_fabric().take_races().empty()) return;
    std::fprintf(stderr, "hiris emulator: there were races: exit status %d\n", status_of_races);
    std::fflush(nullptr);
    ::_exit(status_of_races);
  }

 private:
  struct flag : std::atomic<bool> {
    flag() : std::atomic<bool>(false) {}
    flag(flag&&) noexcept : std::atomic<bool>(false) {}
  };
  static std::string read_boot() {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    return text;
  }

  std::string boot_ = read_boot();
  std::vector<std::unique_ptr<executor>> devices_;
  std::vector<flag> peers_;
};

namespace detail {
inline device_set*& devices_pointer() {
  static device_set* devices = [] {
    ::on_exit([](int status, void*) { devices_pointer()->end(status); }, nullptr);
    ::pthread_atfork(nullptr, nullptr, [] { devices_pointer() = new device_set(0); });
    return new device_set(the_options().devices);
  }();
  return devices;
}
}  // namespace detail

/// The devices of this process.
inline device_set& the_devices() { return *detail::devices_pointer(); }

inline void ring_all_devices() { the_devices().ring(); }

/// The stream that a handle means; null if there is no device.
inline ihipStream_t* resolve(hipStream_t stream) {
  if (stream != nullptr) return stream;
  executor* device = the_devices().current();
  return device == nullptr ? nullptr : device->default_stream();
}

/// Puts an operation into a stream, or into the graph that the stream records.
inline hipError_t enqueue(hipStream_t handle, operation op) {
  ihipStream_t* stream = resolve(handle);
  if (stream == nullptr) return hipErrorNoDevice;
  if (the_devices().count() == 0) return hipErrorNotInitialized;  // a stream from before a fork
  if (stream->recording) {
    if (stream->recording->invalidated) return hipErrorStreamCaptureInvalidated;
    stream->recording->captured.branches[stream->branch].push_back(std::move(op));
    return hipSuccess;
  }
  op.rank = current_rank;
  return stream->device->submit(*stream, std::move(op));
}

/// Text of the last kernel that the emulator had to end on a device: which block and why.
inline std::string last_failure(int device) { return the_devices().at(device)->last_failure(); }

}  // namespace hiris::platform::cpu
