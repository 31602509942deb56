// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace flash_decode_example {

void print_header(const options& o, const std::string& device, int devices) {
  using integer = long long;
  std::printf(
      "Flash Decode: batch %lld, %lld query and %lld KV heads of %lld, %lld keys of all ranks, %s, "
      "fp16; %d ranks (%s) on %d x %s%s\n",
      static_cast<integer>(o.batch), static_cast<integer>(o.q_heads),
      static_cast<integer>(o.kv_heads), static_cast<integer>(o.head_dim),
      static_cast<integer>(o.kv_len),
      o.page_size == 0 ? "contiguous" : ("pages of " + std::to_string(o.page_size)).c_str(),
      o.ranks, o.processes ? "processes" : "threads", devices, device.c_str(),
      o.graph ? "; graph replays" : "");
  example::print_columns("variant");
}

void print_json(const options& o, const std::string& device, int devices,
                const std::vector<result>& results) {
  example::print_json({{"batch", o.batch},
                       {"q_heads", o.q_heads},
                       {"kv_heads", o.kv_heads},
                       {"head_dim", o.head_dim},
                       {"kv_len", o.kv_len},
                       {"page_size", o.page_size},
                       {"ranks", o.ranks},
                       {"launch", o.processes ? "processes" : "threads"},
                       {"graph", o.graph},
                       {"devices", devices},
                       {"device", device}},
                      "variant", o.variants, results);
}

}  // namespace flash_decode_example
