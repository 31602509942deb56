// SPDX-License-Identifier: MIT
#include "support/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace example {
namespace {

using integer = long long;

std::string time_text(double us) {
  char text[32];
  if (us < 1e3)
    std::snprintf(text, sizeof text, "%.1f us", us);
  else if (us < 1e6)
    std::snprintf(text, sizeof text, "%.2f ms", us / 1e3);
  else
    std::snprintf(text, sizeof text, "%.2f s", us / 1e6);
  return text;
}

std::string bytes_text(std::int64_t bytes) {
  char text[32];
  const double value = static_cast<double>(bytes);
  if (bytes < 10000)
    std::snprintf(text, sizeof text, "%lld B", static_cast<integer>(bytes));
  else if (value < 1e7)
    std::snprintf(text, sizeof text, "%.1f KiB", value / 1024);
  else
    std::snprintf(text, sizeof text, "%.1f MiB", value / (1024 * 1024));
  return text;
}

}  // namespace

void set_times(result& r, std::vector<double> times_us) {
  std::sort(times_us.begin(), times_us.end());
  r.least_us = times_us.front();
  r.time_us = times_us[times_us.size() / 2];
  r.largest_us = times_us.back();
}

result worst_of(const std::vector<result>& ranks) {
  result worst = ranks.front();
  for (const result& r : ranks) {
    worst.verified = worst.verified && r.verified;
    worst.correct = worst.correct && r.correct;
    // Not a plain comparison: an error that is not a number is the worst there is.
    if (!(r.error / r.allowed <= worst.error / worst.allowed)) {
      worst.error = r.error;
      worst.allowed = r.allowed;
    }
    worst.time_us = std::max(worst.time_us, r.time_us);
    worst.least_us = std::max(worst.least_us, r.least_us);
    worst.largest_us = std::max(worst.largest_us, r.largest_us);
    worst.launches = std::max(worst.launches, r.launches);
    worst.global_barriers = std::max(worst.global_barriers, r.global_barriers);
    worst.signals = std::max(worst.signals, r.signals);
    worst.staged_bytes = std::max(worst.staged_bytes, r.staged_bytes);
    worst.remote_bytes = std::max(worst.remote_bytes, r.remote_bytes);
  }
  return worst;
}

void print_columns(const std::string& what) {
  std::printf("Taxes are those of one call on one rank, the most of all ranks.\n\n");
  std::printf("%-19s %-8s %-27s %10s  %-23s %8s %8s %8s %11s %11s\n", what.c_str(), "correct",
              "largest error", "time", "(range)", "launches", "barriers", "signals", "staged",
              "remote");
  std::fflush(stdout);
}

void print_row(const std::string& name, const result& r) {
  char error[64] = "";
  if (r.verified) std::snprintf(error, sizeof error, "%.2e (%.2e allowed)", r.error, r.allowed);
  char range[80];
  std::snprintf(range, sizeof range, "(%s - %s)", time_text(r.least_us).c_str(),
                time_text(r.largest_us).c_str());
  std::printf("%-19s %-8s %-27s %10s  %-23s %8lld %8lld %8lld %11s %11s\n", name.c_str(),
              !r.verified ? "-"
              : r.correct ? "yes"
                          : "NO",
              error, time_text(r.time_us).c_str(), range, static_cast<integer>(r.launches),
              static_cast<integer>(r.global_barriers), static_cast<integer>(r.signals),
              bytes_text(r.staged_bytes).c_str(), bytes_text(r.remote_bytes).c_str());
  std::fflush(stdout);
}

void print_json(nlohmann::ordered_json head, const std::string& what,
                const std::vector<std::string>& names, const std::vector<result>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    nlohmann::ordered_json row = {{what, names[i]}};
    if (r.verified) {
      row["correct"] = r.correct;
      row["error"] = std::isfinite(r.error) ? nlohmann::ordered_json(r.error) : nullptr;
      row["allowed"] = r.allowed;
    }
    row.update({{"time_us", r.time_us},
                {"least_us", r.least_us},
                {"largest_us", r.largest_us},
                {"launches", r.launches},
                {"global_barriers", r.global_barriers},
                {"signals", r.signals},
                {"staged_bytes", r.staged_bytes},
                {"remote_bytes", r.remote_bytes}});
    head["results"].push_back(std::move(row));
  }
  std::printf("%s\n", head.dump(1).c_str());
  std::fflush(stdout);
}

}  // namespace example
