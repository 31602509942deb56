// SPDX-License-Identifier: MIT
/// @file
/// Median and spread of a series of times, and the floor that they are held against.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hiris::bench {

/// What a series of times says. Microseconds.
struct summary {
  double median_us, p10_us, p90_us;
};

/// @param times_us At least one.
inline summary summarize(std::vector<double> times_us) {
  std::sort(times_us.begin(), times_us.end());
  const auto at = [&](double part) {
    return times_us[static_cast<std::size_t>(part * static_cast<double>(times_us.size() - 1) +
                                             0.5)];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

/// What a device can do at best, with the source of each figure. Zero: not known.
struct device_figures {
  double memory_bytes_per_us;
  double operations_per_us;  ///< fp16 multiplications and additions, fp32 accumulation.
  double link_bytes_per_us;  ///< Into a device from all peers together.
  const char* source;
};

/// Figures of an architecture.
inline device_figures figures_of(const std::string& arch) {
  if (arch == "sm_90")
    return {4.41e6, 989e6, 0.373e6, "H200: memory and link as measured, arithmetic by datasheet"};
  if (arch == "gfx942")
    return {4.2e6, 1307e6, 0.315e6, "MI300X: memory and links as published by others, datasheet"};
  if (arch == "gfx950") return {8.0e6, 2300e6, 0.42e6, "MI355X: datasheet, links as published"};
  if (arch == "gfx90a") return {1.6e6, 191e6, 0, "MI250X, one die: datasheet"};
  return {0, 0, 0, "none: times of the emulator say nothing about a GPU"};
}

/// Least time of a step: the slowest of its parts. Zero where nothing is known.
struct floor_time {
  double us;
  const char* by;  ///< Which of the three.
};

/// @param local_bytes  Read or written in this device's memory, each once.
/// @param operations   Multiplications and additions of fp16.
/// @param remote_bytes Brought from the peers.
inline floor_time floor_of(const device_figures& f, std::int64_t local_bytes,
                           std::int64_t operations, std::int64_t remote_bytes) {
  const auto time = [](std::int64_t amount, double rate) {
    return rate > 0 ? static_cast<double>(amount) / rate : 0.0;
  };
  floor_time least{time(local_bytes, f.memory_bytes_per_us), "memory"};
  for (const floor_time& other : {floor_time{time(operations, f.operations_per_us), "arithmetic"},
                                  floor_time{time(remote_bytes, f.link_bytes_per_us), "link"}})
    if (other.us > least.us) least = other;
  return least;
}

}  // namespace hiris::bench
