// SPDX-License-Identifier: MIT
/// @file
/// What was run, above the table of the strategies or around it as JSON.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "support/report.hpp"

namespace ag_gemm {

/// What the command line does not say.
struct setting {
  std::string device;     ///< Kind of device.
  int devices;            ///< Different ones that the ranks use.
  std::string automatic;  ///< The strategy that `automatic` is for this problem.
};

/// One line that says what is run, on what, and the names of the columns.
void print_header(const options& o, const setting& on);

/// Everything as one JSON object.
void print_json(const options& o, const setting& on, const std::vector<example::result>& results);

}  // namespace ag_gemm
