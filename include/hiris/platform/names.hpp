// SPDX-License-Identifier: MIT
/// @file
/// Names for reports of the emulator: of pieces of device memory, and of the rank that a host
/// thread works for. On a GPU they are nothing.
///
///     platform::memory_name name(block, bytes, [=](std::uint64_t byte) {   // while `name` lives
///       return "inbox of rank 2, byte " + std::to_string(byte);
///     });
///     platform::speak_for_rank(2);     // what this thread launches is rank 2's
///
/// Every backend has, in hiris::platform:
///     class memory_name;
///         Default: no name. Move-only. `text` is called when a report is about one of the bytes,
///         on any thread, and holds what it needs by value.
///     int speak_for_rank(int rank);
///         Caller host. For the calling thread, until it says otherwise. Returns the rank before.
#pragma once

#include "hiris/platform/config.hpp"

#if defined(HIRIS_PLATFORM_CPU)
#include "hiris/platform/names_cpu.hpp"
#else
#include "hiris/platform/names_gpu.hpp"
#endif
