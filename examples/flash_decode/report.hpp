// SPDX-License-Identifier: MIT
/// @file
/// The result of one variant, and its printing as a row of a table or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"

namespace flash_decode_example {

/// What one rank, or all together, found out about one variant. Sent between ranks as bytes.
struct result {
  bool verified;                         ///< The output was compared with the reference.
  bool correct;                          ///< Every element was within its tolerance.
  double error;                          ///< The difference that uses up most of its tolerance.
  double allowed;                        ///< That tolerance.
  double time_us, least_us, largest_us;  ///< Median and range of a call, of the slowest rank.
  std::int64_t launches, global_barriers, staged_bytes, remote_bytes, signals;  ///< Taxes.
};

/// The worst of the ranks' results.
result worst_of(const std::vector<result>& ranks);

/// One line that says what is run, on what.
void print_header(const options& o, const std::string& device, int devices);
/// One row of the table.
void print_row(const std::string& variant, const result& r);
/// Everything as one JSON object.
void print_json(const options& o, const std::string& device, int devices,
                const std::vector<result>& results);

}  // namespace flash_decode_example
