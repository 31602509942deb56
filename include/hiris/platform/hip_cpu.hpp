// SPDX-License-Identifier: MIT
/// @file
/// HIP's names on the emulator. Include hip.hpp, not this. cpu/options.hpp has the environment
/// variables that set the number of devices and their size.
#pragma once

#include "hiris/platform/cpu/hip_device.hpp"
#include "hiris/platform/cpu/hip_graph.hpp"
#include "hiris/platform/cpu/hip_ipc.hpp"
#include "hiris/platform/cpu/hip_memory.hpp"
#include "hiris/platform/cpu/hip_stream.hpp"
