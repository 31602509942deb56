// SPDX-License-Identifier: MIT
/// @file
/// Ranks of an MPI communicator as a set-up channel. The one header that needs MPI.
///
/// It works on a duplicate, with messages between pairs of ranks only, so that every step can be
/// given up and those who are missing can be named. An MPI library notices a dead process by
/// itself, and by default ends the job.
///
///     MPI_Init(&argc, &argv);
///     {
///       hiris::world world(hiris::mpi_bootstrap(MPI_COMM_WORLD));
///     }
///     MPI_Finalize();
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <string>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/mpi_team.hpp"
#include "hiris/bootstrap/time_limit.hpp"
#include "hiris/error.hpp"

namespace hiris {

/// The ranks of `comm` as a channel. Collective over `comm`.
///
/// Caller  host; a thread that may call MPI. The channel must be gone before MPI_Finalize.
/// @param comm       An intra-communicator. It is not used after the call returns.
/// @param time_limit Longest that a step waits for the other ranks.
/// @throws errc::invalid_argument   MPI is not initialised or finalised already, a communicator
///         that is null or has two groups, a limit below 1 ms.
/// @throws errc::bootstrap_failed   an MPI call failed, or not all ranks came in time.
inline std::shared_ptr<bootstrap> mpi_bootstrap(
    MPI_Comm comm, std::chrono::milliseconds time_limit = time_limit_from_environment()) {
  const auto require = [](bool holds, const std::string& text) {
    if (!holds) throw error(errc::invalid_argument, -1, text);
  };
  int initialized = 0, finalized = 0, has_two_groups = 0;
  MPI_Initialized(&initialized);
  require(initialized != 0, "MPI is not initialised; allowed is a call after MPI_Init");
  MPI_Finalized(&finalized);
  require(finalized == 0, "MPI is finalised; allowed is a call before MPI_Finalize");
  require(comm != MPI_COMM_NULL, "the communicator is MPI_COMM_NULL; allowed is one with ranks");
  require(time_limit.count() >= 1, "a time limit of " + std::to_string(time_limit.count()) +
                                       " ms; allowed are 1 ms or more");
  MPI_Comm_test_inter(comm, &has_two_groups);
  require(has_two_groups == 0, "an inter-communicator; allowed is an intra-communicator");
  auto line = std::make_shared<detail::mpi_line>(comm, time_limit);
  detail::mpi_team everybody = line->everybody();
  return std::make_shared<detail::mpi_channel>(std::move(line), std::move(everybody));
}

}  // namespace hiris
