// SPDX-License-Identifier: MIT
/// @file
/// What waits in a stream: kernels, functions (copies, fills), events, graphs; and what a graph is.
///
///     operation op;
///     op.kind = operation::function_call;
///     op.function = [=] { std::memcpy(to, from, bytes); };
///     stream->device->submit(*stream, std::move(op));
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/platform/cpu/errors.hpp"
#include "hiris/platform/cpu/host_order.hpp"
#include "hiris/platform/cpu/wave.hpp"

struct ihipStream_t;

namespace hiris::platform::cpu {

class executor;
struct graph;
struct graph_exec;
struct capture;

/// One record of an event. Waits and queries refer to the record that was current when they came.
struct occurrence {
  explicit occurrence(executor* recorder) : device(recorder) {}
  executor* device;  ///< Whose lock guards `done` becoming true.
  std::atomic<bool> done{false};
  std::uint64_t time_ns = 0;       ///< Valid once done.
  hipError_t status = hipSuccess;  ///< Error of the stream before it; valid once done.
  shared_clock known;              ///< As a stream's; valid once done.
};

/// Parameters of a launch, copied, aligned for any params struct.
using param_block = std::shared_ptr<const std::byte>;

inline param_block copy_params(const void* params, std::size_t bytes, std::size_t alignment) {
  const std::align_val_t align{alignment};
  auto* memory = static_cast<std::byte*>(::operator new(bytes, align));
  std::memcpy(memory, params, bytes);
  return {memory,
          [align](const std::byte* p) { ::operator delete(const_cast<std::byte*>(p), align); }};
}

struct operation {
  enum kind_type : std::uint8_t { kernel, function_call, event_record, event_wait, graph_run };
  kind_type kind = function_call;
  std::uint64_t sequence = 0;  ///< Order of submission on the device.
  const kernel_type* type = nullptr;
  int blocks = 0;
  param_block params;
  std::function<void()> function;
  bool is_hosts = false;  ///< The function is the user's: what it waits for is not seen.
  std::shared_ptr<occurrence> event;
  std::shared_ptr<graph_exec> graph;
  host_view before;  ///< Of the host when it put this here, under a hostile fabric.
  int rank = -1;     ///< Of whose thread did, if it said.
};

/// A captured sequence a stream. Events that it uses are placeholders, made anew for every run.
struct graph {
  std::vector<std::vector<operation>> branches;
};

/// A graph ready to run.
struct graph_exec {
  graph captured;
  bool running = false;  ///< A second launch waits for the first.
  shared_clock known;    ///< When the last one ended.
};

/// The state of a capture, shared by the streams in it.
struct capture {
  graph captured;
  ihipStream_t* origin = nullptr;  ///< The stream that began it.
  std::vector<ihipStream_t*> members;
  bool invalidated = false;
  bool ended = false;
};

}  // namespace hiris::platform::cpu

/// A stream: operations in order. The handle type of HIP.
struct ihipStream_t {
  hiris::platform::cpu::executor* device = nullptr;
  bool waits_for_default = true;  ///< Not created with hipStreamNonBlocking.
  bool is_default = false;

  // Guarded by the device's lock.
  std::deque<hiris::platform::cpu::operation> queue;  // the first may be running
  bool busy = false;
  bool closed = false;  ///< Destroyed by its user; goes once it is empty.
  hipError_t error = hipSuccess;
  ihipStream_t* parent = nullptr;  ///< For a branch of a running graph.
  int open_branches = 0;
  /// Under a hostile fabric: what has happened before the next operation.
  hiris::platform::cpu::shared_clock known;
  hiris::platform::cpu::shared_clock host_known;  ///< What of that came from the host last.

  // Used by the host thread that captures.
  std::shared_ptr<hiris::platform::cpu::capture> recording;
  std::size_t branch = 0;
};

/// An event. The handle type of HIP.
struct ihipEvent_t {
  std::shared_ptr<hiris::platform::cpu::occurrence> last;  ///< Null: never recorded.
  std::shared_ptr<hiris::platform::cpu::capture> recording;
  bool timing = true;
};

using hipStream_t = ihipStream_t*;
using hipEvent_t = ihipEvent_t*;
using hipGraph_t = hiris::platform::cpu::graph*;
