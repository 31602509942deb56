// SPDX-License-Identifier: MIT
/// @file
/// The host side of the seam: what the library asks of a GPU runtime, with errors as exceptions.
///
/// Written once, in HIP names; `hip.hpp` gives these names to the CUDA runtime and to the emulator.
/// Every call throws hiris::error with the name of the runtime's error and leaves no stale last
/// error.
///
///     platform::device_guard on(device);
///     platform::owned_stream stream;
///     platform::device_buffer<float> x(1000);
///     x.copy_from(values.data());
///     platform::launch<scale>(stream, 4, {x.data(), x.size(), 2.0f});
///     stream.synchronize();
///     std::vector<float> result = x.to_host();
#pragma once

#include "hiris/platform/hip.hpp"
#include "hiris/platform/runtime_device.hpp"
#include "hiris/platform/runtime_error.hpp"
#include "hiris/platform/runtime_memory.hpp"
#include "hiris/platform/runtime_stream.hpp"
