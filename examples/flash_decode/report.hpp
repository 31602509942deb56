// SPDX-License-Identifier: MIT
/// @file
/// What was run, above the table of the variants or around it as JSON.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "support/report.hpp"

namespace flash_decode_example {

using example::print_row;
using example::result;
using example::worst_of;

/// One line that says what is run, on what, and the names of the columns.
void print_header(const options& o, const std::string& device, int devices);

/// Everything as one JSON object.
void print_json(const options& o, const std::string& device, int devices,
                const std::vector<result>& results);

}  // namespace flash_decode_example
