// SPDX-License-Identifier: MIT
// A mapping of other memory than was offered must never go unnoticed.
#include "hiris/heap/detail/peer_map.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/device_test.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::world;
using hiris::detail::exchange_offers;
using hiris::detail::memory_offer;
using hiris::detail::memory_segment;
using hiris::detail::own_offer;
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
    offer = own_offer(w, mine->base(), bytes, proof, mine);
    offers = exchange_offers(w, offer.told(), "test segment");
  }
  hiris::platform::owned_stream stream;
  std::shared_ptr<memory_segment> mine;
  own_offer offer;
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

/// Rank `on` of `n` hears something else of the segment of rank `of` than the others do.
void expect_refused(int n, int on, int of, const std::vector<std::string>& words,
                    const std::function<void(std::vector<memory_offer>&)>& alter) {
  on_ranks(n, [&](const world& w) {
    fixture f(w);
    if (w.rank() == on) alter(f.offers);
    std::vector<std::string> all = words;
    all.push_back("test segment of rank " + std::to_string(of));
    expect_error(errc::mapping_failed, on, all,
                 [&] { peer_map(w, f.offers, f.stream, "test segment"); });
  });
  EXPECT_EQ(hiris::detail::memory_list::of_process().size(), 0u);
}

TEST_F(PeerMap, MemoryThatProvesNothingIsFoundOutOnEveryRank) {
  expect_refused(3, 2, 0, {"nonce"}, [](auto& o) { o[0].proof.tail[3] ^= std::byte{1}; });
}

TEST_F(PeerMap, TheKeyOfAnotherRankIsFoundOut) {
  expect_refused(3, 2, 0, {"the key of 5000 bytes of rank 1", "its own"},
                 [](auto& o) { std::swap(o[0], o[1]); });
}

TEST_F(PeerMap, AKeyThatThisProcessDoesNotListIsNoMemoryOfIt) {
  expect_refused(2, 0, 1, {"hipIpcOpenMemHandle"}, [](auto& o) { o[1].key.fill(std::byte{7}); });
}

TEST_F(PeerMap, AnotherSizeIsFoundOut) {
  for (const std::uint64_t wrong : {std::uint64_t{0}, bytes - 1, bytes + 1, ~std::uint64_t{0}})
    expect_refused(2, 1, 0, {"it offers " + std::to_string(wrong) + " bytes", "5000"},
                   [&](auto& o) { o[0].bytes = wrong; });
}

TEST_F(PeerMap, ASegmentOutlivesItsOwnersHandle) {
  on_ranks(2, [](const world& w) {
    fixture f(w);
    const peer_map map(w, f.offers, f.stream, "test segment");
    f.mine.reset();
    f.offer = {};
    w.barrier("owners have let go");
    for (int r = 0; r < w.size(); ++r)
      EXPECT_EQ(hiris::detail::read_proof(map.base(r), bytes, f.stream),
                f.offers[static_cast<std::size_t>(r)].proof);
    w.barrier("read");
  });
}

}  // namespace
