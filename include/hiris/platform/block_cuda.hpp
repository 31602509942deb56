// SPDX-License-Identifier: MIT
/// @file
/// Reductions and scans over a workgroup on cuda: those of detail/block_gpu.hpp. Contract and
/// usage: block.hpp.
#pragma once

#include "hiris/platform/detail/block_gpu.hpp"
