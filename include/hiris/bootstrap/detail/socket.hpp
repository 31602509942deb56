// SPDX-License-Identifier: MIT
/// @file
/// Sockets with time limits: every wait is a poll() against a deadline of the monotonic clock.
///
/// All sockets are non-blocking and closed on exec; a broken pipe is a status, never a signal.
///
///     unique_fd fd = connect_once({"127.0.0.1", 4711}, deadline_in(500ms), why);
///     io_status s = read_exactly(fd, &header, sizeof header, deadline_in(500ms));
#pragma once

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "hiris/error.hpp"

namespace hiris::detail {

using deadline = std::chrono::steady_clock::time_point;

inline deadline deadline_in(std::chrono::milliseconds limit) {
  return std::chrono::steady_clock::now() + limit;
}

/// Milliseconds until `end` for poll(): 0 once it is over, rounded up before.
inline int poll_timeout(deadline end) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

/// Text of an errno value.
inline std::string errno_text(int code) {
  return std::string(std::strerror(code)) + " (errno " + std::to_string(code) + ")";
}

/// Owner of a file descriptor.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~unique_fd() { reset(); }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Where rank 0 listens.
struct endpoint {
  std::string address;
  std::uint16_t port;
  std::string text() const { return address + ":" + std::to_string(port); }
};

enum class io_status : std::uint8_t {
  ok,
  closed,     ///< The other end is gone.
  timed_out,  ///< The deadline passed first.
  failed      ///< Another error; see errno.
};

/// Waits until `events` are there. EINTR goes on waiting, for what is left.
inline io_status wait_for(int fd, short events, deadline end) {
  for (;;) {
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, poll_timeout(end));
    if (n > 0) return io_status::ok;
    if (n == 0 && std::chrono::steady_clock::now() >= end) return io_status::timed_out;
    if (n < 0 && errno != EINTR) return io_status::failed;
  }
}

/// Whether the errno of a send or receive means that the other end is gone.
inline bool is_hang_up(int code) {
  return code == EPIPE || code == ECONNRESET || code == ENOTCONN || code == ETIMEDOUT;
}

inline io_status read_exactly(const unique_fd& fd, void* to, std::size_t bytes, deadline end) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = recv(fd.get(), static_cast<char*>(to) + done, bytes - done, 0);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0 || is_hang_up(errno)) {
      return io_status::closed;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const io_status s = wait_for(fd.get(), POLLIN, end); s != io_status::ok) return s;
    } else if (errno != EINTR) {
      return io_status::failed;
    }
  }
  return io_status::ok;
}

inline io_status write_exactly(const unique_fd& fd, const void* from, std::size_t bytes,
                               deadline end) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n =
        send(fd.get(), static_cast<const char*>(from) + done, bytes - done, MSG_NOSIGNAL);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (is_hang_up(errno)) {
      return io_status::closed;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const io_status s = wait_for(fd.get(), POLLOUT, end); s != io_status::ok) return s;
    } else if (errno != EINTR) {
      return io_status::failed;
    }
  }
  return io_status::ok;
}

using address_list = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Addresses of an endpoint: a number, or a name that the system's resolver knows.
/// @throws errc::bootstrap_failed naming the address.
inline address_list resolve(const endpoint& at) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(at.address.c_str(), std::to_string(at.port).c_str(), &hints, &found);
  if (rc != 0)
    throw error(errc::bootstrap_failed, -1,
                "address '" + at.address + "' of rank 0 cannot be resolved: " + gai_strerror(rc) +
                    "; allowed are an IP address and a host name that is known here");
  return {found, freeaddrinfo};
}

inline void set_flag(int fd, int level, int option) {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof on);
}

/// Listens at an endpoint; port 0 lets the system choose.
/// @throws errc::bootstrap_failed naming address and port, e.g. when the port is taken.
inline unique_fd listen_at(const endpoint& at) {
  const address_list addresses = resolve(at);
  int why = 0;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    unique_fd fd(socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd) {
      set_flag(fd.get(), SOL_SOCKET, SO_REUSEADDR);  // a port in TIME_WAIT is not taken
      if (bind(fd.get(), a->ai_addr, a->ai_addrlen) == 0 && listen(fd.get(), SOMAXCONN) == 0)
        return fd;
    }
    why = errno;
  }
  throw error(
      errc::bootstrap_failed, 0,
      "step 'listening': rank 0 cannot listen at " + at.text() + ": " +
          (why == EADDRINUSE ? "port " + std::to_string(at.port) + " is taken" : errno_text(why)) +
          "; choose another address or port, for instance with HIRIS_ADDR and HIRIS_PORT");
}

/// Port that a socket is bound to, or 0.
inline std::uint16_t port_of(int fd) {
  sockaddr_storage at{};
  socklen_t bytes = sizeof at;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&at), &bytes) != 0) return 0;
  if (at.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port);
  if (at.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(at).sin6_port);
  return 0;
}

/// Whether a connect to a local port that nobody serves has met itself, which TCP allows.
inline bool is_connected_to_itself(int fd) {
  sockaddr_storage here{}, there{};
  socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_bytes) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_bytes) == 0 &&
         here_bytes == there_bytes && std::memcmp(&here, &there, here_bytes) == 0;
}

/// Tries each address once. Returns nothing if none answers, with the reason in `why`.
inline unique_fd connect_once(const addrinfo* addresses, deadline end, std::string& why) {
  for (const addrinfo* a = addresses; a != nullptr; a = a->ai_next) {
    unique_fd fd(socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    int code = fd ? 0 : errno;
    if (fd) {
      set_flag(fd.get(), SOL_SOCKET, SO_REUSEADDR);  // never keep rank 0 from binding its port
      set_flag(fd.get(), IPPROTO_TCP, TCP_NODELAY);
      if (connect(fd.get(), a->ai_addr, a->ai_addrlen) != 0) code = errno;
      if (code == EINPROGRESS || code == EINTR) {
        socklen_t bytes = sizeof code;
        if (wait_for(fd.get(), POLLOUT, end) != io_status::ok)
          code = ETIMEDOUT;
        else if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &bytes) != 0)
          code = errno;
      }
      if (code == 0 && is_connected_to_itself(fd.get())) code = ECONNREFUSED;
    }
    if (code == 0) return fd;
    why = errno_text(code);
  }
  return {};
}

}  // namespace hiris::detail
