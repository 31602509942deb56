// SPDX-License-Identifier: MIT
#include "hiris/heap.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hiris/launch.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::heap_options;
using hiris::signal_counter;
using hiris::symmetric_array;
using hiris::symmetric_heap;
using hiris::world;
using hiris::test::expect_error;
using hiris::test::gather;
using hiris::test::on_ranks;
using hiris::test::to_device;
using hiris::test::to_host;

using Heap = hiris::test::device_test;

constexpr heap_options small{.data_bytes = 1 << 20, .signals = 64};

/// Every rank tells every peer its number: in data, and by arrivals.
struct greet_kernel {
  static constexpr int block_threads = 64;
  struct params {
    hiris::context ctx;
    std::int32_t* greetings;  // [size]
    signal_counter* signals;  // [size]
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    if (hiris::platform::thread_rank() != 0) return;
    for (int peer = 0; peer < p.ctx.size; ++peer) {
      hiris::platform::peer_store(p.ctx.on(peer, p.greetings + p.ctx.rank),
                                  std::int32_t{1000 * p.ctx.rank + peer});
      hiris::platform::atomic_fetch_add<hiris::order::relaxed, hiris::scope::system>(
          &p.ctx.on(peer, p.signals + p.ctx.rank)->arrivals, std::uint64_t{7});
    }
  }
};

/// Runs greet_kernel on all ranks of `team` and checks what arrived.
void greet(const world& team, hiris::context ctx, std::int32_t* greetings,
           signal_counter* signals) {
  const hiris::platform::device_guard guard(team.device());
  const hiris::platform::owned_stream stream;
  team.barrier("greetings are allocated");
  hiris::platform::launch<greet_kernel>(stream, 1, {ctx, greetings, signals});
  stream.synchronize();
  team.barrier("greetings are sent");
  const auto told = to_host(greetings, team.size());
  const auto arrived = to_host(signals, team.size());
  for (int from = 0; from < team.size(); ++from) {
    EXPECT_EQ(told[static_cast<std::size_t>(from)], 1000 * from + team.rank());
    EXPECT_EQ(arrived[static_cast<std::size_t>(from)].arrivals, 7u);
  }
  team.barrier("greetings are read");
}

TEST_F(Heap, EveryRankReachesEveryPeer) {
  for (int n = 1; n <= 8; ++n)
    on_ranks(n, [](const world& w) {
      symmetric_heap heap(w, small);
      const auto before = heap.allocate<char>(333);  // so that offsets are not all zero
      const auto greetings = heap.allocate<std::int32_t>(w.size());
      const auto skipped = heap.allocate_signals(3);
      const auto signals = heap.allocate_signals(w.size());
      greet(w, heap.device_context(), greetings.data(), signals.data());
    });
}

TEST_F(Heap, OffsetsAreEqualAndAligned) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 16 << 20, .signals = 8});
    std::vector<symmetric_array<std::uint16_t>> kept;
    for (std::uint64_t alignment = 1; alignment <= (2u << 20); alignment *= 2) {
      kept.push_back(heap.allocate<std::uint16_t>(5, alignment));
      const auto& block = kept.back();
      const auto address = reinterpret_cast<std::uintptr_t>(block.data());
      EXPECT_EQ(address % std::max<std::uint64_t>(alignment, 2), 0u);
      EXPECT_EQ(block.size(), 5);
      EXPECT_EQ(heap.offset_of(block.data() + 4), block.offset() + 8);
      for (const std::uint64_t offset : gather(w, block.offset()))
        EXPECT_EQ(offset, block.offset());
    }
    for (const auto& a : kept)
      for (const auto& b : kept)
        EXPECT_TRUE(&a == &b || a.offset() >= b.offset() + 10 || b.offset() >= a.offset() + 10);
  });
}

TEST_F(Heap, ABlockIsUsedAgainOnlyWhenEveryRankHasFreedIt) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1024, .signals = 1});
    auto whole = heap.allocate<char>(1024);
    if (w.rank() == 0) {
      whole.reset();
      EXPECT_EQ(heap.data_use().waiting_bytes, 1024u);
    }
    expect_error(errc::out_of_memory, 0,
                 {"needs 1 bytes", "0 free of 1024", "largest free block of 0"},
                 [&] { heap.allocate<char>(1); });
    whole.reset();
    const auto again = heap.allocate<char>(1024);
    EXPECT_EQ(again.offset(), 0u);
    EXPECT_EQ(heap.data_use().free_bytes, 0u);
    EXPECT_EQ(heap.data_use().waiting_bytes, 0u);
  });
}

