// SPDX-License-Identifier: MIT
// A rank of two that tells anything while the world and a heap are made, memory is allocated, freed
// and mapped, and a team is split off: the other ends with an error that has a text, or goes on.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../support/altered_channel.hpp"
#include "bytes.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "hiris/heap.hpp"

using namespace hiris;
using namespace std::chrono_literals;

namespace {

/// What the other rank tells in its n-th meeting is changed at some byte.
struct edit {
  int meeting;
  std::size_t at;
  std::string bytes;
};

std::vector<edit> take_edits(test::fuzz_bytes& input) {
  std::vector<edit> edits;
  while (!input.empty() && edits.size() < 16) {
    const int meeting = input.number(63);
    const std::size_t at = input.take<std::uint16_t>();
    edits.push_back({meeting, at, input.text(200)});
  }
  return edits;
}

void use_everything(std::shared_ptr<bootstrap> boot) {
  const world w(std::move(boot));
  symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 8, .guard_blocks = false});
  auto freed = heap.allocate<float>(100);
  const auto kept = heap.allocate<char>(100);
  freed = {};
  const auto again = heap.allocate<float>(100);
  const auto signals = heap.allocate_signals(2);
  platform::device_buffer<int> memory(100);
  auto region = heap.attach(memory.data() + 3, 50);
  const world team = w.split(0, -w.rank());
  heap.device_context(team);
  heap.device_context(region, team);
  heap.detach(std::move(region));
  w.require_equal("fuzz", "a number", 1);
  heap.close();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::fuzz_bytes input(data, size);
  const std::vector<edit> edits = take_edits(input);
  const auto liar = [&edits](std::shared_ptr<bootstrap> boot) {
    return std::make_shared<test::altered_channel>(
        std::move(boot),
        [&edits, meeting = 0](std::string_view, char* all, std::size_t bytes) mutable {
          for (const edit& e : edits)
            if (e.meeting == meeting && bytes > 0) {
              const std::size_t at = e.at % bytes;
              std::memcpy(all + bytes + at, e.bytes.data(), std::min(e.bytes.size(), bytes - at));
            }
          ++meeting;
        });
  };
  try {
    run_ranks(
        2,
        [&](std::shared_ptr<bootstrap> boot) {
          if (boot->rank() == 1) return use_everything(std::move(boot));  // which ends when 0 does
          try {
            use_everything(liar(boot));
          } catch (const error& e) {
            test::require(std::strlen(e.what()) > 10, "an error has a text");
            throw;
          } catch (...) {
            test::require(false, "what is told wrongly is a hiris::error");
          }
        },
        5s);
  } catch (const error&) {
  }
  test::require(detail::memory_list::of_process().size() == 0, "no memory is listed afterwards");
  test::require(detail::ipc_cache::of_process().size() == 0, "no memory is mapped afterwards");
  return 0;
}
