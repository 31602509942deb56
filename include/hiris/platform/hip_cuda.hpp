// SPDX-License-Identifier: MIT
/// @file
/// HIP names on cuda: the short list that the library and its examples use, over the CUDA 13
/// runtime.
///
/// The HIP-on-NVIDIA headers that AMD published do not compile with CUDA 13 (cudaDeviceProp lost
/// members), hence this list. A name that is missing here is a compile error, never a silent
/// change. Types are aliases, calls are inline functions that do nothing else; four do a little
/// more and say so.
///
///     int count = 0;
///     hipError_t status = hipGetDeviceCount(&count);   // cudaGetDeviceCount
#pragma once

#include <cuda.h>  // types of the driver; nothing of libcuda is linked
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

// ---- status ----------------------------------------------------------------------------------
using hipError_t = cudaError_t;
inline constexpr hipError_t hipSuccess = cudaSuccess;
inline constexpr hipError_t hipErrorInvalidValue = cudaErrorInvalidValue;
inline constexpr hipError_t hipErrorOutOfMemory = cudaErrorMemoryAllocation;
inline constexpr hipError_t hipErrorNoDevice = cudaErrorNoDevice;
inline constexpr hipError_t hipErrorInvalidDevice = cudaErrorInvalidDevice;
inline constexpr hipError_t hipErrorInvalidResourceHandle = cudaErrorInvalidResourceHandle;
inline constexpr hipError_t hipErrorNotReady = cudaErrorNotReady;
inline constexpr hipError_t hipErrorPeerAccessAlreadyEnabled = cudaErrorPeerAccessAlreadyEnabled;
inline constexpr hipError_t hipErrorNotSupported = cudaErrorNotSupported;

inline hipError_t hipGetLastError() { return cudaGetLastError(); }
inline hipError_t hipPeekAtLastError() { return cudaPeekAtLastError(); }
inline const char* hipGetErrorName(hipError_t status) { return cudaGetErrorName(status); }
inline const char* hipGetErrorString(hipError_t status) { return cudaGetErrorString(status); }

// ---- devices ---------------------------------------------------------------------------------
using hipDevice_t = int;
using hipUUID = cudaUUID_t;
/// The members that are used, filled by hipGetDeviceProperties.
struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];  ///< "sm_90"
  int multiProcessorCount;
  int warpSize;
  std::size_t totalGlobalMem;
  std::size_t
      sharedMemPerBlock;  ///< What a kernel may ask for: `launch` raises the 48 KiB default.
};
enum hipDeviceAttribute_t {
  hipDeviceAttributeWallClockRate,
  hipDeviceAttributeMultiprocessorCount
};

/// A driver that is too old, or none at all, is no device: as HIP has it.
inline hipError_t hipGetDeviceCount(int* count) {
  const cudaError_t status = cudaGetDeviceCount(count);
  return status == cudaErrorInsufficientDriver ? cudaErrorNoDevice : status;
}
inline hipError_t hipSetDevice(int device) { return cudaSetDevice(device); }
inline hipError_t hipGetDevice(int* device) { return cudaGetDevice(device); }
inline hipError_t hipDeviceSynchronize() { return cudaDeviceSynchronize(); }
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  cudaDeviceProp from{};
  const cudaError_t status = cudaGetDeviceProperties(&from, device);
  if (status != cudaSuccess) return status;
  *properties = hipDeviceProp_t{};
  std::memcpy(properties->name, from.name, sizeof properties->name);
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "sm_%d%d", from.major,
                from.minor);
  properties->multiProcessorCount = from.multiProcessorCount;
  properties->warpSize = from.warpSize;
  properties->totalGlobalMem = from.totalGlobalMem;
  properties->sharedMemPerBlock = from.sharedMemPerBlockOptin;
  return cudaSuccess;
}
inline hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  cudaDeviceProp from{};
  const cudaError_t status = cudaGetDeviceProperties(&from, device);
  if (status == cudaSuccess) *uuid = from.uuid;
  return status;
}
/// The wall clock of `clock_ns` counts nanoseconds: 1,000,000 kHz.
inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  if (attribute == hipDeviceAttributeMultiprocessorCount)
    return cudaDeviceGetAttribute(value, cudaDevAttrMultiProcessorCount, device);
  *value = 1000000;
  return cudaSuccess;
}

