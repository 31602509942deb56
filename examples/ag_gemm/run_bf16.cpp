// SPDX-License-Identifier: MIT
#include <memory>
#include <utility>

#include "rank.hpp"
#include "run.hpp"

namespace ag_gemm {

bool run_bf16(std::shared_ptr<hiris::bootstrap> boot, const options& o, shared_case& data) {
  return run_rank_of<hiris::bfloat16>(std::move(boot), o, data);
}

}  // namespace ag_gemm
