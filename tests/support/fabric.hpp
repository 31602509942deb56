// SPDX-License-Identifier: MIT
/// @file
/// Tests under the emulator's hostile fabric: turned on for the whole program that includes this,
/// and run seed by seed, each of which replays exactly.
///
///     for_each_seed(32, [&](std::uint64_t seed) {      // or HIRIS_TEST_SEEDS=first:count
///       on_ranks(3, [&](const world& w) {
///         ... set up ...
///         under_seed(w, seed, stream, [&] { op.run(stream, ...); });
///         ... look at the results ...
///       });
///     });
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris::test {

/// Before the first device is made. A seed of the environment stands.
inline const bool fabric_is_hostile = ::setenv("HIRIS_CPU_FABRIC_SEED", "1", 0) == 0;
/// Few workgroups are resident, so that each has several parts to do, one after the other.
inline const bool devices_are_small = ::setenv("HIRIS_CPU_COMPUTE_UNITS", "1", 0) == 0;

/// The seeds of this run: those of HIRIS_TEST_SEEDS=first:count, or 1 .. `otherwise`.
struct seed_range {
  std::uint64_t first = 1, count = 0;
};
inline seed_range seeds(std::uint64_t otherwise) {
  const char* const text = std::getenv("HIRIS_TEST_SEEDS");
  if (text == nullptr) return {1, otherwise};
  seed_range range;
  char* end = nullptr;
  range.first = std::strtoull(text, &end, 10);
  range.count = *end == ':' ? std::strtoull(end + 1, &end, 10) : 1;
  if (*end != '\0' || range.first == 0 || range.count == 0) {
    std::fprintf(stderr, "HIRIS_TEST_SEEDS is '%s': a first seed of 1 or more, ':', a count\n",
                 text);
    std::exit(2);
  }
  return range;
}

/// Runs `body(seed)` for the seeds until one fails; then says which, and how to run it again.
inline void for_each_seed(std::uint64_t otherwise, const std::function<void(std::uint64_t)>& body) {
  const seed_range range = seeds(otherwise);
  for (std::uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));  // if it dies now
    try {
      body(seed);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "thrown: " << e.what();
    }
    if (!testing::Test::HasFailure()) continue;
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    std::printf("failed with seed %llu; again: HIRIS_TEST_SEEDS=%llu:1 %s --gtest_filter=%s.%s\n",
                static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed),
                program_invocation_name, info->test_suite_name(), info->name());
    return;
  }
}

/// Has all ranks enqueue while nothing runs, then lets it run as the seed says. Collective; each
/// rank of a device of its own. On return the rank's stream is done, and so are those of all. A
/// race fails the test, unless it is meant.
///
/// @param guarded Memory of which kernels may touch nothing but through the primitives: each
///                allocation that one of these lies in. A kernel that does ends the program.
/// @return The run's fingerprint: equal for runs that were alike in every step.
inline std::uint64_t under_seed(const world& w, std::uint64_t seed, platform::stream stream,
                                const std::function<void()>& enqueue,
                                const std::vector<const void*>& guarded = {},
                                bool races_are_meant = false) {
  w.barrier("before the seed");
  if (w.rank() == 0) platform::cpu::the_turns().hold();
  w.barrier("held");
  enqueue();
  for (const void* p : guarded) platform::cpu::guard_memory(p);
  w.barrier("enqueued");
  if (w.rank() == 0) platform::cpu::the_turns().release(seed);
  platform::synchronize(stream);
  w.barrier("done");
  const std::uint64_t fingerprint = platform::cpu::the_fabric().fingerprint();
  if (w.rank() == 0) {
    for (const std::string& race : platform::cpu::the_fabric().take_races())
      if (!races_are_meant) ADD_FAILURE() << race;
    platform::cpu::the_turns().expect_more();
    platform::cpu::unguard_memory();
  }
  w.barrier("looked at");
  return fingerprint;
}

}  // namespace hiris::test
