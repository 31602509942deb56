// SPDX-License-Identifier: MIT
#include "hiris/ops/life.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using test::any_rank;
using test::expect_error;
using OpLife = test::device_test;

TEST_F(OpLife, EndsWithALaunchThatFails) {
  test::on_ranks(1, [](const world& w) {
    const symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 8});
    op_life life(heap, "sum");
    life.launching([] {});
    EXPECT_NO_THROW(life.require());
    EXPECT_THROW(life.launching([] { throw std::runtime_error("no kernel"); }), std::runtime_error);
    expect_error(errc::timed_out, 0, {"this sum", "build a new one"}, [&] { life.require(); });
  });
}

TEST_F(OpLife, EndsWithAFaultAlsoIfItDidNotAsk) {
  test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 8});
    op_life asked(heap, "sum");
    op_life unaware(heap, "sum");
    heap.abort();
    expect_error(errc::aborted, any_rank, {}, [&] { asked.require(); });
    heap.reset_fault();
    EXPECT_NO_THROW(heap.check());
    expect_error(errc::timed_out, w.rank(), {"this sum", "reset"}, [&] { asked.require(); });
    expect_error(errc::timed_out, w.rank(), {"this sum", "reset"}, [&] { unaware.require(); });
    op_life next(heap, "sum");
    EXPECT_NO_THROW(next.require());
  });
}

}  // namespace
