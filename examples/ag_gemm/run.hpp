// SPDX-License-Identifier: MIT
/// @file
/// One rank of the example, by number format; compiled apart, since each brings its own kernels.
#pragma once

#include <memory>

#include "hiris/bootstrap/bootstrap.hpp"
#include "options.hpp"
#include "shared_case.hpp"

namespace ag_gemm {

/// Returns whether everything was correct on all ranks. Rank 0 prints.
bool run_fp16(std::shared_ptr<hiris::bootstrap> boot, const options& o, shared_case& data);
bool run_bf16(std::shared_ptr<hiris::bootstrap> boot, const options& o, shared_case& data);

}  // namespace ag_gemm
