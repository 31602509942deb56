// SPDX-License-Identifier: MIT
/// @file
/// Names of NCCL for collectives.hpp.
#pragma once

#include <nccl.h>
