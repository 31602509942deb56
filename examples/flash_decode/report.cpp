// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace flash_decode_example {
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
    worst.least_us = std::max(worst.least_us, r.least_us);
    worst.largest_us = std::max(worst.largest_us, r.largest_us);
    worst.launches = std::max(worst.launches, r.launches);
    worst.global_barriers = std::max(worst.global_barriers, r.global_barriers);
    worst.staged_bytes = std::max(worst.staged_bytes, r.staged_bytes);
    worst.remote_bytes = std::max(worst.remote_bytes, r.remote_bytes);
    worst.signals = std::max(worst.signals, r.signals);
  }
  return worst;
}

void print_header(const options& o, const std::string& device, int devices) {
  std::printf(
      "Flash Decode: batch %lld, %lld query and %lld KV heads of %lld, %lld keys of all ranks, "
      "pages of %lld, fp16; %d ranks (%s) on %d x %s%s\n",
      static_cast<integer>(o.batch), static_cast<integer>(o.q_heads),
      static_cast<integer>(o.kv_heads), static_cast<integer>(o.head_dim),
      static_cast<integer>(o.kv_len), static_cast<integer>(o.page_size), o.ranks,
      o.processes ? "processes" : "threads", devices, device.c_str(),
      o.graph ? "; graph replays" : "");
  std::printf("Taxes are those of one call on one rank.\n\n");
  std::printf("%-19s %-8s %-27s %10s  %-23s %8s %8s %8s %10s %10s\n", "variant", "correct",
              "largest error", "time", "(range)", "launches", "barriers", "signals", "staged",
              "remote");
  std::fflush(stdout);
}

void print_row(const std::string& variant, const result& r) {
  char error[64] = "";
  if (r.verified) std::snprintf(error, sizeof error, "%.2e (%.2e allowed)", r.error, r.allowed);
  char range[80];
  std::snprintf(range, sizeof range, "(%s - %s)", time_text(r.least_us).c_str(),
                time_text(r.largest_us).c_str());
  std::printf("%-19s %-8s %-27s %10s  %-23s %8lld %8lld %8lld %8lld B %8lld B\n", variant.c_str(),
              !r.verified ? "-"
              : r.correct ? "yes"
                          : "NO",
              error, time_text(r.time_us).c_str(), range, static_cast<integer>(r.launches),
              static_cast<integer>(r.global_barriers), static_cast<integer>(r.signals),
              static_cast<integer>(r.staged_bytes), static_cast<integer>(r.remote_bytes));
  std::fflush(stdout);
}

void print_json(const options& o, const std::string& device, int devices,
                const std::vector<result>& results) {
  std::printf(
      "{\"batch\": %lld, \"q_heads\": %lld, \"kv_heads\": %lld, \"head_dim\": %lld, "
      "\"kv_len\": %lld, \"page_size\": %lld, \"ranks\": %d, \"launch\": \"%s\", \"graph\": %s, "
      "\"devices\": %d, \"device\": \"%s\",\n \"results\": [",
      static_cast<integer>(o.batch), static_cast<integer>(o.q_heads),
      static_cast<integer>(o.kv_heads), static_cast<integer>(o.head_dim),
      static_cast<integer>(o.kv_len), static_cast<integer>(o.page_size), o.ranks,
      o.processes ? "processes" : "threads", o.graph ? "true" : "false", devices, device.c_str());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    std::printf("%s\n  {\"variant\": \"%s\", ", i == 0 ? "" : ",", o.variants[i].c_str());
    if (r.verified)
      std::printf("\"correct\": %s, \"error\": %.6g, \"allowed\": %.6g, ",
                  r.correct ? "true" : "false", r.error == r.error ? r.error : 1e308, r.allowed);
    std::printf(
        "\"time_us\": %.3f, \"least_us\": %.3f, \"largest_us\": %.3f, \"launches\": %lld, "
        "\"global_barriers\": %lld, \"signals\": %lld, \"staged_bytes\": %lld, "
        "\"remote_bytes\": %lld}",
        r.time_us, r.least_us, r.largest_us, static_cast<integer>(r.launches),
        static_cast<integer>(r.global_barriers), static_cast<integer>(r.signals),
        static_cast<integer>(r.staged_bytes), static_cast<integer>(r.remote_bytes));
  }
  std::printf("\n ]}\n");
  std::fflush(stdout);
}

}  // namespace flash_decode_example
