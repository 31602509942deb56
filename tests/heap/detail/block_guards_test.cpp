// SPDX-License-Identifier: MIT
// Writes outside the blocks of a heap, and to freed memory, are found where and when they can be.
#include "hiris/heap/detail/block_guards.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiris/heap.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/rma.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using test::expect_error;
using test::gather;
using test::on_ranks;
using test::to_device;
using test::to_host;

using BlockGuards = test::device_test;

constexpr heap_options guarded{.data_bytes = 1 << 16, .signals = 4, .guard_blocks = true};

/// Writes one byte of this rank's memory from the host.
void poke(const void* at, std::int64_t delta_bytes, int value) {
  to_device(static_cast<std::byte*>(const_cast<void*>(at)) + delta_bytes,
            std::vector{static_cast<std::byte>(value)});
}

/// Puts one element too many to a peer.
struct overrun_kernel {
  static constexpr int block_threads = platform::wave_size;
  struct params {
    context ctx;
    int* to;
    const int* from;
    std::uint64_t n_elems;
    int peer;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    block_put(p.ctx, p.to, p.from, p.peer, p.n_elems);
  }
};

TEST_F(BlockGuards, APeersOverrunIsFoundWhereItLanded) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, guarded);
    const auto block = heap.allocate<int>(10);
    const auto other = heap.allocate<int>(100);
    EXPECT_NO_THROW(heap.check_blocks());
    platform::device_buffer<int> source(11);
    source.fill_with(std::byte{0x11});
    const platform::owned_stream stream;
    w.barrier("before the overrun");
    if (w.rank() == 0)
      platform::launch<overrun_kernel>(stream, 1,
                                       {heap.device_context(), block.data(), source.data(), 11, 2});
    heap.synchronize(stream);
    w.barrier("after the overrun");
    if (w.rank() == 2) {
      const std::vector<std::string> words = {
          "memory after the block of 40 bytes at offset " + std::to_string(block.offset()) + " ",
          "data segment", "10 elements of int", "byte 40 from its begin is 0x11, not 0xfb",
          "when asked"};
      EXPECT_NO_THROW(heap.check());  // nobody has looked
      expect_error(errc::corrupted, 2, words, [&] { heap.check_blocks(); });
      expect_error(errc::corrupted, 2, words, [&] { heap.check(); });
      poke(block.data(), -1, 0);
      poke(other.data(), -256, 0);
      expect_error(errc::corrupted, 2, words, [&] { heap.check_blocks(); });  // the first is kept
      expect_error(errc::corrupted, 2, words, [&] { heap.close(); });
    } else {
      EXPECT_NO_THROW(heap.check_blocks());
      EXPECT_NO_THROW(heap.close());
    }
  });
}

TEST_F(BlockGuards, EachByteOfBothSidesIsHeld) {
  on_ranks(1, [](const world& w) {
    symmetric_heap heap(w, guarded);
    const auto block = heap.allocate<char>(3, 1);
    for (const std::int64_t at : {-256, -255, -1, 0, 2, 3, 4, 258, 259}) {
      const std::vector<char> before = to_host(block.data() + at, 1);
      poke(block.data(), at, 0x5A);
      const std::string side = at < 0 ? "memory before the block" : "memory after the block";
      if (at < -256 || (at >= 0 && at < 3) || at > 258)
        EXPECT_NO_THROW(heap.check_blocks()) << at;
      else
        expect_error(errc::corrupted, 0, {side, "byte " + std::to_string(at) + " ", "0x5a"},
                     [&] { heap.check_blocks(); });
      to_device(block.data() + at, before);
      heap.reset_fault();
      EXPECT_NO_THROW(heap.check_blocks()) << at;
    }
  });
}

TEST_F(BlockGuards, WhatAHandleFindsAtItsEndIsThrownByTheNextCallThatMay) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, guarded);
    auto block = heap.allocate<double>(4);
    auto signals = heap.allocate_signals(2);
    if (w.rank() == 1) poke(signals.data(), 2 * 128 + 7, 1);
    signals.reset();
    const auto check = [&](const auto& body) {
      if (w.rank() == 1)
        expect_error(errc::corrupted, 1,
                     {"after the block of 256 bytes", "signal segment", "byte 263 ",
                      "when this rank freed it"},
                     body);
      else
        EXPECT_NO_THROW(body());
    };
    check([&] { heap.check(); });
    check([&] { heap.synchronize(platform::owned_stream()); });
    const auto more = heap.allocate<int>(4);  // collective calls go on
    check([&] { heap.close(); });
  });
}

TEST_F(BlockGuards, TheCloseLooksAndItsDestructorTells) {
  testing::internal::CaptureStderr();
  on_ranks(2, [](const world& w) {
    std::optional<symmetric_heap> heap(std::in_place, w, guarded);
    const auto block = heap->allocate<int>(4);
    if (w.rank() == 1) poke(block.data(), -4, 0);
    heap.reset();
  });
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("corrupted on rank 1: memory before the block of 16 bytes"), told.npos)
      << told;
  EXPECT_NE(told.find("at the close of the heap"), told.npos) << told;
  EXPECT_EQ(told.find("rank 0"), told.npos) << told;
}

