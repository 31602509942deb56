// SPDX-License-Identifier: MIT
/// @file
/// The ranks of a bench: threads of this process, processes that it starts, or those of a launcher.
///
///     return run_bench("my_bench", ranks, processes, argc, argv, [&](const world& w) { ... });
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "hiris/bootstrap/environment.hpp"
#include "hiris/bootstrap/launcher.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris::bench {

/// Calls `body` on every rank, with its device current.
///
/// @param ranks,processes Ignored in a process that a launcher started.
/// @return What main() is to return; the reason of a failure is on stderr.
inline int run_bench(const char* name, int ranks, bool processes, int argc, char** argv,
                     const std::function<void(const world&)>& body) {
  // Ranks wait for each other while one computes a large reference.
  constexpr std::chrono::minutes step_limit(15);
  const auto on_rank = [&](std::shared_ptr<bootstrap> boot) {
    const world w(std::move(boot));
    const platform::device_guard on(w.device());
    body(w);
    w.barrier("end of a bench");  // rank 0 may serve the others until then
  };
  try {
    if (is_launched()) {
      on_rank(join_environment());
    } else if (processes) {
      launch_options launch;
      launch.ranks = ranks;
      launch.arguments.assign(argv + 1, argv + argc);
      if (std::getenv("HIRIS_TIMEOUT_S") == nullptr)
        launch.variables.push_back("HIRIS_TIMEOUT_S=" +
                                   std::to_string(std::chrono::seconds(step_limit).count()));
      const launch_outcome outcome = launch_processes(launch);
      if (!outcome.ok()) std::fprintf(stderr, "%s: %s\n", name, outcome.text.c_str());
      return outcome.status;
    } else {
      platform::reserve_hardware_queues();  // ranks of one process may share a device
      run_ranks(ranks, on_rank, step_limit);
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 1;
  }
}

}  // namespace hiris::bench
