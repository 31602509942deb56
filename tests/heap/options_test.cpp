// SPDX-License-Identifier: MIT
#include "hiris/heap/options.hpp"

#include <gtest/gtest.h>

#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::heap_options;
using hiris::world;
using hiris::test::expect_error;
using hiris::test::on_ranks;

using HeapOptions = hiris::test::device_test;

TEST_F(HeapOptions, DefaultsAreAllowed) {
  on_ranks(2, [](const world& w) {
    const heap_options o = hiris::detail::checked(w, {});
    EXPECT_EQ(o.data_bytes, std::int64_t{1} << 30);
    EXPECT_FALSE(o.fill_new.has_value());
  });
}

TEST_F(HeapOptions, EachValueIsHeldToWhatIsAllowed) {
  on_ranks(2, [](const world& w) {
    const auto check = [&](heap_options o) { return [&w, o] { hiris::detail::checked(w, o); }; };
    expect_error(errc::invalid_argument, 0, {"data_bytes is -1"}, check({.data_bytes = -1}));
    expect_error(errc::invalid_argument, 0, {"signals is 0"}, check({.signals = 0}));
    expect_error(errc::invalid_argument, 0, {"signals is 144115188075855874", "1099511627776"},
                 check({.signals = (std::int64_t{1} << 57) + 2}));  // whose bytes would wrap
    expect_error(errc::invalid_argument, 0, {"wait_budget", "-1"},
                 check({.wait_budget = std::chrono::nanoseconds(-1)}));
  });
}

TEST_F(HeapOptions, OnlyTheBudgetMayDiffer) {
  on_ranks(2, [](const world& w) {
    const int r = w.rank();
    const auto check = [&](heap_options o) { return [&w, o] { hiris::detail::checked(w, o); }; };
    expect_error(errc::mismatch, 1, {"signals", "10", "11"}, check({.signals = 10 + r}));
    expect_error(errc::mismatch, 1, {"data_bytes", "10", "11"}, check({.data_bytes = 10 + r}));
    heap_options filled;
    if (r == 1) filled.fill_new = std::byte{0};
    expect_error(errc::mismatch, 1, {"fill_new"}, check(filled));
    check({.wait_budget = std::chrono::nanoseconds(1 + r)})();
  });
}

}  // namespace
