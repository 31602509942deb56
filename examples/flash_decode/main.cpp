// SPDX-License-Identifier: MIT
/// @file
/// Flash Decode by every variant, checked against fp64, with times and taxes: the ablation.
///
///     flash_decode --ranks 8 --variant all --verify
///     flash_decode --ranks 2 --launch processes --q-heads 96 --kv-heads 8 --kv-len 131072 --verify
#include <memory>
#include <optional>
#include <utility>

#include "options.hpp"
#include "rank.hpp"
#include "support/program.hpp"

int main(int argc, char** argv) {
  using namespace flash_decode_example;
  int status = 0;
  const std::optional<options> o = parse(argc, argv, status);
  if (!o) return status;
  return example::run_program({.name = "flash_decode",
                               .ranks = o->ranks,
                               .ranks_given = o->ranks_given,
                               .processes = o->processes,
                               .rank =
                                   [&](std::shared_ptr<hiris::bootstrap> boot) {
                                     options mine = *o;
                                     mine.ranks = boot->size();
                                     mine.processes = hiris::is_launched();
                                     return rank_runner(std::move(boot), mine).run();
                                   }},
                              argc, argv);
}
