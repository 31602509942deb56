// SPDX-License-Identifier: MIT
/// @file
/// Starts copies of a program as ranks on this host, and sees them to their end.
///
/// Each copy has HIRIS_RANK, HIRIS_SIZE, and a meeting point and a random token of the launch, so
/// that `join_environment()` finds the others. A copy that fails ends the others; all die with the
/// parent.
///
///     if (!hiris::is_launched()) {
///       const auto outcome = hiris::launch_processes({.ranks = 4, .arguments = {"--verify"}});
///       if (!outcome.ok()) std::fprintf(stderr, "%s\n", outcome.text.c_str());
///       return outcome.ok() ? 0 : 1;
///     }
///     auto boot = hiris::join_environment();
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/bootstrap/detail/socket.hpp"
#include "hiris/bootstrap/detail/team.hpp"
#include "hiris/bootstrap/detail/wire.hpp"
#include "hiris/error.hpp"

namespace hiris {

/// What to start.
struct launch_options {
  int ranks = 1;
  std::vector<std::string> arguments{};  ///< After the name of the program; the same for all ranks.
  std::string program = "/proc/self/exe";  ///< Path; by default the program that runs now.
  std::vector<std::string> variables{};    ///< "NAME=value", on top of this process's environment.
  std::chrono::milliseconds time_limit = std::chrono::hours(1);  ///< Of the whole run.
  /// How long the others may go on when one has failed, to report what they saw.
  std::chrono::milliseconds grace = std::chrono::seconds(3);
};

/// How a launch ended.
struct launch_outcome {
  /// The first that ended with a failure, or by a signal soon after; -1: none. Not always the one
  /// that caused it: a rank that hangs, or is stopped, is outlived by those that report it.
  int rank = -1;
  int status = 0;    ///< Its exit status; 128 + number of the signal that ended it.
  std::string text;  ///< A sentence about it, and who had to be ended.
  bool ok() const noexcept { return rank < 0; }
};

namespace detail {

/// A random token, as text.
inline std::string random_token() {
  std::string text;
  for (const std::uint8_t b : fresh_nonce()) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

/// This process's environment without the variables that `changes` sets, and then those.
inline std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(changes.begin(), changes.end(), [&](const std::string& c) {
      return std::string_view(c).substr(0, c.find('=')) == name;
    });
    if (!replaced) all.emplace_back(text);
  }
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& t : texts) pointers.push_back(t.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Processes of one launch: started one by one, none left behind.
class child_processes {
 public:
  child_processes() = default;
  child_processes(const child_processes&) = delete;
  child_processes& operator=(const child_processes&) = delete;
  ~child_processes() {
    kill_all();
    while (running() > 0) {
      poll_once();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // SIGKILL cannot be refused
    }
  }

  /// Starts the next rank. `inherited` is a descriptor to leave open in it, or -1.
  void start(const char* program, std::vector<std::string> arguments,
             std::vector<std::string> variables, int inherited) {
    const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(variables);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0)
      throw error(errc::runtime_failed, static_cast<int>(children_.size()),
                  "fork failed: " + errno_text(errno));
    if (pid == 0) {  // only what is safe after a fork of a process with threads
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);  // it died before it could be watched
      if (inherited >= 0) fcntl(inherited, F_SETFD, 0);
      execve(program, argv.data(), envp.data());
      _exit(127);
    }
    children_.push_back({pid, false});
  }

  std::size_t running() const {
    return static_cast<std::size_t>(
        std::count_if(children_.begin(), children_.end(), [](const child& c) { return !c.ended; }));
  }

  /// How long after an exit status a signal may still be what caused it.
  static constexpr std::chrono::milliseconds settling{500};

