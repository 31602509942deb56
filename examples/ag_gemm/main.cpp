// SPDX-License-Identifier: MIT
/// @file
/// All-gather + GEMM by every strategy, checked against fp64, with times and taxes.
///
///     ag_gemm --ranks 8 --strategy all --verify
///     ag_gemm --ranks 8 --launch processes --m 16 --k 8192 --n 28672 --strategy push --verify
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
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
  return {"ag_gemm", o.ranks, o.ranks_given, false, [&](std::shared_ptr<hiris::bootstrap> boot) {
            return run_rank(std::move(boot), o, *data);
          }};
}

/// A rank that was launched finds the memory file of its parent, if that is this program.
example::program with_processes(const options& o) {
  return {"ag_gemm", o.ranks, o.ranks_given, true, [&](std::shared_ptr<hiris::bootstrap> boot) {
            options mine = o;
            mine.ranks = boot->size();
            mine.processes = true;
            const char* file = std::getenv(memory_variable);
            shared_case data(mine, file == nullptr ? -1 : std::atoi(file),
                             file == nullptr ? 1 : mine.ranks);
            return run_rank(std::move(boot), mine, data);
          }};
}

/// A memory file for the operands, which the ranks inherit.
///
/// @throws errc::out_of_memory naming the bytes.
int memory_file(const options& o) {
  const std::int64_t n_bytes = shared_case::bytes_of(o);
  const int file = memfd_create("ag_gemm", 0);
  if (file < 0 || ftruncate(file, n_bytes) != 0) throw shared_memory::no_room(n_bytes);
  return file;
}

}  // namespace

int main(int argc, char** argv) try {
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
    p.variables = {std::string(memory_variable) + "=" + std::to_string(memory_file(*o))};
  }
  return example::run_program(p, argc, argv);
} catch (const std::exception& e) {
  std::fprintf(stderr, "ag_gemm: %s\n", e.what());
  return example::failed;
}
