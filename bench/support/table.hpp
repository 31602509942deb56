// SPDX-License-Identifier: MIT
/// @file
/// What a bench prints: the machine, then one table a case, each time beside the floor.
///
///     print_machine(world);
///     const table t("m 64 n 28672", floor, {"warm", "cold"});
///     t.row("push", {warm, cold});
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "support/statistics.hpp"

namespace hiris::bench {

/// Commit, compiler, ranks, device, source of the floor. For rank 0 of the job to call.
inline void print_machine(const world& w) {
  const platform::device_info device = platform::describe(w.device());
  std::printf(
      "hiris %s, compiled %s by %s\n%d ranks, %d on a device; %s, %s, %d units\nfloor: %s\n",
      HIRIS_BENCH_COMMIT, HIRIS_BENCH_PLATFORM, HIRIS_BENCH_COMPILER, w.size(), w.ranks_on_device(),
      device.name.c_str(), device.arch.c_str(), device.compute_units,
      figures_of(device.arch).source);
  std::fflush(stdout);
}

/// The table of one case. Prints nothing unless `speaks`.
class table {
 public:
  /// @param columns Names of the series that a row has, e.g. "warm".
  table(bool speaks, const std::string& title, floor_time floor,
        const std::vector<std::string>& columns)
      : speaks_(speaks), floor_(floor) {
    if (!speaks_) return;
    std::printf("\n%s, floor %.1f us (%s)\n%-24s", title.c_str(), floor_.us, floor_.by, "");
    for (const std::string& column : columns)
      std::printf(" %30s %8s", (column + ": median [p10 .. p90] us").c_str(), "x floor");
    std::printf("\n");
    std::fflush(stdout);
  }

  void row(const std::string& name, const std::vector<summary>& series) const {
    if (!speaks_) return;
    std::printf("%-24s", name.c_str());
    for (const summary& t : series) {
      char text[64];
      std::snprintf(text, sizeof text, "%.1f [%.1f .. %.1f]", t.median_us, t.p10_us, t.p90_us);
      std::printf(" %30s %8.2f", text, floor_.us > 0 ? t.median_us / floor_.us : 0.0);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  bool speaks_;
  floor_time floor_;
};

}  // namespace hiris::bench