// Ranks free what they like, when they like, in another order on each; offsets must stay equal and
// blocks that any rank still has must never overlap.
TEST_F(Heap, RandomFreesNeverMakeRanksDiverge) {
  on_ranks(4, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 1});
    std::mt19937 shared_random(11), own_random(static_cast<std::uint32_t>(100 + w.rank()));
    std::vector<symmetric_array<char>> live;
    int refused = 0;
    for (int step = 0; step < 400; ++step) {
      const std::int64_t n = 1 + static_cast<std::int64_t>(shared_random() % 5000);
      const std::uint64_t alignment = std::uint64_t{1} << (shared_random() % 10);
      std::uint64_t offset = ~std::uint64_t{0};
      try {
        live.push_back(heap.allocate<char>(n, alignment));
        offset = live.back().offset();
      } catch (const hiris::error& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        ++refused;
      }
      for (const std::uint64_t theirs : gather(w, offset)) ASSERT_EQ(theirs, offset);
      for (std::size_t i = 0; i + 1 < live.size() && offset != ~std::uint64_t{0}; ++i) {
        const auto& a = live[i];
        ASSERT_TRUE(a.offset() + static_cast<std::uint64_t>(a.size()) <= offset ||
                    offset + static_cast<std::uint64_t>(n) <= a.offset());
      }
      std::shuffle(live.begin(), live.end(), own_random);
      const std::size_t going = own_random() % 3;
      for (std::size_t i = 0; i < going && !live.empty(); ++i) live.pop_back();
    }
    EXPECT_GT(refused, 0);
    live.clear();
    const auto all = heap.allocate<char>(1 << 16);  // nothing was lost
    EXPECT_EQ(all.offset(), 0u);
  });
}

TEST_F(Heap, ReusedSignalsStartFromZeroOnAllRanks) {
  on_ranks(4, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 12, .signals = w.size()});
    const auto greetings = heap.allocate<std::int32_t>(w.size());
    for (int round = 0; round < 5; ++round) {
      const auto signals = heap.allocate_signals(w.size());
      EXPECT_EQ(signals.offset(), 0u);
      greet(w, heap.device_context(), greetings.data(), signals.data());
    }
  });
}

TEST_F(Heap, BadRequestsAreRefusedOnAllRanksAndChangeNothing) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, small);
    const bool odd = w.rank() == 1;
    const auto same = [&](errc code, int rank, std::vector<std::string> words,
                          const std::function<void()>& call) {
      expect_error(code, rank, words, call);
      EXPECT_EQ(heap.data_use().free_bytes, 1u << 20);
      EXPECT_EQ(heap.signal_use().free_bytes, 64u * 128);
    };
    same(errc::invalid_argument, 0, {"0 elements", "1 or more"}, [&] { heap.allocate<int>(0); });
    same(errc::invalid_argument, 1, {"-5 elements", "1 or more"},
         [&] { heap.allocate<int>(odd ? -5 : 5); });
    same(errc::invalid_argument, 0, {"alignment 48", "powers of two up to 2097152"},
         [&] { heap.allocate<int>(1, 48); });
    same(errc::invalid_argument, 0, {"alignment 3", "powers of two"},
         [&] { heap.allocate<double>(1, 3); });
    same(errc::invalid_argument, 1, {"alignment 0"}, [&] { heap.allocate<int>(1, odd ? 0 : 8); });
    same(errc::invalid_argument, 0, {"alignment 4194304"}, [&] { heap.allocate<int>(1, 4 << 20); });
    same(errc::mismatch, 1, {"7 elements", "but rank 0 for 8 elements"},
         [&] { heap.allocate<int>(odd ? 7 : 8); });
    same(errc::mismatch, 1, {"alignment 512", "alignment 256"},
         [&] { heap.allocate<int>(7, odd ? 512 : 256); });
    same(errc::mismatch, 1, {"7 elements of float", "7 elements of int"}, [&] {
      if (odd) {
        heap.allocate<float>(7);
      } else {
        heap.allocate<int>(7);
      }
    });
    same(errc::mismatch, 1, {"signals memory", "data memory"}, [&] {
      if (odd) {
        heap.allocate_signals(7);
      } else {
        heap.allocate<signal_counter>(7);
      }
    });
    same(errc::invalid_argument, 0, {"-1 elements"}, [&] { heap.allocate_signals(-1); });
    same(errc::out_of_memory, 0, {"needs 8320 bytes", "8192 free of 8192"},
         [&] { heap.allocate_signals(65); });
    same(errc::out_of_memory, 0, {"needs 1048577 bytes", "1048576 free of 1048576"},
         [&] { heap.allocate<char>((1 << 20) + 1); });
    same(errc::out_of_memory, 0, {"needs 2^64 or more bytes"},
         [&] { heap.allocate<double>(INT64_MAX); });
    EXPECT_EQ(heap.allocate<char>(1 << 20).offset(), 0u);
  });
}

TEST_F(Heap, BadOptionsAreRefusedOnAllRanks) {
  on_ranks(2, [](const world& w) {
    const bool odd = w.rank() == 1;
    const auto with = [&](heap_options o) { return [&w, o] { symmetric_heap heap(w, o); }; };
    heap_options o = small;
    o.data_bytes = odd ? 0 : 100;
    expect_error(errc::invalid_argument, 1, {"data_bytes is 0", "1 to "}, with(o));
    o = small;
    o.signals = -3;
    expect_error(errc::invalid_argument, 0, {"signals is -3", "1 to "}, with(o));
    o = small;
    o.wait_budget = std::chrono::nanoseconds(0);
    expect_error(errc::invalid_argument, 0, {"wait_budget"}, with(o));
    o = small;
    o.data_bytes = odd ? 100 : 200;
    expect_error(errc::mismatch, 1, {"data_bytes", "100", "200"}, with(o));
    o = small;
    o.data_bytes = std::int64_t{1} << 50;
    expect_error(errc::out_of_memory, 0, {"need", "have"}, with(o));
    symmetric_heap heap(w, small);  // the world is still good
    EXPECT_EQ(heap.allocate<char>(1).offset(), 0u);
  });
}

