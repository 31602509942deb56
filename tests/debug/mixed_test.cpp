// SPDX-License-Identifier: MIT
// A program may link units with and without the switch: the one is checked, the other is not, and
// both work on the same heap.
#include <gtest/gtest.h>

#include "debug/mixed.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
using test::plain_unit;

static_assert(platform::debug_build, "this unit is of the debug build");

using Mixed = test::device_test;

TEST_F(Mixed, LayoutsAreTheSame) { EXPECT_EQ(plain_unit::layout_here(), test::layout_of_unit()); }

TEST_F(Mixed, OneHeapServesBoth) {
  test::on_ranks(2, [](const world& w) {
    plain_unit plain(w);
    EXPECT_FALSE(plain.heap.options().guard_blocks);  // as the unit says that made it
    const int next = 1 - w.rank();
    const auto store_checked = [&](int* at, int value) {
      platform::launch<test::store_kernel<test::debug_name>>(
          plain.stream, 1, {plain.heap.device_context(), at, value, next});
    };
    store_checked(plain.data.data() + 7, 70 + w.rank());
    plain.store(8, 80 + w.rank(), next);
    EXPECT_NO_THROW(plain.synchronize());
    w.barrier("both have stored");
    EXPECT_EQ(test::to_host(plain.data.data() + 7, 2), (std::vector<int>{70 + next, 80 + next}));

    // What the debug unit refuses, both units throw; the plain unit refuses nothing.
    store_checked(plain.data.data() + 1024, 1);
    const auto words = {std::string("called store "), std::string("offset 4096 ")};
    test::expect_error(errc::not_symmetric, w.rank(), words, [&] { plain.synchronize(); });
    test::expect_error(errc::not_symmetric, w.rank(), words, [&] { plain.heap.check(); });
    plain.heap.reset_fault();
    plain.store(9, 90, next);
    EXPECT_NO_THROW(plain.synchronize());
    w.barrier("before the end");
    plain.heap.close();
  });
}

}  // namespace
