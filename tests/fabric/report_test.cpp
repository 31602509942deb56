// SPDX-License-Identifier: MIT
// What a report of a race says: both places with rank, workgroup and thread, also where ranks share
// a device, and what of the heap it is about.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/rma.hpp"
#include "support/device_test.hpp"
#include "support/fabric.hpp"

namespace {

using namespace hiris;

const bool devices_are_shared = ::setenv("HIRIS_CPU_DEVICES", "2", 1) == 0;

struct sending_kernel {
  static constexpr int block_threads = 64;
  struct params {
    context ctx;
    float* at;
    int to;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (platform::thread_rank() == 33) store(p.ctx, p.at, 1.0f, p.to);
  }
};
struct reading_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const std::uint64_t* at;
    float* out;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (platform::block_rank() == 1 && platform::thread_rank() == 5)
      *p.out = static_cast<float>(platform::load_global(p.at));
  }
};

class FabricReport : public test::device_test {
 protected:
  /// Rank 0 sends to rank 2, whose kernel reads, on the same device: nobody tells.
  ///
  /// @return What is told of it.
  template <class Memory>
  static std::string race_in(Memory memory) {
    std::string told;
    test::on_ranks(3, [&](const world& job) {
      const world w(job.split(0, 0));
      symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64, .guard_blocks = false});
      memory(w, heap, [&](const context& ctx, float* at) {
        const platform::owned_stream stream;
        const platform::device_buffer<float> out(1);
        w.barrier("ready");
        if (w.rank() == 0) platform::launch<sending_kernel>(stream, 1, {ctx, at, 2});
        w.barrier("sent");  // the kernel may still run
        if (w.rank() == 2)
          platform::launch<reading_kernel>(
              stream, 2, {reinterpret_cast<const std::uint64_t*>(at), out.data()});
        w.barrier("read");
        heap.synchronize(stream);
        w.barrier("done");
        if (w.rank() == 0)
          for (const std::string& race : platform::cpu::the_fabric().take_races()) told += race;
        w.barrier("taken");
      });
    });
    return told;
  }
  static void expect_places(const std::string& told) {
    const std::string sends =
        "sending_kernel, block 0, thread 33 (rank 0, device " + device_of(0) + ")";
    const std::string reads =
        "reading_kernel, block 1, thread 5 (rank 2, device " + device_of(2) + ")";
    EXPECT_NE(told.find("write by (anonymous namespace)::" + sends), std::string::npos) << told;
    EXPECT_NE(told.find("read by (anonymous namespace)::" + reads), std::string::npos) << told;
  }
  static std::string device_of(int rank) { return std::to_string(rank % platform::device_count()); }
  static void expect_at(const std::string& told, const std::string& text) {
    EXPECT_EQ(told.find(" at " + text), told.size() - text.size() - 4) << told;
  }
};

TEST_F(FabricReport, NamesTheBlock) {
  const std::string told = race_in([](const world&, symmetric_heap& heap, auto race) {
    const auto before = heap.allocate<char>(100);
    heap.allocate<double>(8).reset();
    const auto block = heap.allocate<float>(1024);  // where that was
    race(heap.device_context(), block.data() + 34);
  });
  expect_places(told);
  expect_at(told, "data block at offset 256 (float[1024], rank 2), byte 136");
}

TEST_F(FabricReport, ForgetsWhatWasFreed) {
  const std::string told = race_in([](const world&, symmetric_heap& heap, auto race) {
    auto block = heap.allocate<float>(1024);
    float* const at = block.data();
    block.reset();
    race(heap.device_context(), at);
  });
  expect_places(told);
  EXPECT_NE(told.find(" at byte "), std::string::npos) << told;
  EXPECT_NE(told.find(" of an allocation on device " + device_of(2)), std::string::npos) << told;
}

TEST_F(FabricReport, NamesTheRegion) {
  const std::string told = race_in([](const world& w, symmetric_heap& heap, auto race) {
    const platform::device_buffer<float> mine(256);
    auto region = heap.attach(mine.data() + 4, 200);
    race(heap.device_context(region), region.data() + 2);
    heap.detach(std::move(region));
    w.barrier("detached");
  });
  expect_places(told);
  expect_at(told, "registered region (float[200], rank 2), byte 8");
}

TEST_F(FabricReport, NamesTheSignal) {
  const std::string told = race_in([](const world& w, symmetric_heap& heap, auto race) {
    const auto first = heap.allocate_signals(16);
    const auto signals = heap.allocate_signals(2);
    context ctx = heap.device_context();  // stored to as if it were data
    std::vector<window> windows;
    for (const window& it : test::to_host(ctx.windows, w.size()))
      windows.push_back({it.signals, it.signals});
    platform::device_buffer<window> table(windows.size());
    table.copy_from(windows);
    ctx.windows = table.data();
    race(ctx, reinterpret_cast<float*>(&signals.data()[1].arrivals));
  });
  expect_places(told);
  expect_at(told, "signal 17 of rank 2");
}

}  // namespace