TEST_F(Heap, PointersOutsideAreNotSymmetric) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, small);
    auto block = heap.allocate<int>(10);
    const auto signals = heap.allocate_signals(2);
    const int on_stack = 0;
    EXPECT_TRUE(heap.contains(block.data() + 9));
    EXPECT_FALSE(heap.contains(block.data() + 10));
    EXPECT_FALSE(heap.contains(&on_stack));
    EXPECT_TRUE(heap.contains(signals.data() + 1));
    EXPECT_FALSE(heap.contains(signals.data() + 2));
    EXPECT_EQ(heap.offset_of(signals.data() + 1), 128u);
    const std::string range = "[" + hiris::detail::address_text(block.data()) + ", ";
    expect_error(errc::not_symmetric, w.rank(), {"pointer 0x0 ", range},
                 [&] { heap.offset_of(static_cast<const void*>(nullptr)); });
    expect_error(errc::not_symmetric, w.rank(), {hiris::detail::address_text(&on_stack), range},
                 [&] { heap.offset_of(&on_stack); });
    expect_error(errc::not_symmetric, w.rank(), {"data segment"},
                 [&] { heap.offset_of(static_cast<const void*>(signals.data())); });
    const auto neighbour = heap.allocate<int>(64, 4);
    EXPECT_EQ(heap.offset_of(block.data(), 40), block.offset());
    expect_error(errc::not_symmetric, w.rank(), {"41 bytes"},
                 [&] { heap.offset_of(block.data(), 41); });
    EXPECT_EQ(heap.offset_of(signals.data(), 2), 0u);
    expect_error(errc::not_symmetric, w.rank(), {"384 bytes"},
                 [&] { heap.offset_of(signals.data(), 3); });
    const int* freed = block.data();
    block.reset();
    expect_error(errc::not_symmetric, w.rank(), {hiris::detail::address_text(freed)},
                 [&] { heap.offset_of(freed); });
  });
}

TEST_F(Heap, NewBlocksAreFilledWhereAskedFor) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 4096, .signals = 1, .fill_new = std::byte{0xff}});
    for (int round = 0; round < 2; ++round) {
      const auto block = heap.allocate<std::uint32_t>(1024);
      EXPECT_EQ(to_host(block.data(), 1024), std::vector<std::uint32_t>(1024, 0xffffffffu));
      to_device(block.data(), std::vector<std::uint32_t>(1024, 3));
    }
  });
}

TEST_F(Heap, ReachesBeyondFourGiB) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = std::int64_t{6} << 30, .signals = 16});
    const auto large = heap.allocate<char>((std::int64_t{4} << 30) + 5);
    EXPECT_EQ(large.size(), (std::int64_t{4} << 30) + 5);
    const auto greetings = heap.allocate<std::int32_t>(w.size());
    EXPECT_GT(greetings.offset(), std::uint64_t{1} << 32);
    const auto signals = heap.allocate_signals(w.size());
    greet(w, heap.device_context(), greetings.data(), signals.data());
    expect_error(errc::out_of_memory, 0, {"needs 17179869184 bytes", "free of 6442450944"},
                 [&] { heap.allocate<double>(std::int64_t{1} << 31); });
  });
}

TEST_F(Heap, HandlesMoveAndMayOutliveTheHeap) {
  on_ranks(2, [](const world& w) {
    symmetric_array<int> kept;
    {
      symmetric_heap heap(w, small);
      auto block = heap.allocate<int>(10);
      symmetric_array<int> moved(std::move(block));
      EXPECT_FALSE(block);  // NOLINT: what a moved-from handle is, is promised
      EXPECT_TRUE(moved);
      kept = std::move(moved);
      EXPECT_EQ(heap.data_use().waiting_bytes, 0u);
      kept = heap.allocate<int>(20);
      EXPECT_EQ(heap.data_use().waiting_bytes, 40u);
      heap.close();
      expect_error(errc::invalid_argument, w.rank(), {"closed"}, [&] { heap.allocate<int>(1); });
      expect_error(errc::invalid_argument, w.rank(), {"closed"}, [&] { heap.device_context(); });
      EXPECT_FALSE(heap.contains(kept.data()));
      heap.close();
    }
    EXPECT_EQ(kept.size(), 20);
  });
}

TEST_F(Heap, ARankThatFailsDoesNotHangTheOthers) {
  const auto start = std::chrono::steady_clock::now();
  try {
    on_ranks(3, [](const world& w) {
      symmetric_heap heap(w, small);
      if (w.rank() == 1) throw std::runtime_error("rank 1 has had enough");
      heap.allocate<int>(1);
      ADD_FAILURE() << "allocated without rank 1";
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "rank 1 has had enough");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
