// SPDX-License-Identifier: MIT
/// @file
/// A kernel of your own that writes into another rank's memory and tells it so.
///
/// Four ranks stand in a ring. Each pushes a tile to the next one and waits for the tile of the
/// previous one. The ranks are threads here; processes work with the same kernel.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hiris/bootstrap/threads.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "hiris/world.hpp"

// [readme]
struct pass_a_tile_on {
  static constexpr int block_threads = 256;
  struct params {
    hiris::context ctx;              // reaches every rank
    int* inbox;                      // [256] in the symmetric heap: the same place on all ranks
    hiris::signal_counter* arrived;  // counts the tiles that have landed in this rank's inbox
    int* result;                     // [256] in this rank's own memory
  };
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int thread = hiris::platform::thread_rank();
    const int next = (p.ctx.rank + 1) % p.ctx.size;
    const int previous = (p.ctx.rank + p.ctx.size - 1) % p.ctx.size;

    hiris::store(p.ctx, p.inbox + thread, 1000 * p.ctx.rank + thread, next);
    hiris::block_notify_peer_stores(p.ctx, p.arrived, next);  // after the stores of all threads

    if (hiris::block_wait_until(p.ctx, p.arrived, 1, previous) != hiris::wait_status::ok) return;
    p.result[thread] = p.inbox[thread] + thread;
  }
};
// [/readme]

namespace {

void run_rank(std::shared_ptr<hiris::bootstrap> boot) {
  hiris::world world(std::move(boot));
  hiris::symmetric_heap heap(world, {.data_bytes = 1 << 20, .signals = 16});
  auto inbox = heap.allocate<int>(pass_a_tile_on::block_threads);
  auto arrived = heap.allocate_signals(1);
  hiris::platform::device_buffer<int> result(pass_a_tile_on::block_threads);

  hiris::platform::owned_stream stream;
  hiris::load_kernels<pass_a_tile_on>(world);  // nobody waits for a rank whose kernel is not there
  hiris::launch_resident<pass_a_tile_on>(
      world, stream, 1, {heap.device_context(), inbox.data(), arrived.data(), result.data()});
  heap.synchronize(stream);  // throws if the wait ran out, and says who was waited for

  const int previous = (world.rank() + world.size() - 1) % world.size();
  const std::vector<int> values = result.to_host();
  for (int i = 0; i < pass_a_tile_on::block_threads; ++i)
    if (values[static_cast<std::size_t>(i)] != 1000 * previous + 2 * i)
      throw std::runtime_error("wrong value at " + std::to_string(i));
  std::printf("rank %d has the tile of rank %d\n", world.rank(), previous);
  world.barrier("end");  // a peer may still be reading this rank's memory
}

}  // namespace

int main() try {
  hiris::run_ranks(4, run_rank);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
