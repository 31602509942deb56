// SPDX-License-Identifier: MIT
/// @file
/// What the environment sets of the emulator, read once a process.
///
///     HIRIS_CPU_DEVICES=2 HIRIS_CPU_COMPUTE_UNITS=4 ./my_test
///
/// | variable                | default | meaning                                                 |
/// |-------------------------|---------|---------------------------------------------------------|
/// | HIRIS_CPU_DEVICES       | 8       | number of emulated devices, 0 to 64                     |
/// | HIRIS_CPU_COMPUTE_UNITS | 8       | compute units a device, 1 to 1024                       |
/// | HIRIS_CPU_MEMORY_BYTES  | 16 GiB  | device memory a device; pages are only used when touched |
/// | HIRIS_CPU_FABRIC_SEED   | 0       | other than 0: the seed of a hostile fabric (fabric.hpp) |
///
/// For a value that is malformed or out of range the default is used, and a line on stderr says
/// what is allowed: the emulator ends no program for a setting.
///
/// A compute unit holds 2048 threads and 64 KiB of workgroup memory, as one of CDNA does. Under the
/// thread sanitizer the defaults are 4 devices of 1 unit of 1024 threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "hiris/platform/cpu/sanitizer.hpp"

namespace hiris::platform::cpu {

inline constexpr int threads_per_unit = lanes_are_dear ? 1024 : 2048;
inline constexpr std::size_t shared_bytes_per_unit = 64 * 1024;

struct options {
  int devices;
  int compute_units;
  std::uint64_t memory_bytes;
  std::uint64_t fabric_seed;
};

/// A whole number of the environment; out of range or malformed: the default, said on stderr.
inline std::uint64_t environment_number(const char* name, std::uint64_t otherwise,
                                        std::uint64_t least, std::uint64_t most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  const bool whole = *text >= '0' && *text <= '9' && *end == '\0';
  if (whole && value >= least && value <= most) return value;
  std::fprintf(stderr, "hiris emulator: %s is '%s': allowed are %llu to %llu; using %llu\n", name,
               text, static_cast<unsigned long long>(least), static_cast<unsigned long long>(most),
               static_cast<unsigned long long>(otherwise));
  return otherwise;
}

/// The options of this process.
inline const options& the_options() {
  static const options chosen{
      static_cast<int>(environment_number("HIRIS_CPU_DEVICES", lanes_are_dear ? 4 : 8, 0, 64)),
      static_cast<int>(
          environment_number("HIRIS_CPU_COMPUTE_UNITS", lanes_are_dear ? 1 : 8, 1, 1024)),
      environment_number("HIRIS_CPU_MEMORY_BYTES", std::uint64_t{16} << 30, 1 << 20,
                         std::uint64_t{1} << 44),
      environment_number("HIRIS_CPU_FABRIC_SEED", 0, 0, ~std::uint64_t{0} >> 1)};
  return chosen;
}

}  // namespace hiris::platform::cpu
