// SPDX-License-Identifier: MIT
/// @file
/// Flash Decode by every variant, checked against fp64, with times and taxes: the ablation.
///
///     flash_decode --ranks 8 --variant all --verify
///     flash_decode --ranks 2 --launch processes --q-heads 96 --kv-heads 8 --kv-len 131072 --verify
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hiris/bootstrap/environment.hpp"
#include "hiris/bootstrap/launcher.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "hiris/error.hpp"
#include "hiris/platform/runtime.hpp"
#include "options.hpp"
#include "rank.hpp"

namespace {

using namespace flash_decode_example;

constexpr int wrong_result = 1;
constexpr int failed = 2;
/// Ranks wait this long for each other in a step, such as the computation of a large reference.
constexpr std::chrono::minutes step_limit(15);

int run_threads(const options& o) {
  std::atomic<bool> correct{true};
  hiris::run_ranks(
      o.ranks,
      [&](std::shared_ptr<hiris::bootstrap> boot) {
        if (!rank_runner(std::move(boot), o).run()) correct = false;
      },
      step_limit);
  return correct ? 0 : wrong_result;
}

/// Starts this program again, once a rank.
int run_processes(const options& o, int argc, char** argv) {
  hiris::launch_options launch;
  launch.ranks = o.ranks;
  launch.arguments.assign(argv + 1, argv + argc);
  if (std::getenv("HIRIS_TIMEOUT_S") == nullptr)
    launch.variables.push_back("HIRIS_TIMEOUT_S=" +
                               std::to_string(std::chrono::seconds(step_limit).count()));
  const hiris::launch_outcome outcome = hiris::launch_processes(launch);
  if (!outcome.ok() && outcome.status != wrong_result)
    std::fprintf(stderr, "flash_decode: %s\n", outcome.text.c_str());
  return outcome.status;
}

/// This process is a rank: of run_processes, or of mpirun, torchrun, srun.
int run_launched(options o) {
  const int rank = hiris::read_environment().rank;
  try {
    std::shared_ptr<hiris::bootstrap> boot = hiris::join_environment();
    o.ranks = boot->size();
    return rank_runner(std::move(boot), o).run() ? 0 : wrong_result;
  } catch (const hiris::error& e) {
    // All ranks throw what one found out: that one says so, or rank 0 if it cannot.
    const bool mine = e.rank() < 0 || e.rank() == rank;
    if (mine || (rank == 0 && e.code() == hiris::errc::bootstrap_failed)) throw;
    return failed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  const std::optional<options> o = parse(argc, argv, status);
  if (!o) return status;
  try {
    if (hiris::is_launched()) return run_launched(*o);
    if (o->processes) return run_processes(*o, argc, argv);
    hiris::platform::reserve_hardware_queues();  // ranks of one process may share a device
    return run_threads(*o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "flash_decode: %s\n", e.what());
    return failed;
  }
}