  /// Collects those that have ended. Keeps the first failure, but prefers a signal to an exit
  /// status found at once with it, or up to `settling` before: a process that dies closes its
  /// connections before its end can be collected, and a rank that sees that may be quicker.
  /// SIGABRT must be found at once: a rank may end so that does not catch what it was told.
  void poll_once() {
    const bool none_before = outcome_.ok();
    for (std::size_t r = 0; r < children_.size(); ++r) {
      child& c = children_[r];
      if (c.ended) continue;
      int status = 0;
      const pid_t pid = waitpid(c.pid, &status, WNOHANG);
      if (pid == 0 || (pid < 0 && errno == EINTR)) continue;
      c.ended = true;
      const std::string who = "rank " + std::to_string(r);
      if (pid < 0)
        note(r, 1, who + " ended, but its status is lost: " + errno_text(errno));
      else if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        const bool soon = std::chrono::steady_clock::now() - failed_at_ <= settling;
        if (!by_signal_ && (none_before || (soon && number != SIGABRT && !killed_))) {
          outcome_ = {};
          by_signal_ = true;
        }
        note(r, 128 + number,
             who + " was ended by signal " + std::to_string(number) + " (" + strsignal(number) +
                 ")");
      } else if (WEXITSTATUS(status) == 127)
        note(r, 127, who + " could not be started (exit status 127)");
      else if (WEXITSTATUS(status) != 0)
        note(r, WEXITSTATUS(status),
             who + " ended with exit status " + std::to_string(WEXITSTATUS(status)));
    }
  }

  void kill_all() {
    killed_ = true;
    for (const child& c : children_)
      if (!c.ended) kill(c.pid, SIGKILL);
  }

  std::vector<int> running_ranks() const {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < children_.size(); ++r)
      if (!children_[r].ended) ranks.push_back(static_cast<int>(r));
    return ranks;
  }

  const launch_outcome& outcome() const { return outcome_; }
  void add_to_text(const std::string& more) { outcome_.text += more; }
  void note(std::size_t rank, int status, std::string text) {
    if (!outcome_.ok()) return;
    outcome_ = {static_cast<int>(rank), status, std::move(text)};
    failed_at_ = std::chrono::steady_clock::now();
  }

 private:
  struct child {
    pid_t pid;
    bool ended;
  };
  std::vector<child> children_;
  launch_outcome outcome_;
  std::chrono::steady_clock::time_point failed_at_{};
  bool by_signal_ = false;
  bool killed_ = false;
};

}  // namespace detail

/// Starts `ranks` copies of a program on this host and waits for all of them.
///
/// Caller  host; the thread must outlive the call, since the copies die with the thread.
/// @return The first failure, after all copies have ended: an exit status that is not 0, a signal,
///         or the time limit.
/// @throws errc::invalid_argument, errc::runtime_failed if they cannot be started.
inline launch_outcome launch_processes(const launch_options& options) {
  if (options.ranks < 1)
    throw error(errc::invalid_argument, -1,
                "a launch of " + std::to_string(options.ranks) + " ranks; allowed are 1 or more");
  detail::unique_fd listener = detail::listen_at({"127.0.0.1", 0});
  std::vector<std::string> arguments = {options.program};
  if (options.program == "/proc/self/exe") {
    std::array<char, 4096> path{};
    if (readlink("/proc/self/exe", path.data(), path.size() - 1) > 0) arguments[0] = path.data();
  }
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  const std::string token = detail::random_token();

  detail::child_processes children;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const std::string number = std::to_string(rank);
    std::vector<std::string> variables = {
        "HIRIS_RANK=" + number, "HIRIS_SIZE=" + std::to_string(options.ranks),
        "HIRIS_LOCAL_RANK=" + number, "HIRIS_ADDR=127.0.0.1",
        "HIRIS_PORT=" + std::to_string(detail::port_of(listener.get())), "HIRIS_TOKEN=" + token,
        // only rank 0 inherits the socket
        "HIRIS_LISTEN_FD=" + (rank == 0 ? std::to_string(listener.get()) : std::string())};
    variables.insert(variables.end(), options.variables.begin(), options.variables.end());
    children.start(options.program.c_str(), arguments, detail::changed_environment(variables),
                   rank == 0 ? listener.get() : -1);
  }
  listener.reset();

  detail::deadline end = detail::deadline_in(options.time_limit);
  bool told_to_end = false, killed = false;
  while (children.running() > 0) {
    children.poll_once();
    const auto now = std::chrono::steady_clock::now();
    if (!children.outcome().ok() && !told_to_end) {
      told_to_end = true;
      end = std::min(end, now + options.grace);
    }
    if (now >= end) {
      const std::vector<int> late = children.running_ranks();
      if (!late.empty() && !std::exchange(killed, true)) {
        const std::string who = detail::name_ranks(late);
        if (told_to_end)
          children.add_to_text("; " + who + " had to be ended");
        else
          children.note(
              static_cast<std::size_t>(late.front()), 128 + SIGKILL,
              who + " did not end within " + std::to_string(options.time_limit.count()) + " ms");
      }
      children.kill_all();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return children.outcome();
}

}  // namespace hiris
