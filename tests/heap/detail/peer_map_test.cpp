// SPDX-License-Identifier: MIT
// A mapping of other memory than was offered must never go unnoticed.
#include "hiris/heap/detail/peer_map.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::world;
using hiris::detail::exchange_offers;
using hiris::detail::make_offer;
using hiris::detail::memory_offer;
using hiris::detail::memory_segment;
using hiris::detail::peer_map;
using hiris::detail::write_proof;
using hiris::test::expect_error;
using hiris::test::on_ranks;

using PeerMap = hiris::test::device_test;

constexpr std::uint64_t bytes = 5000;

/// A segment, and what it offers.
struct fixture {
  explicit fixture(const world& w)
      : mine(std::make_shared<memory_segment>(w.device(), bytes,
                                              hiris::platform::memory_kind::data)) {
    const auto proof = write_proof(mine->base(), bytes, stream);
    offers = exchange_offers(w, make_offer(w, mine->base(), bytes, proof, &mine), "test segment");
  }
  hiris::platform::owned_stream stream;
  std::shared_ptr<memory_segment> mine;
  std::vector<memory_offer> offers;
};

TEST_F(PeerMap, RightOffersAreMapped) {
  on_ranks(3, [](const world& w) {
    fixture f(w);
    const peer_map map(w, f.offers, f.stream, "test segment");
    EXPECT_EQ(map.size(), 3);
    EXPECT_EQ(map.base(w.rank()), f.mine->base());
    w.barrier("mapped");
  });
}

TEST_F(PeerMap, SwappedMemoryIsFoundOutOnEveryRank) {
  on_ranks(3, [](const world& w) {
    fixture f(w);
    if (w.rank() == 2) {
      std::swap(f.offers[0].base, f.offers[1].base);
      std::swap(f.offers[0].handle, f.offers[1].handle);
    }
    expect_error(errc::mapping_failed, 2, {"test segment of rank 0", "nonce"},
                 [&] { peer_map(w, f.offers, f.stream, "test segment"); });
  });
}

TEST_F(PeerMap, AnotherOffsetIsFoundOut) {
  on_ranks(2, [](const world& w) {
    fixture f(w);
    if (w.rank() == 0) {
      f.offers[1].base += 16;
      f.offers[1].handle.offset += 16;
    }
    expect_error(errc::mapping_failed, 0, {"test segment of rank 1"},
                 [&] { peer_map(w, f.offers, f.stream, "test segment"); });
  });
}

TEST_F(PeerMap, AnotherSizeIsFoundOut) {
  on_ranks(2, [](const world& w) {
    fixture f(w);
    if (w.rank() == 1) f.offers[0].bytes -= 1;
    expect_error(errc::mapping_failed, 1, {"test segment of rank 0"},
                 [&] { peer_map(w, f.offers, f.stream, "test segment"); });
  });
}

TEST_F(PeerMap, ASegmentOutlivesItsOwnersHandle) {
  on_ranks(2, [](const world& w) {
    fixture f(w);
    const peer_map map(w, f.offers, f.stream, "test segment");
    f.mine.reset();
    w.barrier("owners have let go");
    for (int r = 0; r < w.size(); ++r)
      EXPECT_EQ(hiris::detail::read_proof(map.base(r), bytes, f.stream),
                f.offers[static_cast<std::size_t>(r)].proof);
    w.barrier("read");
  });
}

}  // namespace
