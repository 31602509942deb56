// SPDX-License-Identifier: MIT
/// @file
/// What was run, above the table of the strategies or around it as JSON.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "support/report.hpp"

namespace ag_gemm {

/// One line that says what is run, on what, and the names of the columns.
void print_header(const options& o, const std::string& device, int devices);

/// Everything as one JSON object.
void print_json(const options& o, const std::string& device, int devices,
                const std::vector<example::result>& results);

}  // namespace ag_gemm
