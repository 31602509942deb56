// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace ag_gemm {
namespace {

const char* name(dtype type) { return type == dtype::fp16 ? "fp16" : "bf16"; }
const char* name(layout b) { return b == layout::kn ? "kn" : "nk"; }
const char* name(launch_kind kind) {
  return kind == launch_kind::threads ? "threads" : "processes";
}

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
    std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes));
  else if (value < 1e7)
    std::snprintf(text, sizeof text, "%.1f KiB", value / 1024);
  else
    std::snprintf(text, sizeof text, "%.1f MiB", value / (1024 * 1024));
  return text;
}

}  // namespace

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
    worst.launches = std::max(worst.launches, r.launches);
    worst.global_barriers = std::max(worst.global_barriers, r.global_barriers);
    worst.staged_bytes = std::max(worst.staged_bytes, r.staged_bytes);
    worst.remote_bytes = std::max(worst.remote_bytes, r.remote_bytes);
    worst.signals = std::max(worst.signals, r.signals);
  }
  return worst;
}

void print_header(const options& o, const std::string& device, int devices) {
  std::printf("C[%lld,%lld] = A[%lld,%lld] B, %s, B as %s; %d ranks (%s) on %d x %s\n",
              static_cast<long long>(o.m), static_cast<long long>(o.n), static_cast<long long>(o.m),
              static_cast<long long>(o.k), name(o.type), name(o.b_layout), o.ranks, name(o.launch),
              devices, device.c_str());
  std::printf("Taxes are those of one call on one rank, the most of all ranks.\n\n");
  std::printf("%-17s %-8s %-27s %10s  %8s %8s %11s %11s %8s\n", "strategy", "correct",
              "largest error", "time", "launches", "barriers", "staged", "remote", "signals");
  std::fflush(stdout);
}

void print_row(const std::string& strategy, const result& r) {
  char error[64] = "";
  if (r.verified) std::snprintf(error, sizeof error, "%.2e (%.2e allowed)", r.error, r.allowed);
  std::printf("%-17s %-8s %-27s %10s  %8lld %8lld %11s %11s %8lld\n", strategy.c_str(),
              !r.verified ? "-"
              : r.correct ? "yes"
                          : "NO",
              error, time_text(r.time_us).c_str(), static_cast<long long>(r.launches),
              static_cast<long long>(r.global_barriers), bytes_text(r.staged_bytes).c_str(),
              bytes_text(r.remote_bytes).c_str(), static_cast<long long>(r.signals));
  std::fflush(stdout);
}

void print_json(const options& o, const std::string& device, int devices,
                const std::vector<std::string>& strategies, const std::vector<result>& results) {
  std::printf(
      "{\"m\": %lld, \"n\": %lld, \"k\": %lld, \"dtype\": \"%s\", \"layout\": \"%s\", "
      "\"ranks\": %d, \"launch\": \"%s\", \"devices\": %d, \"device\": \"%s\",\n"
      " \"results\": [",
      static_cast<long long>(o.m), static_cast<long long>(o.n), static_cast<long long>(o.k),
      name(o.type), name(o.b_layout), o.ranks, name(o.launch), devices, device.c_str());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    std::printf("%s\n  {\"strategy\": \"%s\", ", i == 0 ? "" : ",", strategies[i].c_str());
    if (r.verified)
      std::printf("\"correct\": %s, \"error\": %.6g, \"allowed\": %.6g, ",
                  r.correct ? "true" : "false", r.error == r.error ? r.error : 1e308, r.allowed);
    std::printf(
        "\"time_us\": %.3f, \"launches\": %lld, \"global_barriers\": %lld, "
        "\"staged_bytes\": %lld, \"remote_bytes\": %lld, \"signals\": %lld}",
        r.time_us, static_cast<long long>(r.launches), static_cast<long long>(r.global_barriers),
        static_cast<long long>(r.staged_bytes), static_cast<long long>(r.remote_bytes),
        static_cast<long long>(r.signals));
  }
  std::printf("\n ]}\n");
  std::fflush(stdout);
}

}  // namespace ag_gemm
