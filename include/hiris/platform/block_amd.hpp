// SPDX-License-Identifier: MIT
/// @file
/// Reductions and scans over a workgroup on amd: those of block_gpu.hpp. Contract and usage:
/// block.hpp.
#pragma once

#include "hiris/platform/block_gpu.hpp"
