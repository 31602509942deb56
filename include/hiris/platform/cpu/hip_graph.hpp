// SPDX-License-Identifier: MIT
/// @file
/// HIP's stream capture and graphs on the emulator.
///
///     hipStreamBeginCapture(s, hipStreamCaptureModeThreadLocal);
///     op.run(s, a, b, c);                                        // recorded, not run
///     hipGraph_t g; hipStreamEndCapture(s, &g);
///     hipGraphExec_t x; hipGraphInstantiate(&x, g, nullptr, nullptr, 0);
///     for (int i = 0; i < 1000; ++i) hipGraphLaunch(x, s);
///
/// A stream that waits for an event of the capture joins it, and must be joined again before the
/// end. All streams of a capture belong to one device.
#pragma once

#include <algorithm>

#include "hiris/platform/cpu/hip_stream.hpp"

using hipGraphExec_t = std::shared_ptr<hiris::platform::cpu::graph_exec>*;
using hipGraphNode_t = void*;

enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal = 0,
  hipStreamCaptureModeThreadLocal = 1,
  hipStreamCaptureModeRelaxed = 2
};
enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone = 0,
  hipStreamCaptureStatusActive = 1,
  hipStreamCaptureStatusInvalidated = 2
};

inline hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode) {
  using namespace hiris::platform::cpu;
  ihipStream_t* stream = resolve(handle);
  if (stream == nullptr) return leave(hipErrorNoDevice);
  if (stream->is_default) return leave(hipErrorStreamCaptureImplicit);
  if (stream->recording) return leave(hipErrorStreamCaptureUnsupported);
  stream->recording = std::make_shared<capture>();
  stream->recording->origin = stream;
  stream->recording->captured.branches.emplace_back();
  stream->recording->members.push_back(stream);
  stream->branch = 0;
  return hipSuccess;
}

inline hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus* status) {
  using namespace hiris::platform::cpu;
  ihipStream_t* stream = resolve(handle);
  if (status == nullptr) return leave(hipErrorInvalidValue);
  if (stream == nullptr) return leave(hipErrorNoDevice);
  *status = !stream->recording               ? hipStreamCaptureStatusNone
            : stream->recording->invalidated ? hipStreamCaptureStatusInvalidated
                                             : hipStreamCaptureStatusActive;
  return hipSuccess;
}

namespace hiris::platform::cpu {

/// True if the last operation of every forked branch is an event that another branch waits for.
inline bool joined(const graph& g) {
  for (std::size_t i = 1; i < g.branches.size(); ++i) {
    if (g.branches[i].empty() || g.branches[i].back().kind == operation::event_wait) continue;
    const operation& last = g.branches[i].back();
    if (last.kind != operation::event_record) return false;
    bool awaited = false;
    for (std::size_t j = 0; j < g.branches.size(); ++j)
      for (const operation& op : g.branches[j])
        awaited |= j != i && op.kind == operation::event_wait && op.event == last.event;
    if (!awaited) return false;
  }
  return true;
}

}  // namespace hiris::platform::cpu

inline hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t* graph_out) {
  using namespace hiris::platform::cpu;
  ihipStream_t* stream = resolve(handle);
  if (graph_out == nullptr) return leave(hipErrorInvalidValue);
  *graph_out = nullptr;
  if (stream == nullptr) return leave(hipErrorNoDevice);
  if (!stream->recording) return leave(hipErrorInvalidValue);
  const auto ended = stream->recording;
  if (ended->origin != stream) return leave(hipErrorStreamCaptureUnmatched);
  ended->ended = true;
  for (ihipStream_t* member : ended->members)
    if (member->recording == ended) member->recording.reset();
  if (ended->invalidated) return leave(hipErrorStreamCaptureInvalidated);
  if (!joined(ended->captured)) return leave(hipErrorStreamCaptureUnjoined);
  *graph_out = new graph(std::move(ended->captured));
  return hipSuccess;
}

inline hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t captured, hipGraphNode_t*,
                                      char*, std::size_t) {
  using namespace hiris::platform::cpu;
  if (exec == nullptr || captured == nullptr) return leave(hipErrorInvalidValue);
  auto made = std::make_shared<graph_exec>();
  made->captured = *captured;
  *exec = new std::shared_ptr<graph_exec>(std::move(made));
  return hipSuccess;
}

inline hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t captured,
                                               unsigned long long) {
  return hipGraphInstantiate(exec, captured, nullptr, nullptr, 0);
}

inline hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  using namespace hiris::platform::cpu;
  if (exec == nullptr) return leave(hipErrorInvalidValue);
  const ihipStream_t* target = resolve(stream);
  if (target == nullptr) return leave(hipErrorNoDevice);
  if (target->recording) return leave(hipErrorNotSupported);  // a graph in a graph
  operation op;
  op.kind = operation::graph_run;
  op.graph = *exec;
  return leave(enqueue(stream, std::move(op)));
}

inline hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  if (exec == nullptr) return hiris::platform::cpu::leave(hipErrorInvalidValue);
  delete exec;
  return hipSuccess;
}

inline hipError_t hipGraphDestroy(hipGraph_t captured) {
  if (captured == nullptr) return hiris::platform::cpu::leave(hipErrorInvalidValue);
  delete captured;
  return hipSuccess;
}
