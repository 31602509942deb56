// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ag_gemm {
namespace {

const char* name(dtype type) { return type == dtype::fp16 ? "fp16" : "bf16"; }
const char* name(layout b) { return b == layout::kn ? "kn" : "nk"; }
const char* launch_of(const options& o) { return o.processes ? "processes" : "threads"; }
bool has_automatic(const options& o) {
  return std::find(o.strategies.begin(), o.strategies.end(), "automatic") != o.strategies.end();
}

}  // namespace

void print_header(const options& o, const setting& on) {
  using integer = long long;
  std::printf("C[%lld,%lld] = A[%lld,%lld] B, %s, B as %s; %d ranks (%s) on %d x %s%s\n",
              static_cast<integer>(o.m), static_cast<integer>(o.n), static_cast<integer>(o.m),
              static_cast<integer>(o.k), name(o.type), name(o.b_layout), o.ranks, launch_of(o),
              on.devices, on.device.c_str(),
              has_automatic(o) ? ("; automatic: " + on.automatic).c_str() : "");
  example::print_columns("strategy");
}

void print_json(const options& o, const setting& on, const std::vector<example::result>& results) {
  nlohmann::ordered_json head = {{"m", o.m},
                                 {"n", o.n},
                                 {"k", o.k},
                                 {"dtype", name(o.type)},
                                 {"layout", name(o.b_layout)},
                                 {"ranks", o.ranks},
                                 {"launch", launch_of(o)},
                                 {"devices", on.devices},
                                 {"device", on.device}};
  if (has_automatic(o)) head["automatic"] = on.automatic;
  example::print_json(head, "strategy", o.strategies, results);
}

}  // namespace ag_gemm
