// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace ag_gemm {
namespace {

const char* name(dtype type) { return type == dtype::fp16 ? "fp16" : "bf16"; }
const char* name(layout b) { return b == layout::kn ? "kn" : "nk"; }
const char* launch_of(const options& o) { return o.processes ? "processes" : "threads"; }

}  // namespace

void print_header(const options& o, const std::string& device, int devices) {
  using integer = long long;
  std::printf("C[%lld,%lld] = A[%lld,%lld] B, %s, B as %s; %d ranks (%s) on %d x %s\n",
              static_cast<integer>(o.m), static_cast<integer>(o.n), static_cast<integer>(o.m),
              static_cast<integer>(o.k), name(o.type), name(o.b_layout), o.ranks, launch_of(o),
              devices, device.c_str());
  example::print_columns("strategy");
}

void print_json(const options& o, const std::string& device, int devices,
                const std::vector<example::result>& results) {
  example::print_json({{"m", o.m},
                       {"n", o.n},
                       {"k", o.k},
                       {"dtype", name(o.type)},
                       {"layout", name(o.b_layout)},
                       {"ranks", o.ranks},
                       {"launch", launch_of(o)},
                       {"devices", devices},
                       {"device", device}},
                      "strategy", o.strategies, results);
}

}  // namespace ag_gemm
