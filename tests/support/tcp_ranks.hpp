// SPDX-License-Identifier: MIT
/// @file
/// Threads of a test that meet over TCP, at a port that the system chose.
///
///     run_tcp_threads(3, [](const tcp_options& o) { connect_tcp(o)->barrier("meet"); });
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "hiris/bootstrap/tcp.hpp"

namespace hiris::test {

inline const std::string test_token = "a token of the test, 34 characters";

/// A listening socket at a port that the system chose.
inline detail::unique_fd listen_anywhere(std::uint16_t& port) {
  detail::unique_fd fd = detail::listen_at({"127.0.0.1", 0});
  port = detail::port_of(fd.get());
  return fd;
}

/// A second descriptor of a socket, for rank 0 to take over.
inline int duplicate(const detail::unique_fd& fd) { return fcntl(fd.get(), F_DUPFD_CLOEXEC, 3); }

inline tcp_options tcp_options_of(int rank, int size, std::uint16_t port,
                                  std::chrono::milliseconds limit) {
  tcp_options o;
  o.rank = rank;
  o.size = size;
  o.port = port;
  o.token = test_token;
  o.time_limit = limit;
  return o;
}

/// Runs `body(options)` on a thread a rank. The test fails if one throws.
inline void run_tcp_threads(int size, const std::function<void(tcp_options)>& body,
                            std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  std::uint16_t port = 0;
  const detail::unique_fd listener = listen_anywhere(port);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    tcp_options o = tcp_options_of(r, size, port, limit);
    if (r == 0) o.listener = duplicate(listener);
    threads.emplace_back([o, &body] {
      try {
        body(o);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << o.rank << ": " << e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace hiris::test
