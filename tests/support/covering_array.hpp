// SPDX-License-Identifier: MIT
/// @file
/// Few combinations of many parameters, such that every pair of values of any two of them occurs.
///
///     // three parameters with 2, 3 and 4 values
///     for (const std::vector<int>& row : covering_array({2, 3, 4})) run(row[0], row[1], row[2]);
///     EXPECT_EQ(pairs_missing({2, 3, 4}, rows), 0);
///
/// Greedy, as AETG (Cohen et al., 1997): each row is the best of some candidates, in each of which
/// every parameter takes the value that makes the most new pairs with those chosen before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace hiris::test {

namespace detail {

/// Parameter, its value, another parameter above it, its value.
using value_pair = std::tuple<std::size_t, int, std::size_t, int>;

inline value_pair pair_of(std::size_t a, int x, std::size_t b, int y) {
  return a < b ? value_pair{a, x, b, y} : value_pair{b, y, a, x};
}

inline std::set<value_pair> all_pairs(const std::vector<int>& levels) {
  std::set<value_pair> all;
  for (std::size_t b = 1; b < levels.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      for (int x = 0; x < levels[a]; ++x)
        for (int y = 0; y < levels[b]; ++y) all.insert({a, x, b, y});
  return all;
}

}  // namespace detail

/// Pairs of values that stand in no row.
inline std::size_t pairs_missing(const std::vector<int>& levels,
                                 const std::vector<std::vector<int>>& rows) {
  std::set<detail::value_pair> missing = detail::all_pairs(levels);
  for (const std::vector<int>& row : rows)
    for (std::size_t b = 1; b < row.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) missing.erase({a, row[a], b, row[b]});
  return missing.size();
}

/// The rows: of each parameter, the number of a value. The same for the same levels, everywhere.
///
/// @param levels How many values each parameter has, at least 1. [parameters]
inline std::vector<std::vector<int>> covering_array(const std::vector<int>& levels) {
  constexpr int candidates = 20;
  std::set<detail::value_pair> missing = detail::all_pairs(levels);
  std::uint64_t state = 1;
  const auto random_below = [&](std::size_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  std::vector<std::vector<int>> rows;
  while (!missing.empty()) {
    std::vector<int> best;
    std::size_t best_gain = 0;
    for (int turn = 0; turn < candidates; ++turn) {
      std::vector<int> row(levels.size(), -1);
      std::vector<std::size_t> order(levels.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random_below(i)]);
      const detail::value_pair& wanted = *missing.begin();  // so that each row makes one at least
      row[std::get<0>(wanted)] = std::get<1>(wanted);
      row[std::get<2>(wanted)] = std::get<3>(wanted);
      std::size_t gain = 1;
      for (const std::size_t a : order) {
        if (row[a] >= 0) continue;
        const auto values = static_cast<std::size_t>(levels[a]);
        const std::size_t first = random_below(values);
        std::size_t most = 0;
        for (std::size_t i = 0; i < values; ++i) {
          const auto x = static_cast<int>((first + i) % values);
          std::size_t made = 0;
          for (std::size_t b = 0; b < row.size(); ++b)
            if (b != a && row[b] >= 0) made += missing.count(detail::pair_of(a, x, b, row[b]));
          if (i > 0 && made <= most) continue;
          most = made;
          row[a] = x;
        }
        gain += most;
      }
      if (gain <= best_gain) continue;
      best_gain = gain;
      best = row;
    }
    for (std::size_t b = 1; b < best.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) missing.erase({a, best[a], b, best[b]});
    rows.push_back(best);
  }
  return rows;
}

}  // namespace hiris::test
