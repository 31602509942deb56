// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "support/checks.hpp"
#include "support/step_limit.hpp"

namespace flash_decode_example {

std::vector<std::string> variant_names() {
  return {"bulk_synchronous", "independent_gather", "fine_grained", "fused"};
}

std::optional<options> parse(int argc, char** argv, int& exit_status) {
  options o;
  CLI::App app(
      "One decode step of attention over a KV cache that is sharded along the sequence over the\n"
      "ranks of one node, fp16. Prints one row a variant.\n");
  app.footer(example::help_of_step_limit());
  app.option_defaults()->always_capture_default();
  std::vector<std::string> allowed = variant_names();
  allowed.emplace_back("all");
  std::string launch = "threads";
  const auto heads = CLI::Range(1, 1024);
  const auto size_or_0 = CLI::Range(std::int64_t{0}, std::int64_t{1} << 30);

  const CLI::Option* const ranks =
      app.add_option(
             "--ranks", o.ranks,
             "Ranks, unless a launcher says how many; they share devices when there are fewer")
          ->check(CLI::Range(1, 64));
  app.add_option("--batch", o.batch, "Sequences")->check(CLI::Range(1, 256));
  app.add_option("--q-heads", o.q_heads, "Query heads")->check(heads);
  app.add_option("--kv-heads", o.kv_heads, "KV heads; must divide the query heads")->check(heads);
  app.add_option("--head-dim", o.head_dim, "Elements of a query, key or value")
      ->check(example::multiple(16, 64, 256));
  app.add_option("--kv-len", o.kv_len, "Keys of a sequence, of all ranks together")
      ->check(size_or_0);
  app.add_option("--page-size", o.page_size, "Keys of a page; 0: a contiguous cache")
      ->check(size_or_0);
  app.add_option("--splits", o.splits, "Parts of a rank's keys; 0: chosen from shape and device")
      ->check(CLI::Range(0, 4096));
  app.add_option("--variant", o.variants, "Variants to run, by name, or all")
      ->check(CLI::IsMember(allowed))
      ->delimiter(',');
  app.add_option("--launch", launch, "What the ranks are")
      ->check(CLI::IsMember({"threads", "processes"}));
  app.add_flag("--verify", o.verify, "Compare every rank's output with an fp64 reference");
  app.add_flag("--json", o.json, "Print JSON instead of a table");
  app.add_flag("--graph", o.graph, "Time replays of a captured graph");
  app.add_flag("--arrival-order", o.arrival_order,
               "Fold the ranks as they come, not in their order");
  app.add_option("--wait-budget", o.wait_budget_s, "Longest wait in a kernel, in seconds")
      ->check(example::seconds_of_a_wait());
  app.option_defaults()->always_capture_default(false);
  app.add_option("--iterations", o.iterations,
                 "Timed samples after the checked call; 0 times the checked call itself "
                 "[0 on the emulator, 50 on GPUs]")
      ->check(CLI::Range(0, 1000000));
  exit_status = 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    exit_status = app.exit(e);
    return std::nullopt;
  }
  o.ranks_given = ranks->count() > 0;
  o.processes = launch == "processes";
  for (const std::string& name : o.variants) {
    if (name == "all") {
      o.variants = variant_names();
      break;
    }
  }
  return o;
}

}  // namespace flash_decode_example
