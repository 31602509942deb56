// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "support/checks.hpp"
#include "support/step_limit.hpp"

namespace ag_gemm {

std::optional<options> parse(int argc, char** argv, const std::vector<std::string>& known,
                             int& exit_status) {
  options o;
  CLI::App app(
      "All-gather + GEMM over the ranks of one node: C[m,n] = [A_0 | ... | A_{W-1}] B, A sharded\n"
      "along k, B on every rank, fp32 accumulation. Prints one row a strategy.\n");
  app.footer(example::help_of_step_limit());
  app.option_defaults()->always_capture_default();

  std::vector<std::string> allowed = known;
  allowed.insert(allowed.end(), {"automatic", "all"});
  std::string type = "fp16", b_layout = "kn", launch = "threads";
  const auto size = CLI::Range(std::int64_t{1}, std::int64_t{1} << 30);

  const CLI::Option* const ranks =
      app.add_option(
             "--ranks", o.ranks,
             "Ranks, unless a launcher says how many; they share devices when there are fewer")
          ->check(CLI::Range(1, 64));
  app.add_option("--m", o.m, "Rows of A and C")->check(size);
  app.add_option("--n", o.n, "Columns of B and C")->check(size);
  app.add_option("--k", o.k, "Columns of A, all shards together")->check(size);
  app.add_option("--strategy", o.strategies, "Strategies to run, by name, or all of the four")
      ->check(CLI::IsMember(allowed))
      ->delimiter(',');
  app.add_flag("--verify", o.verify, "Compare every rank's C with an fp64 reference");
  app.add_flag("--json", o.json, "Print JSON instead of a table");
  app.add_option("--seed", o.seed, "Of the random A and B")->check(example::unsigned_number());
  app.add_option("--wait-budget", o.wait_budget_s, "Longest wait in a kernel, in seconds")
      ->check(example::seconds_of_a_wait());
  app.add_option("--dtype", type, "Format of A, B and C")->check(CLI::IsMember({"fp16", "bf16"}));
  app.add_option("--layout", b_layout, "Of B in memory: kn, or nk as the weight of a linear layer")
      ->check(CLI::IsMember({"kn", "nk"}));
  app.add_option("--launch", launch, "What the ranks are")
      ->check(CLI::IsMember({"threads", "processes"}));
  app.option_defaults()->always_capture_default(false);
  app.add_option("--iterations", o.iterations,
                 "Timed calls after the checked one; 0 times the checked call itself "
                 "[0 on the emulator, 20 on GPUs]")
      ->check(CLI::Range(0, 1000000));

  exit_status = 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    exit_status = app.exit(e);
    return std::nullopt;
  }
  o.type = type == "fp16" ? dtype::fp16 : dtype::bf16;
  o.b_layout = b_layout == "kn" ? layout::kn : layout::nk;
  o.ranks_given = ranks->count() > 0;
  o.processes = launch == "processes";
  for (const std::string& name : o.strategies) {
    if (name == "all") {
      o.strategies = known;
      break;
    }
  }
  return o;
}

}  // namespace ag_gemm
