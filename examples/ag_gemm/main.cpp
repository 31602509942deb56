// SPDX-License-Identifier: MIT
/// @file
/// All-gather + GEMM by every strategy, checked against fp64, with times and taxes.
///
///     ag_gemm --ranks 8 --strategy all --verify
///     ag_gemm --ranks 8 --launch processes --m 16 --k 8192 --n 28672 --strategy push --verify
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "hiris/bootstrap/launcher.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "options.hpp"
#include "run.hpp"
#include "shared_case.hpp"
#include "strategies.hpp"

namespace {

using namespace ag_gemm;

/// Runs all ranks. Returns whether everything was correct.
bool run(const options& o) {
  shared_case data(o);
  auto rank = [&](std::shared_ptr<hiris::bootstrap> boot) {
    return o.type == dtype::fp16 ? run_fp16(boot, o, data) : run_bf16(boot, o, data);
  };
  if (o.launch == launch_kind::processes) return run_in_processes(o.ranks, rank);
  std::atomic<bool> correct{true};
  hiris::run_ranks(o.ranks, [&](std::shared_ptr<hiris::bootstrap> boot) {
    if (!rank(std::move(boot))) correct = false;
  });
  return correct;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  const std::optional<options> o = parse(argc, argv, strategy_names(), status);
  if (!o) return status;
  try {
    return run(*o) ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ag_gemm: %s\n", e.what());
    return 2;
  }
}
