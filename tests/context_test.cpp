// SPDX-License-Identifier: MIT
#include "hiris/context.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"

namespace {

using hiris::context;
using hiris::signal_counter;
using hiris::window;

static_assert(std::is_trivially_copyable_v<context>);
static_assert(sizeof(signal_counter) == 128 && alignof(signal_counter) == 128);

/// Writes through `on` into the window of each rank, all of which lie in one allocation.
struct touch_all {
  static constexpr int block_threads = 64;
  struct params {
    context ctx;
    int* mine;
    signal_counter* my_signal;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (hiris::platform::thread_rank() != 0) return;
    for (int peer = 0; peer < p.ctx.size; ++peer) {
      *p.ctx.on(peer, p.mine) = 100 + peer;
      p.ctx.on(peer, p.my_signal)->arrivals = static_cast<std::uint64_t>(200 + peer);
    }
  }
};

TEST(Context, OnMovesAnAddressFromWindowToWindow) {
  if (hiris::platform::device_count() == 0) GTEST_SKIP() << "no device";
  // Windows of three ranks at uneven places, in no order; signals elsewhere again.
  constexpr std::size_t bytes = 4096;
  hiris::platform::device_buffer<char> memory(bytes);
  memory.fill_with(std::byte{0});
  const std::array<std::size_t, 3> data_at = {1024, 0, 512};
  const std::array<std::size_t, 3> signals_at = {2048, 3584, 3072};
  std::vector<window> table;
  for (std::size_t r = 0; r < 3; ++r)
    table.push_back({memory.data() + data_at[r], memory.data() + signals_at[r]});
  table.push_back({table[0].data + 512, table[0].signals + 512});
  hiris::platform::device_buffer<window> windows(table.size());
  windows.copy_from(table);

  const context ctx{2, 3, windows.data(), nullptr, 1};
  hiris::platform::owned_stream stream;
  hiris::platform::launch<touch_all>(stream, 1,
                                     {ctx, reinterpret_cast<int*>(table[2].data + 36),
                                      reinterpret_cast<signal_counter*>(table[2].signals + 128)});
  stream.synchronize();

  const std::vector<char> after = memory.to_host();
  std::size_t changed = 0;
  for (char c : after) changed += c != 0 ? 1u : 0u;
  EXPECT_EQ(changed, 6u);  // nothing else: one byte of each number is not zero
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(after[data_at[r] + 36], static_cast<char>(100 + r));
    EXPECT_EQ(after[signals_at[r] + 128], static_cast<char>(200 + r));
  }
}

}  // namespace
