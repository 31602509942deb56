// SPDX-License-Identifier: MIT
/// @file
/// How long ranks wait for each other in a step of set-up, and how the user is told.
///
///     app.footer(example::help_of_step_limit());
#pragma once

#include <chrono>
#include <string>

namespace example {

/// Of ranks that the program starts, unless HIRIS_TIMEOUT_S says: the computation of a large
/// reference is such a step.
inline constexpr std::chrono::minutes step_limit(15);

/// For the end of --help.
inline std::string help_of_step_limit() {
  return "Environment:\n"
         "  HIRIS_TIMEOUT_S  Longest that ranks wait for each other in a step outside kernels, in\n"
         "                   seconds: so long may a rank that hangs keep the others [" +
         std::to_string(std::chrono::seconds(step_limit).count()) +
         ";\n"
         "                   60 when started by mpirun, torchrun or srun]";
}

}  // namespace example
