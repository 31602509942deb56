// SPDX-License-Identifier: MIT
/// @file
/// Ranks that a launcher started: rank, number of ranks and meeting point from the environment.
///
/// | first set | rank, size                                 | all on one host if            |
/// |-----------|--------------------------------------------|-------------------------------|
/// | hiris     | HIRIS_RANK, HIRIS_SIZE                     | always                        |
/// | torchrun  | RANK, WORLD_SIZE                           | LOCAL_WORLD_SIZE is size      |
/// | Open MPI  | OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE | OMPI_COMM_WORLD_LOCAL_SIZE is |
/// | PMI       | PMI_RANK, PMI_SIZE                         | MPI_LOCALNRANKS is size       |
/// | Slurm     | SLURM_PROCID, SLURM_NTASKS                 | SLURM_NNODES is 1             |
///
/// A size without a rank is no launch: the shell of a Slurm allocation has SLURM_NTASKS, for one. A
/// rank without a size, and half of hiris's own pair, are errors.
///
/// Rank 0 listens at HIRIS_ADDR, else MASTER_ADDR, else the loopback (if the ranks may be on one
/// host), on port HIRIS_PORT, else MASTER_PORT + 1 (torchrun itself listens on MASTER_PORT).
/// HIRIS_TOKEN is a secret that all ranks share, at least 16 bytes: needed for more than one rank,
/// never printed. HIRIS_TIMEOUT_S limits every step, 60 seconds unless set.
///
///     HIRIS_TOKEN=$(openssl rand -hex 16) HIRIS_PORT=4711 mpirun -n 8 ./my_program
///
///     auto boot = hiris::join_environment();
#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/socket.hpp"
#include "hiris/bootstrap/detail/variables.hpp"
#include "hiris/bootstrap/tcp.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "hiris/bootstrap/time_limit.hpp"
#include "hiris/error.hpp"

namespace hiris {

namespace detail {

/// The variables of one launcher.
struct launcher_variables {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;  ///< Ranks on this host, or null.
  const char* hosts;       ///< Number of hosts, or null.

