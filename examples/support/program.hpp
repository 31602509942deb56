// SPDX-License-Identifier: MIT
/// @file
/// Runs a program on ranks: threads of it, copies of it, or what a launcher has started of it.
///
///     return run_program({.name = "ag_gemm", .ranks = 8, .ranks_given = false, .processes = false,
///                         .rank = work}, argc, argv);
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hiris/bootstrap/environment.hpp"
#include "hiris/bootstrap/launcher.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "hiris/bootstrap/time_limit.hpp"
#include "hiris/error.hpp"
#include "hiris/platform/runtime.hpp"
#include "support/step_limit.hpp"

namespace example {

/// Exit statuses besides 0.
inline constexpr int wrong_result = 1;
inline constexpr int failed = 2;

/// What is to be run, and how.
struct program {
  const char* name;
  int ranks;         ///< Unless a launcher says how many.
  bool ranks_given;  ///< The user named that number: rank 0 says so if a launcher's differs.
  bool processes;    ///< Copies of the program instead of threads.
  /// What each rank does. Returns whether all was correct on all ranks.
  std::function<bool(std::shared_ptr<hiris::bootstrap>)> rank;
  std::vector<std::string> variables = {};  ///< For the copies' environment, "NAME=value".
};

namespace detail {

/// Of the ranks that this program starts.
inline std::chrono::milliseconds limit_of_a_step() {
  const char* const said = std::getenv("HIRIS_TIMEOUT_S");
  return said != nullptr && *said != '\0' ? hiris::time_limit_from_environment() : step_limit;
}

inline int run_threads(const program& p) {
  hiris::platform::reserve_hardware_queues();  // ranks of one process may share a device
  std::atomic<bool> correct{true};
  hiris::run_ranks(
      p.ranks,
      [&](std::shared_ptr<hiris::bootstrap> boot) {
        if (!p.rank(std::move(boot))) correct = false;
      },
      limit_of_a_step());
  return correct ? 0 : wrong_result;
}

inline int run_processes(const program& p, int argc, char** argv) {
  hiris::launch_options launch;
  launch.ranks = p.ranks;
  launch.arguments.assign(argv + 1, argv + argc);
  launch.variables = p.variables;
  launch.variables.push_back("HIRIS_TIMEOUT_S=" +
                             std::to_string(limit_of_a_step() / std::chrono::seconds(1)));
  const hiris::launch_outcome outcome = hiris::launch_processes(launch);
  if (!outcome.ok() && outcome.status != wrong_result)
    std::fprintf(stderr, "%s: %s\n", p.name, outcome.text.c_str());
  return outcome.status;
}

/// This process is a rank: of run_processes, or of mpirun, torchrun, srun.
inline int run_launched(const program& p) {
  const hiris::environment e = hiris::read_environment();
  const int rank = e.rank;
  if (rank == 0 && p.ranks_given && e.size != p.ranks)
    std::fprintf(stderr, "%s: --ranks is %d, but there are %d ranks, as %s says\n", p.name, p.ranks,
                 e.size, e.launcher.c_str());
  try {
    return p.rank(hiris::join_environment()) ? 0 : wrong_result;
  } catch (const hiris::error& error) {
    // All ranks throw what one found out: that one says so, and the lowest other if it may be gone.
    const bool mine = error.rank() < 0 || error.rank() == rank;
    const int witness = error.rank() == 0 ? 1 : 0;
    if (mine || (rank == witness && error.code() == hiris::errc::bootstrap_failed)) throw;
    return failed;
  }
}

}  // namespace detail

/// Returns the exit status: 0, wrong_result or failed. Errors are said on stderr.
inline int run_program(const program& p, int argc, char** argv) {
  try {
    if (hiris::is_launched()) return detail::run_launched(p);
    return p.processes ? detail::run_processes(p, argc, argv) : detail::run_threads(p);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", p.name, e.what());
    return failed;
  }
}

}  // namespace example