// ---- memory ----------------------------------------------------------------------------------
using hipDeviceptr_t = void*;
using hipMemcpyKind = cudaMemcpyKind;
inline constexpr hipMemcpyKind hipMemcpyHostToDevice = cudaMemcpyHostToDevice;
inline constexpr hipMemcpyKind hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
inline constexpr hipMemcpyKind hipMemcpyDeviceToDevice = cudaMemcpyDeviceToDevice;
inline constexpr hipMemcpyKind hipMemcpyHostToHost = cudaMemcpyHostToHost;
inline constexpr hipMemcpyKind hipMemcpyDefault = cudaMemcpyDefault;
inline constexpr unsigned hipDeviceMallocDefault = 0;
inline constexpr unsigned hipDeviceMallocUncached = 3;  // NVLink peers are coherent: plain memory
inline constexpr unsigned hipHostMallocDefault = cudaHostAllocDefault;
inline constexpr unsigned hipHostMallocPortable = cudaHostAllocPortable;
inline constexpr unsigned hipHostMallocMapped = cudaHostAllocMapped;
inline constexpr unsigned hipHostMallocCoherent = 0;  // always is
using hipPointerAttribute_t = cudaPointerAttributes;
using hipMemoryType = cudaMemoryType;
inline constexpr hipMemoryType hipMemoryTypeUnregistered = cudaMemoryTypeUnregistered;
inline constexpr hipMemoryType hipMemoryTypeHost = cudaMemoryTypeHost;
inline constexpr hipMemoryType hipMemoryTypeDevice = cudaMemoryTypeDevice;
inline constexpr hipMemoryType hipMemoryTypeManaged = cudaMemoryTypeManaged;

inline hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  return cudaMalloc(pointer, bytes);
}
template <class T>
hipError_t hipMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
inline hipError_t hipExtMallocWithFlags(void** pointer, std::size_t bytes, unsigned /*flags*/) {
  return cudaMalloc(pointer, bytes);
}
inline hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags = 0) {
  return cudaHostAlloc(pointer, bytes, flags);
}
template <class T>
hipError_t hipHostMalloc(T** pointer, std::size_t bytes, unsigned flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
inline hipError_t hipFree(void* pointer) { return cudaFree(pointer); }
inline hipError_t hipHostFree(void* pointer) { return cudaFreeHost(pointer); }
inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                 cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, kind, stream);
}
inline hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  return cudaMemset(to, value, bytes);
}
inline hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes,
                                 cudaStream_t stream = nullptr) {
  return cudaMemsetAsync(to, value, bytes, stream);
}
inline hipError_t hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return cudaMemGetInfo(free_bytes, total_bytes);
}
inline hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  return cudaPointerGetAttributes(attributes, pointer);
}
/// The runtime has no such call, so the driver's is asked for by name (libcuda is not linked).
inline hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes,
                                        hipDeviceptr_t pointer) {
  using get_address_range = CUresult (*)(CUdeviceptr*, std::size_t*, CUdeviceptr);
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status = cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &found, 3020,
                                                              cudaEnableDefault, &result);
  if (status != cudaSuccess) return status;
  if (result != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
  CUdeviceptr device_base = 0;
  if (reinterpret_cast<get_address_range>(found)(
          &device_base, bytes, reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS)
    return cudaErrorInvalidValue;
  *base = reinterpret_cast<void*>(device_base);
  return cudaSuccess;
}

// ---- peers -----------------------------------------------------------------------------------
using hipIpcMemHandle_t = cudaIpcMemHandle_t;
inline constexpr unsigned hipIpcMemLazyEnablePeerAccess = cudaIpcMemLazyEnablePeerAccess;

inline hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return cudaDeviceCanAccessPeer(can, device, peer);
}
inline hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return cudaDeviceEnablePeerAccess(peer, flags);
}
inline hipError_t hipDeviceDisablePeerAccess(int peer) { return cudaDeviceDisablePeerAccess(peer); }
inline hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* pointer) {
  return cudaIpcGetMemHandle(handle, pointer);
}
inline hipError_t hipIpcOpenMemHandle(void** base, hipIpcMemHandle_t handle, unsigned flags) {
  return cudaIpcOpenMemHandle(base, handle, flags);
}
inline hipError_t hipIpcCloseMemHandle(void* base) { return cudaIpcCloseMemHandle(base); }

