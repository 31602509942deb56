// SPDX-License-Identifier: MIT
/// @file
/// What an example found out about one way to run its op, as a row of a table or as JSON.
///
///     print_columns("strategy");
///     print_row("push", worst_of(results_of_all_ranks));
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace example {

/// What one rank, or all ranks together, found out. Sent between ranks as bytes.
struct result {
  bool verified;                         ///< The output was compared with the reference.
  bool correct;                          ///< Every element was within its tolerance.
  double error;                          ///< The difference that uses up most of its tolerance.
  double allowed;                        ///< That tolerance.
  double time_us, least_us, largest_us;  ///< Median and range of the slowest rank's call.
  std::int64_t launches, global_barriers, signals;  ///< Taxes, of a rank and call.
  std::int64_t staged_bytes, remote_bytes;          ///< Taxes, of a rank and call.
};

/// Sets median and range from the times of the calls. [at least 1]
void set_times(result& r, std::vector<double> times_us);

/// The worst of the ranks' results: incorrect if one is, the largest error, times and taxes.
result worst_of(const std::vector<result>& ranks);

/// The names of the columns, the first of them `what`.
void print_columns(const std::string& what);
/// One row of the table.
void print_row(const std::string& name, const result& r);

/// Prints `head` with a list "results" of one object a name, whose key is `what`.
void print_json(nlohmann::ordered_json head, const std::string& what,
                const std::vector<std::string>& names, const std::vector<result>& results);

}  // namespace example
