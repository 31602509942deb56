// SPDX-License-Identifier: MIT
/// @file
/// All-gather + GEMM by every strategy, checked against fp64, with times and taxes.
///
///     ag_gemm --ranks 8 --strategy all --verify
///     ag_gemm --ranks 8 --launch processes --m 16 --k 8192 --n 28672 --strategy push --verify
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "options.hpp"
#include "run.hpp"
#include "shared_case.hpp"
#include "strategies.hpp"
#include "support/program.hpp"

namespace {

using namespace ag_gemm;

/// One rank of `o.ranks`, with the operands that it shares with the others of this host.
bool run_rank(std::shared_ptr<hiris::bootstrap> boot, const options& o, shared_case& data) {
  return o.type == dtype::fp16 ? run_fp16(std::move(boot), o, data)
                               : run_bf16(std::move(boot), o, data);
}

/// Threads share the case of this process.
example::program with_threads(const options& o, std::optional<shared_case>& data) {
  data.emplace(o, -1, o.ranks);
  return {"ag_gemm", o.ranks, false, [&](std::shared_ptr<hiris::bootstrap> boot) {
            return run_rank(std::move(boot), o, *data);
          }};
}

/// A rank that was launched finds the memory file of its parent, if that is this program.
example::program with_processes(const options& o) {
  return {"ag_gemm", o.ranks, true, [&](std::shared_ptr<hiris::bootstrap> boot) {
            options mine = o;
            mine.ranks = boot->size();
            const char* file = std::getenv(memory_variable);
            shared_case data(mine, file == nullptr ? -1 : std::atoi(file),
                             file == nullptr ? 1 : mine.ranks);
            return run_rank(std::move(boot), mine, data);
          }};
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  const std::optional<options> o = parse(argc, argv, strategy_names(), status);
  if (!o) return status;
  const bool is_parent = !hiris::is_launched();
  if (is_parent && !o->processes) {
    std::optional<shared_case> data;
    return example::run_program(with_threads(*o, data), argc, argv);
  }
  example::program p = with_processes(*o);
  if (is_parent) {
    const int file = memfd_create("ag_gemm", 0);  // the ranks inherit it
    if (file < 0 || ftruncate(file, shared_case::bytes_of(*o)) != 0) {
      std::perror("ag_gemm: no memory file for the operands");
      return example::failed;
    }
    p.variables = {std::string(memory_variable) + "=" + std::to_string(file)};
  }
  return example::run_program(p, argc, argv);
}