// ---- streams and events ----------------------------------------------------------------------
using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
inline constexpr unsigned hipStreamDefault = cudaStreamDefault;
inline constexpr unsigned hipStreamNonBlocking = cudaStreamNonBlocking;
inline constexpr unsigned hipEventDefault = cudaEventDefault;
inline constexpr unsigned hipEventDisableTiming = cudaEventDisableTiming;

inline hipError_t hipStreamCreate(hipStream_t* stream) { return cudaStreamCreate(stream); }
inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithFlags(stream, flags);
}
inline hipError_t hipStreamDestroy(hipStream_t stream) { return cudaStreamDestroy(stream); }
inline hipError_t hipStreamSynchronize(hipStream_t stream) { return cudaStreamSynchronize(stream); }
inline hipError_t hipStreamQuery(hipStream_t stream) { return cudaStreamQuery(stream); }
inline hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0) {
  return cudaStreamWaitEvent(stream, event, flags);
}
inline hipError_t hipEventCreate(hipEvent_t* event) { return cudaEventCreate(event); }
inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
inline hipError_t hipEventDestroy(hipEvent_t event) { return cudaEventDestroy(event); }
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr) {
  return cudaEventRecord(event, stream);
}
inline hipError_t hipEventSynchronize(hipEvent_t event) { return cudaEventSynchronize(event); }
inline hipError_t hipEventQuery(hipEvent_t event) { return cudaEventQuery(event); }
inline hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return cudaEventElapsedTime(ms, start, stop);
}

// ---- graphs ----------------------------------------------------------------------------------
using hipGraph_t = cudaGraph_t;
using hipGraphExec_t = cudaGraphExec_t;
using hipGraphNode_t = cudaGraphNode_t;
using hipStreamCaptureMode = cudaStreamCaptureMode;
inline constexpr hipStreamCaptureMode hipStreamCaptureModeGlobal = cudaStreamCaptureModeGlobal;
inline constexpr hipStreamCaptureMode hipStreamCaptureModeThreadLocal =
    cudaStreamCaptureModeThreadLocal;
inline constexpr hipStreamCaptureMode hipStreamCaptureModeRelaxed = cudaStreamCaptureModeRelaxed;

inline hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return cudaStreamBeginCapture(stream, mode);
}
inline hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return cudaStreamEndCapture(stream, graph);
}
inline hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                                      hipGraphNode_t* /*error_node*/, char* /*log*/,
                                      std::size_t /*log_bytes*/) {
  return cudaGraphInstantiate(executable, graph, 0);
}
inline hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return cudaGraphLaunch(executable, stream);
}
inline hipError_t hipGraphDestroy(hipGraph_t graph) { return cudaGraphDestroy(graph); }
inline hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return cudaGraphExecDestroy(executable);
}

// ---- kernels ---------------------------------------------------------------------------------
using hipFuncAttributes = cudaFuncAttributes;

inline hipError_t hipLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                                  std::size_t shared_bytes, hipStream_t stream) {
  return cudaLaunchKernel(kernel, blocks, threads, arguments, shared_bytes, stream);
}
inline hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* kernel) {
  return cudaFuncGetAttributes(attributes, kernel);
}
inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                               int threads,
                                                               std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
}
