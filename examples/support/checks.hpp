// SPDX-License-Identifier: MIT
/// @file
/// Checks of a command line that CLI11 does not bring.
///
///     app.add_option("--wait-budget", o.wait_budget_s, "In seconds")->check(seconds_of_a_wait());
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace example {

/// 0.001 to 86400 seconds. Unlike CLI::Range it refuses "nan", which is on no side of a limit.
inline CLI::Validator seconds_of_a_wait() {
  return {[](std::string& text) {
            double value = 0;
            const bool allowed =
                CLI::detail::lexical_cast(text, value) && value >= 0.001 && value <= 86400;
            return allowed ? std::string() : "'" + text + "' is not a number from 0.001 to 86400";
          },
          "FLOAT in [0.001 - 86400]"};
}

/// Whole numbers of 64 bits without a sign. CLI11 reads them with strtoull, which takes "-1", and
/// gives the largest for all that are too large.
inline CLI::Validator unsigned_number() {
  return {[](std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, status] = std::from_chars(text.data(), end, value);
            return status == std::errc() && stop == end
                       ? std::string()
                       : "'" + text + "' is not a number from 0 to 2^64 - 1";
          },
          ""};
}

/// Multiples of `step` from `least` to `most`.
inline CLI::Validator multiple(std::int64_t step, std::int64_t least, std::int64_t most) {
  const std::string range = "[" + std::to_string(least) + " - " + std::to_string(most) + "]";
  return {[=](std::string& text) {
            std::int64_t value = 0;
            const bool allowed = CLI::detail::lexical_cast(text, value) && value >= least &&
                                 value <= most && value % step == 0;
            return allowed ? std::string()
                           : "'" + text + "' is not a multiple of " + std::to_string(step) +
                                 " in " + range;
          },
          "MULTIPLE OF " + std::to_string(step) + " in " + range};
}

}  // namespace example
