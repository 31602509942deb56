// SPDX-License-Identifier: MIT
/// @file
/// Names of RCCL for collectives.hpp: those of NCCL.
#pragma once

#include <rccl/rccl.h>
