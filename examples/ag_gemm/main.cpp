// SPDX-License-Identifier: MIT
/// @file
/// All-gather + GEMM by every strategy, checked against fp64, with times and taxes.
///
///     ag_gemm --ranks 8 --strategy all --verify
///     ag_gemm --ranks 8 --launch processes --m 16 --k 8192 --n 28672 --strategy push --verify
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "hiris/bootstrap/environment.hpp"
#include "hiris/bootstrap/launcher.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "hiris/error.hpp"
#include "hiris/platform/runtime.hpp"
#include "options.hpp"
#include "run.hpp"
#include "shared_case.hpp"
#include "strategies.hpp"

namespace {

using namespace ag_gemm;

constexpr int wrong_result = 1;
constexpr int failed = 2;
/// Ranks wait this long for each other in a step, such as the computation of a large reference.
constexpr std::chrono::minutes step_limit(15);

bool run_one(std::shared_ptr<hiris::bootstrap> boot, const options& o, shared_case& data) {
  return o.type == dtype::fp16 ? run_fp16(std::move(boot), o, data)
                               : run_bf16(std::move(boot), o, data);
}

int run_threads(const options& o) {
  shared_case data(o, -1, o.ranks);
  std::atomic<bool> correct{true};
  hiris::run_ranks(
      o.ranks,
      [&](std::shared_ptr<hiris::bootstrap> boot) {
        if (!run_one(std::move(boot), o, data)) correct = false;
      },
      step_limit);
  return correct ? 0 : wrong_result;
}

/// Starts this program again, once a rank, with a memory file that all of them inherit.
int run_processes(const options& o, int argc, char** argv) {
  const int file = memfd_create("ag_gemm", 0);
  if (file < 0 || ftruncate(file, shared_case::bytes_of(o)) != 0) throw std::bad_alloc();
  hiris::launch_options launch;
  launch.ranks = o.ranks;
  launch.arguments.assign(argv + 1, argv + argc);
  launch.variables = {std::string(memory_variable) + "=" + std::to_string(file)};
  if (std::getenv("HIRIS_TIMEOUT_S") == nullptr)
    launch.variables.push_back("HIRIS_TIMEOUT_S=" +
                               std::to_string(std::chrono::seconds(step_limit).count()));
  const hiris::launch_outcome outcome = hiris::launch_processes(launch);
  if (!outcome.ok() && outcome.status != wrong_result)
    std::fprintf(stderr, "ag_gemm: %s\n", outcome.text.c_str());
  return outcome.status;
}

/// This process is a rank: of run_processes, or of mpirun, torchrun, srun.
int run_launched(options o) {
  const int rank = hiris::read_environment().rank;
  try {
    std::shared_ptr<hiris::bootstrap> boot = hiris::join_environment();
    o.ranks = boot->size();
    const char* file = std::getenv(memory_variable);
    shared_case data(o, file == nullptr ? -1 : std::atoi(file), file == nullptr ? 1 : o.ranks);
    return run_one(std::move(boot), o, data) ? 0 : wrong_result;
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
  const std::optional<options> o = parse(argc, argv, strategy_names(), status);
  if (!o) return status;
  try {
    if (hiris::is_launched()) return run_launched(*o);
    if (o->launch == launch_kind::processes) return run_processes(*o, argc, argv);
    hiris::platform::reserve_hardware_queues();  // ranks of one process may share a device
    return run_threads(*o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ag_gemm: %s\n", e.what());
    return failed;
  }
}
