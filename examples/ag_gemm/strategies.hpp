// SPDX-License-Identifier: MIT
/// @file
/// The strategies that the example knows, by name.
#pragma once

#include <string>
#include <vector>

#include "hiris/error.hpp"
#include "hiris/ops/all_gather_gemm_plan.hpp"

namespace ag_gemm {

inline constexpr hiris::strategy all_strategies[] = {hiris::strategy::bulk_synchronous,
                                                     hiris::strategy::pull, hiris::strategy::push,
                                                     hiris::strategy::push_fused};

/// Their names, in this order: what "all" runs.
inline std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (hiris::strategy s : all_strategies) names.emplace_back(hiris::to_string(s));
  return names;
}

/// The strategy of a name; "automatic" is one, too.
///
/// @throws errc::invalid_argument if there is none.
inline hiris::strategy strategy_of(const std::string& name) {
  for (hiris::strategy s : all_strategies)
    if (name == hiris::to_string(s)) return s;
  if (name == hiris::to_string(hiris::strategy::automatic)) return hiris::strategy::automatic;
  throw hiris::error(hiris::errc::invalid_argument, -1, "there is no strategy '" + name + "'");
}

}  // namespace ag_gemm
