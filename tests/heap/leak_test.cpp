// SPDX-License-Identifier: MIT
// Nothing leaks: file descriptors, mappings and resident memory over thousands of cycles. What is
// counted is the process's own view in /proc, so this holds the emulator's runtime to it as well.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "hiris/heap.hpp"
#include "support/device_test.hpp"
#include "support/processes.hpp"

namespace {

using hiris::symmetric_heap;
using hiris::world;
using hiris::platform::device_buffer;
using hiris::test::on_processes;
using hiris::test::on_ranks;

using Leak = hiris::test::device_test;

constexpr hiris::heap_options small{.data_bytes = 4096, .signals = 8};
constexpr int attachments = 10'000;
constexpr int openings = 10'000;
constexpr int warm_up = 100;

/// What a process holds.
struct footprint {
  std::int64_t files = 0;
  std::int64_t mappings = 0;
  std::int64_t resident_kib = 0;
  std::int64_t open_ipc = 0;
};

footprint measure() {
  footprint now;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++now.files;
  }
  std::string line;
  for (std::ifstream maps("/proc/self/maps"); std::getline(maps, line);) ++now.mappings;
  for (std::ifstream status("/proc/self/status"); std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) now.resident_kib = std::atoll(line.c_str() + 6);
  now.open_ipc = static_cast<std::int64_t>(hiris::detail::ipc_cache::of_process().size());
  return now;
}

/// Runs `cycle` and compares what the process holds after a warm-up with what it holds at the end.
/// Collective; the ranks stand still while rank `w.rank()` of each process looks.
template <class Cycle>
void expect_no_growth(const world& w, int cycles, Cycle cycle) {
  for (int i = 0; i < warm_up; ++i) cycle();
  w.barrier("warm");
  const footprint before = measure();
  w.barrier("measured");
  for (int i = 0; i < cycles; ++i) cycle();
  w.barrier("done");
  const footprint after = measure();
  w.barrier("measured");
  EXPECT_LE(after.files, before.files + 2);  // another rank of this process may be measuring, too
  EXPECT_LE(after.mappings, before.mappings + 16);            // a leak would be one a cycle or more
  EXPECT_LE(after.resident_kib, before.resident_kib + 4096);  // less than half a KiB a cycle
  EXPECT_EQ(after.open_ipc, before.open_ipc);
}

void attach_and_detach(const world& w) {
  symmetric_heap heap(w, small);
  expect_no_growth(w, attachments, [&] {
    device_buffer<int> memory(100);  // another allocation each time, as its mapping must be
    heap.detach(heap.attach(memory.data() + w.rank(), 50));
  });
}

void open_and_close(const world& w) {
  expect_no_growth(w, openings, [&] {
    symmetric_heap heap(w, small);
    const auto block = heap.allocate<int>(10);
    const auto signals = heap.allocate_signals(2);
  });
}

void allocate_and_free(const world& w) {
  symmetric_heap heap(w, small);
  const world pair = w.split(0, -w.rank());
  expect_no_growth(w, attachments, [&] {
    const auto block = heap.allocate<int>(10);
    static_cast<void>(heap.device_context(pair));
  });
}

TEST_F(Leak, RegionsOfThreads) { on_ranks(2, attach_and_detach); }
TEST_F(Leak, RegionsOfProcesses) { on_processes({.processes = 2}, attach_and_detach); }
TEST_F(Leak, HeapsOfThreads) { on_ranks(2, open_and_close); }
TEST_F(Leak, HeapsOfProcesses) { on_processes({.processes = 2}, open_and_close); }
TEST_F(Leak, BlocksOfThreads) { on_ranks(2, allocate_and_free); }
TEST_F(Leak, BlocksOfProcesses) { on_processes({.processes = 2}, allocate_and_free); }

}  // namespace
