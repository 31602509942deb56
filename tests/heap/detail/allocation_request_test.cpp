// SPDX-License-Identifier: MIT
// Requests of peers that follow no rule: refused alike on all ranks, and the heap is as before.
#include "hiris/heap/detail/allocation_request.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hiris/bootstrap/threads.hpp"
#include "hiris/heap.hpp"
#include "support/altered_channel.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::detail::allocation_request;
using hiris::test::expect_error;

void expect_judged(const std::function<void(allocation_request&)>& alter,
                   const std::vector<std::string>& words) {
  std::vector<allocation_request> all(3, hiris::detail::describe_request<int>("data", 8, 256));
  EXPECT_NO_THROW(hiris::detail::judge_requests(all, "test", 4));
  alter(all[1]);
  std::vector<std::string> with_step = words;
  with_step.push_back("step 'test'");
  expect_error(errc::mismatch, 1, with_step,
               [&] { hiris::detail::judge_requests(all, "test", 4); });
}

TEST(AllocationRequest, WhatNoRankOfThisBuildTellsIsRefused) {
  expect_judged([](allocation_request& r) { r.type.fill('t'); },
                {"'" + std::string(48, 't') + "' as the name of a type", "ends within its field"});
  expect_judged([](allocation_request& r) { r.memory.fill('m'); },
                {"'" + std::string(16, 'm') + "' as a kind of memory", "ends within its field"});
  expect_judged([](allocation_request& r) { r.elem_bytes = 0; }, {"elements of 0 bytes", "1 or"});
  expect_judged([](allocation_request& r) { r.untold = 5; }, {"5 blocks", "0 to 4"});
  expect_judged([](allocation_request& r) { r.untold = ~std::uint64_t{0}; },
                {"18446744073709551615 blocks", "0 to 4"});
}

TEST(AllocationRequest, ATextThatDoesNotEndIsReadNoFurther) {
  auto request = hiris::detail::describe_request<int>("data", 8, 256);
  request.type.fill('t');
  request.memory.fill('m');
  EXPECT_EQ(request.text(), "8 elements of " + std::string(48, 't') +
                                " (4 bytes each, alignment 256, " + std::string(16, 'm') +
                                " memory)");
}

using OfPeers = hiris::test::device_test;

constexpr hiris::heap_options small{.data_bytes = 1 << 16, .signals = 8, .guard_blocks = false};

TEST_F(OfPeers, MoreFreedBlocksThanThereAreAreRefusedAndTheHeapGoesOn) {
  hiris::run_ranks(3, [](std::shared_ptr<hiris::bootstrap> boot) {
    std::uint64_t wrong = 0;
    const hiris::world w(hiris::test::altered<allocation_request>(
        std::move(boot), "symmetric allocation", 1, [&](allocation_request& r) {
          if (wrong != 0) r.untold = wrong;
        }));
    hiris::symmetric_heap heap(w, small);
    const auto kept = heap.allocate<char>(256);
    auto freed = heap.allocate<char>(256);
    const std::uint64_t offset = freed.offset();
    freed = {};
    const hiris::heap_use before = heap.data_use();
    for (const std::uint64_t untold :
         {std::uint64_t{3}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
      wrong = untold;
      expect_error(errc::mismatch, 1, {std::to_string(untold) + " blocks", "0 to 2"},
                   [&] { heap.allocate<char>(256); });
      EXPECT_EQ(heap.data_use().free_bytes, before.free_bytes);
      EXPECT_EQ(heap.data_use().waiting_bytes, before.waiting_bytes);
    }
    wrong = 0;
    EXPECT_EQ(heap.allocate<char>(256).offset(), offset);  // it has been told all the same
  });
}

TEST_F(OfPeers, ABlockThatARankCannotHaveFreedIsRefused) {
  for (const std::uint64_t wrong : {std::uint64_t{1}, ~std::uint64_t{0}})
    hiris::run_ranks(3, [&](std::shared_ptr<hiris::bootstrap> boot) {
      const hiris::world w(hiris::test::altered<std::uint64_t>(
          std::move(boot), "exchange of freed blocks", 1, [&](std::uint64_t& o) { o = wrong; }));
      hiris::symmetric_heap heap(w, small);
      auto freed = heap.allocate<char>(256);
      freed = {};
      const hiris::heap_use before = heap.data_use();
      if (w.rank() == 1) {  // it knows what it told
        EXPECT_NO_THROW(heap.allocate<char>(256));
      } else {
        expect_error(errc::mismatch, 1,
                     {"a freed block at offset " + std::to_string(wrong), "each block"},
                     [&] { heap.allocate<char>(256); });
        EXPECT_EQ(heap.data_use().waiting_bytes, before.waiting_bytes);
      }
    });
}

}  // namespace
