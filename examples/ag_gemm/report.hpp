// SPDX-License-Identifier: MIT
/// @file
/// The result of one strategy, and its printing as a row of a table or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"

namespace ag_gemm {

/// What one rank, or all ranks together, found out about one strategy. Sent between ranks as bytes.
struct result {
  bool verified;                           ///< C was compared with the reference.
  bool correct;                            ///< Every element was within its tolerance.
  double error;                            ///< The difference that uses up most of its tolerance.
  double allowed;                          ///< That tolerance.
  double time_us;                          ///< Median of the slowest rank's time.
  std::int64_t launches, global_barriers;  ///< Taxes, of a rank and call.
  std::int64_t staged_bytes, remote_bytes, signals;  ///< Taxes, of a rank and call.
};

/// The worst of the ranks' results: incorrect if one is, the largest error, time and taxes.
result worst_of(const std::vector<result>& ranks);

/// One line that says what is run, on what.
void print_header(const options& o, const std::string& device, int devices);

/// One row of the table.
void print_row(const std::string& strategy, const result& r);

/// Everything as one JSON object.
void print_json(const options& o, const std::string& device, int devices,
                const std::vector<std::string>& strategies, const std::vector<result>& results);

}  // namespace ag_gemm
