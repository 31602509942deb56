// SPDX-License-Identifier: MIT
/// @file
/// A communicator of one rank, and what the library's errors become.
#include "hiris/platform/collectives.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;

using Communicator = test::device_test;

TEST_F(Communicator, OfOneRankCopies) {
  platform::communicator made(platform::communicator::make_id(), 0, 1);
  platform::communicator moved = std::move(made);
  platform::owned_stream stream;
  platform::device_buffer<int> mine(3), all(3);
  mine.copy_from({1, 2, 3});
  moved.all_gather(stream, mine.data(), all.data(), mine.size_bytes());
  stream.synchronize();
  EXPECT_EQ(all.to_host(), (std::vector<int>{1, 2, 3}));
  moved.finish();
  moved.finish();  // a second time does nothing
}

TEST_F(Communicator, ErrorsSayWhatWasCalled) {
  test::expect_error(errc::runtime_failed, -1, {"ncclCommInitRank, rank 7 of 2"},
                     [] { platform::communicator(platform::communicator::make_id(), 7, 2); });
}

}  // namespace