TEST_F(BlockGuards, MemoryIsPoisonedOnceAllRanksHaveFreedItAndHeldUntilItIsUsedAgain) {
  on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, guarded);
    std::optional<symmetric_array<int>> block(heap.allocate<int>(1000));
    std::optional<symmetric_array<int>> late(heap.allocate<int>(8));
    int* const was = block->data();
    const std::uint64_t offset = block->offset();
    EXPECT_EQ(to_host(was, 1000), std::vector<int>(1000, -1));  // NaN, if they were floats
    to_device(was, std::vector<int>(1000, 7));
    block.reset();
    if (w.rank() == 0) late.reset();
    EXPECT_EQ(to_host(was, 1000), std::vector<int>(1000, 7));  // peers may still use it
    w.barrier("all have freed it");
    const auto elsewhere = heap.allocate<char>(20000);  // too large for its place
    const int poison = static_cast<int>(0xDBDBDBDB);
    EXPECT_EQ(to_host(was, 1000), std::vector<int>(1000, poison));
    EXPECT_NO_THROW(heap.check_blocks());

    if (w.rank() == 1) poke(was + 500, 1, 9);  // too late
    const std::vector<std::string> words = {
        "memory of the freed block of 4000 bytes at offset " + std::to_string(offset) + " ",
        "1000 elements of int", "byte 2001 ", "0x09, not 0xdb"};
    for (int i = 0; i < 2; ++i) {
      if (w.rank() == 1) expect_error(errc::corrupted, 1, words, [&] { heap.check_blocks(); });
      heap.reset_fault();
    }
    const auto reused = heap.allocate<int>(800);  // there again
    EXPECT_EQ(reused.data(), was);
    EXPECT_EQ(to_host(reused.data(), 800), std::vector<int>(800, -1));
    if (w.rank() == 1)
      expect_error(errc::corrupted, 1, {"byte 2001 ", "when its memory was given out again"},
                   [&] { heap.check(); });
    heap.reset_fault();
    EXPECT_NO_THROW(heap.check_blocks());  // what is left of it is as it was filled
    if (w.rank() == 1) {
      poke(was, 3999, 0);
      expect_error(errc::corrupted, 1, {"byte 3999 "}, [&] { heap.check_blocks(); });
    }
    heap.reset_fault();
    poke(was, 3999, 0xDB);
    heap.close();
  });
}

TEST_F(BlockGuards, BlocksStandAsWithoutThem) {
  on_ranks(3, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 4 << 20, .signals = 2, .guard_blocks = true});
    const auto signals = heap.allocate_signals(2);  // as many as were asked for
    EXPECT_EQ(to_host(signals.data(), 2)[1].arrivals, 0u);
    std::vector<symmetric_array<char>> blocks;
    for (const std::uint64_t alignment : {1u, 64u, 256u, 4096u, 1u << 20}) {
      blocks.push_back(heap.allocate<char>(5, alignment));
      const auto& block = blocks.back();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % alignment, 0u);
      for (const std::uint64_t offset : gather(w, block.offset()))
        EXPECT_EQ(offset, block.offset());
      EXPECT_EQ(heap.offset_of(block.data(), 5), block.offset());
      EXPECT_FALSE(heap.contains(block.data() - 1));
      EXPECT_FALSE(heap.contains(block.data() + 5));
      expect_error(errc::not_symmetric, w.rank(), {"6 bytes"},
                   [&] { heap.offset_of(block.data(), 6); });
    }
    EXPECT_NO_THROW(heap.check_blocks());
    while (!blocks.empty()) blocks.pop_back();
    const auto all = heap.allocate<char>(4 << 20);  // all that was asked for, as one
    EXPECT_NO_THROW(heap.close());
  });
}

TEST_F(BlockGuards, HandlesMayOutliveTheHeap) {
  on_ranks(2, [](const world& w) {
    symmetric_array<int> block;
    {
      symmetric_heap heap(w, guarded);
      block = heap.allocate<int>(4);
      heap.close();
    }
    block.reset();
  });
}

TEST_F(BlockGuards, AreOfAllRanksOrNone) {
  on_ranks(2, [](const world& w) {
    heap_options options = guarded;
    options.guard_blocks = w.rank() == 0;
    options.fill_new = std::byte{1};
    expect_error(errc::mismatch, 1, {"guard_blocks", "0", "1"},
                 [&] { const symmetric_heap heap(w, options); });
    options.guard_blocks = true;
    symmetric_heap heap(w, options);
    EXPECT_EQ(to_host(heap.allocate<char>(1).data(), 1)[0], 1);  // what the user asks for
  });
}

}  // namespace
