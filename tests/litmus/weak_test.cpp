// SPDX-License-Identifier: MIT
// How sensitive the machine at hand is: programs with an order missing, and in how many rounds it
// shows. Hardware may be strong, so a count of none fails nothing here; the hostile fabric has to
// see each (tests/fabric/litmus_test.cpp).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <vector>

#include "litmus/agreement.hpp"
#include "litmus/weak.hpp"
#include "support/device_test.hpp"

namespace {

using namespace hiris;
using namespace hiris::litmus;

using WeakLitmus = test::device_test;

template <class Program>
void count(const char* what) {
  const amount of = amount_of_a_program();
  std::atomic<int> seen{0}, rounds{0};
  test::on_ranks(2, [&](const world& w) {
    const std::vector<int> outcome = outcome_of<Program>(w, of, run_freely);
    EXPECT_EQ(outcome[1], of.instances * of.rounds_each());
    if (w.rank() == 1) {  // each of the two sees the same, or rank 1 alone
      seen = outcome[0];
      rounds = outcome[1];
    }
  });
  if (seen > 0)
    std::printf("weak outcome of %s: seen in %d of %d rounds\n", what, seen.load(), rounds.load());
  else
    std::printf("weak outcome of %s: not seen in %d rounds\n", what, rounds.load());
}

TEST_F(WeakLitmus, StoreBufferingWithoutFences) {
  count<store_buffering<false, place::own_memory>>("store buffering, own memory, without fences");
  count<store_buffering<false, place::peer_memory>>("store buffering, peer memory, without fences");
}
TEST_F(WeakLitmus, MessagePassingWithoutRelease) {
  count<passing_unreleased>("message passing without release and drain");
}
TEST_F(WeakLitmus, MessagePassingWithoutAcquire) {
  count<passing_unacquired>("message passing without acquire");
}

}  // namespace
