// SPDX-License-Identifier: MIT
/// @file
/// What the user asked for on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flash_decode_example {

/// The command line, with defaults that take seconds on the emulator.
struct options {
  int ranks = 8;
  bool ranks_given = false;  ///< By the user, so that a launcher may contradict.
  std::int64_t batch = 1;
  std::int64_t q_heads = 24;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 128;
  std::int64_t kv_len = 4096;
  std::int64_t page_size = 0;
  int splits = 0;
  std::vector<std::string> variants = {"all"};
  bool processes = false;
  bool verify = false;
  bool json = false;
  bool graph = false;
  bool arrival_order = false;
  std::optional<int> iterations;
  double wait_budget_s = 60;
};

/// Names of the variants, in the order of the table.
std::vector<std::string> variant_names();

/// Reads the command line. Returns nothing after `--help` or a mistake, with the exit status.
std::optional<options> parse(int argc, char** argv, int& exit_status);

}  // namespace flash_decode_example