  /// Whether this launcher started the process, or something half like it. A size alone counts only
  /// for hiris's own: others are also set where nobody is a rank.
  bool started_this() const {
    return variable(rank) || (std::string_view(launcher) == "hiris" && variable(size));
  }
};

inline constexpr std::array<launcher_variables, 5> launchers = {{
    {"hiris", "HIRIS_RANK", "HIRIS_SIZE", "HIRIS_LOCAL_RANK", nullptr, nullptr},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", nullptr},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr, "SLURM_NNODES"},
}};

}  // namespace detail

/// What the environment says.
struct environment {
  std::string launcher;  ///< Whose variables were read, e.g. "torchrun".
  int rank = 0;          ///< 0 .. size-1.
  int size = 1;          ///< Number of ranks.
  int local_rank = 0;    ///< Number among the ranks of this host; `rank` where nothing says.
  bool one_host = true;  ///< False if the launcher says that the ranks are on several.
  std::chrono::milliseconds time_limit = default_time_limit;  ///< Of every step of set-up.
};

/// Whether a launcher's variables are there, so that this process is a rank: read_environment()
/// then reads them, or says what is wrong with them.
inline bool is_launched() {
  for (const detail::launcher_variables& v : detail::launchers)
    if (v.started_this()) return true;
  return false;
}

/// Reads rank and size.
///
/// @throws errc::invalid_argument naming variable, value and what is allowed: no launcher, a rank
///         without a size, HIRIS_SIZE without HIRIS_RANK, not a number, a rank that is not below
///         the size.
inline environment read_environment() {
  constexpr long long most = std::numeric_limits<std::int32_t>::max();
  std::string names;
  for (const detail::launcher_variables& v : detail::launchers) {
    names += (names.empty() ? "" : "; ") + std::string(v.rank) + " and " + v.size;
    if (!v.started_this()) continue;
    const bool has_rank = detail::variable(v.rank).has_value();
    const bool has_size = detail::variable(v.size).has_value();
    if (has_rank != has_size)
      throw error(errc::invalid_argument, -1,
                  std::string(has_rank ? v.rank : v.size) + " is set, but " +
                      (has_rank ? v.size : v.rank) + " is not; both or none are allowed");
    environment e;
    e.launcher = v.launcher;
    e.size = static_cast<int>(*detail::number(v.size, 1, most));
    e.rank = static_cast<int>(*detail::number(v.rank, 0, e.size - 1));
    e.local_rank = static_cast<int>(detail::number(v.local_rank, 0, e.size - 1).value_or(e.rank));
    if (v.local_size != nullptr)
      e.one_host = detail::number(v.local_size, 1, most).value_or(e.size) == e.size;
    if (v.hosts != nullptr) e.one_host = detail::number(v.hosts, 1, most).value_or(1) == 1;
    e.time_limit = time_limit_from_environment();
    return e;
  }
  throw error(errc::invalid_argument, -1,
              "no launcher has set rank and size; allowed are " + names);
}

namespace detail {

/// How to join the ranks of `e`, which are several.
///
/// @throws errc::invalid_argument naming a variable that is missing (HIRIS_TOKEN, HIRIS_PORT,
///         HIRIS_ADDR) or malformed.
inline tcp_options read_meeting_point(const environment& e) {
  tcp_options options;
  options.rank = e.rank;
  options.size = e.size;
  options.time_limit = e.time_limit;
  const auto missing = [&](const std::string& text) {
    return error(errc::invalid_argument, e.rank, text);
  };

  const std::optional<std::string> token = detail::variable("HIRIS_TOKEN");
  if (!token || token->size() < min_token_bytes)
    throw missing((token ? "HIRIS_TOKEN has " + std::to_string(token->size()) + " bytes"
                         : std::string("HIRIS_TOKEN is not set")) +
                  "; it must be the same secret on all ranks, at least " +
                  std::to_string(min_token_bytes) + " bytes");
  options.token = *token;

  if (const auto named = detail::variable("HIRIS_ADDR"))
    options.address = *named;
  else if (const auto master = detail::variable("MASTER_ADDR"))
    options.address = *master;
  else if (!e.one_host)
    throw missing("HIRIS_ADDR is not set (nor MASTER_ADDR), and " + e.launcher +
                  " says that the ranks are on several hosts; allowed is the address of rank 0");

  if (const auto port = detail::number("HIRIS_PORT", 1, 65535))
    options.port = static_cast<std::uint16_t>(*port);
  else if (const auto master = detail::number("MASTER_PORT", 1, 65534))
    options.port = static_cast<std::uint16_t>(*master + 1);
  else
    throw missing("HIRIS_PORT is not set (nor MASTER_PORT); allowed are 1 to 65535");

  // launch_processes binds the port before it starts anybody, and hands the socket to rank 0
  if (const auto fd = detail::number("HIRIS_LISTEN_FD", 0, 1 << 20); fd && e.rank == 0) {
    const int inherited = static_cast<int>(*fd);
    int listening = 0;
    socklen_t bytes = sizeof listening;
    if (getsockopt(inherited, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) == 0 &&
        listening == 1 && detail::port_of(inherited) == options.port) {
      fcntl(inherited, F_SETFD, FD_CLOEXEC);
      options.listener = inherited;
    }
  }
  return options;
}

}  // namespace detail

/// Joins the ranks that the launcher started. Collective; returns once all have come.
///
/// Caller  host. The channel lives as long as rank 0's end of it: end a job with a barrier.
/// @throws as read_environment and connect_tcp; errc::invalid_argument naming a variable that is
///         missing (HIRIS_TOKEN, HIRIS_PORT, HIRIS_ADDR) or malformed.
inline std::shared_ptr<bootstrap> join_environment() {
  const environment e = read_environment();
  if (e.size == 1) return thread_group(1, e.time_limit).join(0);
  return connect_tcp(detail::read_meeting_point(e));
}

}  // namespace hiris
