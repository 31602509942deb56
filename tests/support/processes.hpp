// SPDX-License-Identifier: MIT
/// @file
/// Tests whose ranks are processes: the test program runs itself again, once a process.
///
///     TEST_F(Heap, AcrossProcesses) {
///       hiris::test::on_processes({.processes = 2, .threads = 2}, [](const hiris::world& w) {
///         ... EXPECT_EQ ...                    // 4 ranks, 2 in each process
///       });                                    // one call a test, and nothing after it
///     }
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/bootstrap/tcp.hpp"
#include "hiris/world.hpp"

namespace hiris::test {

/// How ranks are spread. Rank r lives in process r / threads.
struct process_plan {
  int processes = 2;
  int threads = 1;                ///< Ranks a process.
  std::vector<int> exit_codes{};  ///< Expected, one a process; empty: all 0.
  std::chrono::milliseconds time_limit = default_time_limit;  ///< Of a step of set-up.
};

namespace process_detail {

inline constexpr const char* process_variable = "HIRIS_TEST_PROCESS";  // "number port listener"
inline constexpr const char* test_token = "not a secret, but long enough";

/// A listening socket at a free port.
inline std::pair<int, int> listen_somewhere() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(fd, 64) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw error(errc::runtime_failed, -1, "no port to listen at");
  return {fd, ntohs(at.sin_port)};
}

inline void run_ranks_of(const process_plan& plan, int process, int port, int listener,
                         const std::function<void(const tcp_options&)>& f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < plan.threads; ++t)
    threads.emplace_back([&, t] {
      try {
        tcp_options o;
        o.rank = process * plan.threads + t;
        o.size = plan.processes * plan.threads;
        o.port = static_cast<std::uint16_t>(port);
        o.token = test_token;
        o.time_limit = plan.time_limit;
        o.listener = o.rank == 0 ? listener : -1;
        f(o);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "process " << process << ", thread " << t << ": " << e.what();
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace process_detail

/// Runs `f(options)` on ranks that are processes of this test program; to connect is up to it. A
/// failure in any of them fails the test; its text is in the output.
inline void in_processes(const process_plan& plan,
                         const std::function<void(const tcp_options&)>& f) {
  if (const char* text = std::getenv(process_detail::process_variable)) {
    int process = 0, port = 0, listener = 0;
    ASSERT_EQ(std::sscanf(text, "%d %d %d", &process, &port, &listener), 3);
    process_detail::run_ranks_of(plan, process, port, listener, f);
    return;
  }
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter =
      std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  const auto [listener, port] = process_detail::listen_somewhere();
  std::vector<pid_t> children;
  for (int p = 0; p < plan.processes; ++p) {
    const std::string value = std::string(process_detail::process_variable) + "=" +
                              std::to_string(p) + " " + std::to_string(port) + " " +
                              std::to_string(listener);
    std::vector<char*> environment;
    for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
    environment.push_back(const_cast<char*>(value.c_str()));
    environment.push_back(nullptr);
    const std::string program = "/proc/self/exe";
    char* const arguments[] = {const_cast<char*>("test"), const_cast<char*>(filter.c_str()),
                               const_cast<char*>("--gtest_brief=1"), nullptr};
    const pid_t child = fork();
    if (child == 0) {
      execve(program.c_str(), arguments, environment.data());
      _exit(127);
    }
    children.push_back(child);
  }
  close(listener);
  for (std::size_t p = 0; p < children.size(); ++p) {
    int status = 0;
    ASSERT_EQ(waitpid(children[p], &status, 0), children[p]);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    EXPECT_EQ(code, p < plan.exit_codes.size() ? plan.exit_codes[p] : 0) << "process " << p;
  }
}

/// Runs `f(world)` on ranks that are processes of this test program.
inline void on_processes(const process_plan& plan, const std::function<void(const world&)>& f) {
  in_processes(plan, [&](const tcp_options& o) {
    const std::shared_ptr<bootstrap> boot = connect_tcp(o);
    {
      const world w(boot);
      f(w);
    }
    boot->barrier("end of the test");
  });
}

}  // namespace hiris::test
