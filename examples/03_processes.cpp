// SPDX-License-Identifier: MIT
/// @file
/// Ranks as processes, and a counter on rank 0 that all of them add to.
///
/// Started by itself, the program starts itself again as four ranks. Started by mpirun, torchrun or
/// srun (with HIRIS_TOKEN and HIRIS_PORT set) it is one of theirs. The kernel knows nothing of it.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "hiris/atomic.hpp"
#include "hiris/bootstrap/environment.hpp"
#include "hiris/bootstrap/launcher.hpp"
#include "hiris/heap.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/world.hpp"

/// Every thread of every rank adds 1 to the counter of rank 0.
struct count_all {
  static constexpr int block_threads = 64;
  struct params {
    hiris::context ctx;
    std::uint64_t* counter;  // in the symmetric heap
  };
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    hiris::atomic_add<hiris::order::relaxed>(p.ctx, p.counter, std::uint64_t{1}, 0);
  }
};

namespace {

void run_rank(std::shared_ptr<hiris::bootstrap> boot) {
  constexpr int blocks = 3;
  hiris::world world(std::move(boot));
  const hiris::platform::device_guard on(world.device());
  hiris::symmetric_heap heap(world, {.data_bytes = 1 << 20, .fill_new = std::byte{0}});
  auto counter = heap.allocate<std::uint64_t>(1);

  hiris::platform::owned_stream stream;
  hiris::platform::launch<count_all>(stream, blocks, {heap.device_context(), counter.data()});
  heap.synchronize(stream);
  world.barrier("all have counted");  // every rank's stream has ended, so its additions are there

  std::uint64_t total = 0;
  if (world.rank() == 0) {
    hiris::platform::copy_now(&total, counter.data(), sizeof total);
    const auto expected =
        static_cast<std::uint64_t>(world.size() * blocks * count_all::block_threads);
    if (total != expected)
      throw std::runtime_error("counted " + std::to_string(total) + " of " +
                               std::to_string(expected));
    std::printf("%d processes counted to %llu\n", world.size(),
                static_cast<unsigned long long>(total));
  }
  world.barrier("end");  // rank 0's memory and its end of the channel live until here
}

}  // namespace

int main() try {
  if (hiris::is_launched()) {
    run_rank(hiris::join_environment());
    return 0;
  }
  const hiris::launch_outcome outcome = hiris::launch_processes({.ranks = 4});
  if (!outcome.ok()) std::fprintf(stderr, "%s\n", outcome.text.c_str());
  return outcome.status;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
