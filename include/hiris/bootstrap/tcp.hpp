// SPDX-License-Identifier: MIT
/// @file
/// Ranks that are processes: the set-up channel over TCP, for holders of a shared token.
///
/// Rank 0 listens at an address, the others connect. Both sides prove that they hold the token, by
/// a challenge and its keyed digest, so that it never travels; what follows is not encrypted.
/// Loopback unless told otherwise. The channel lives as long as rank 0's end of it: end a job with
/// a barrier.
///
///     auto boot = hiris::connect_tcp({.rank = rank, .size = 2, .port = 4711, .token = secret});
#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/socket.hpp"
#include "hiris/bootstrap/detail/tcp_client.hpp"
#include "hiris/bootstrap/detail/tcp_server.hpp"
#include "hiris/error.hpp"

namespace hiris {

/// What a rank must know to join.
struct tcp_options {
  int rank = 0;
  int size = 1;                       ///< 1 to `max_tcp_ranks`.
  std::string address = "127.0.0.1";  ///< Where rank 0 listens: an IP address or a host name.
  std::uint16_t port = 0;             ///< 1 to 65535.
  std::string token;                  ///< Shared secret, at least 16 bytes. Never printed.
  std::chrono::milliseconds time_limit = default_time_limit;  ///< Of every step.
  int listener = -1;  ///< Rank 0: a socket that listens already and is taken over, or -1.
};

/// Fewest bytes of a token: one that can be guessed proves nothing.
inline constexpr std::size_t min_token_bytes = 16;

/// Most ranks of a channel: rank 0 has a connection to each, and lists those that do not come.
inline constexpr int max_tcp_ranks = 1 << 16;

/// Joins. Collective over the ranks; returns once all have come.
///
/// Caller  host; rank 0's process gets one thread more while the channel lives.
/// @throws errc::invalid_argument for values outside their range.
/// @throws errc::bootstrap_failed naming step, rank and address: a port taken, a wrong token, a
///         rank that came twice or never, ranks that disagree about their number.
inline std::shared_ptr<bootstrap> connect_tcp(const tcp_options& options) {
  const auto require = [](bool holds, const std::string& what, const std::string& allowed) {
    if (!holds) throw error(errc::invalid_argument, -1, what + "; allowed are " + allowed);
  };
  require(options.size >= 1 && options.size <= max_tcp_ranks,
          "size is " + std::to_string(options.size), "1 to " + std::to_string(max_tcp_ranks));
  require(options.rank >= 0 && options.rank < options.size,
          "rank is " + std::to_string(options.rank), "0 to " + std::to_string(options.size - 1));
  require(options.port != 0, "port is 0", "1 to 65535");
  require(options.token.size() >= min_token_bytes,
          "the token has " + std::to_string(options.token.size()) + " bytes",
          std::to_string(min_token_bytes) + " or more");
  require(options.time_limit.count() >= 1,
          "time limit is " + std::to_string(options.time_limit.count()) + " ms", "1 ms or more");

  const detail::endpoint at{options.address, options.port};
  auto line = std::make_shared<detail::tcp_line>(at, options.time_limit);
  if (options.rank == 0) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
      throw error(errc::runtime_failed, 0, "no socket pair: " + detail::errno_text(errno));
    line->fd = detail::unique_fd(ends[0]);
    detail::unique_fd server_end(ends[1]);
    detail::unique_fd listener(options.listener);
    if (!listener)
      listener = detail::listen_at(at);
    else if (fcntl(listener.get(), F_SETFL, O_NONBLOCK) !=
             0)  // the server must not sleep in accept
      throw error(errc::invalid_argument, 0,
                  "listener " + std::to_string(options.listener) +
                      " is no open socket: " + detail::errno_text(errno));
    line->server = std::make_unique<detail::tcp_server>(
        detail::tcp_server_parts{std::move(listener), std::move(server_end), options.token,
                                 options.size, options.time_limit});
  } else {
    line->fd = detail::connect_and_prove(at, options.token, options.rank, options.size,
                                         options.time_limit);
  }
  line->await_welcome();
  return std::make_shared<detail::tcp_bootstrap>(std::move(line), 0, options.rank, options.size);
}

}  // namespace hiris
