// SPDX-License-Identifier: MIT
/// @file
/// What the user asked for on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ag_gemm {

/// Number format of A, B and C.
enum class dtype : std::uint8_t { fp16, bf16 };

/// How B lies in memory: [k, n] or, as the weight of a linear layer, [n, k].
enum class layout : std::uint8_t { kn, nk };

/// The command line, with defaults that take seconds on the emulator.
struct options {
  int ranks = 8;
  bool ranks_given = false;  ///< By the user, so that a launcher may contradict.
  std::int64_t m = 64;
  std::int64_t n = 512;
  std::int64_t k = 2048;
  dtype type = dtype::fp16;
  layout b_layout = layout::kn;
  std::vector<std::string> strategies = {"all"};
  bool processes = false;  ///< Ranks are processes, not threads.
  bool verify = false;
  bool json = false;
  std::optional<int> iterations;  ///< Timed calls after the checked one.
  std::uint64_t seed = 1;
  double wait_budget_s = 120;
};

/// Reads the command line. Returns nothing after `--help` or a mistake, with the exit status.
///
/// @param known  The strategies that "all" runs; `--strategy` accepts them and "automatic".
std::optional<options> parse(int argc, char** argv, const std::vector<std::string>& known,
                             int& exit_status);

}  // namespace ag_gemm
