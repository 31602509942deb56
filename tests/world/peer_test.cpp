// SPDX-License-Identifier: MIT
#include "hiris/world/peer.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace {

using hiris::peer_info;
namespace detail = hiris::detail;

static_assert(std::is_trivially_copyable_v<peer_info>);

peer_info made_up() {
  peer_info p{};
  p.host = detail::host_id();
  p.process = 7;
  p.process_nonce = 8;
  p.device = 0;
  p.uuid[3] = std::byte{1};
  return p;
}

TEST(Peer, HostIsNamedAndEndsWithZero) {
  const auto id = detail::host_id();
  EXPECT_EQ(id.back(), '\0');
  EXPECT_EQ(id, detail::host_id());
  EXPECT_NE(std::string(id.data()).find(" (boot "), std::string::npos);
}

TEST(Peer, NonceIsThatOfTheProcess) {
  EXPECT_EQ(detail::process_nonce(), detail::process_nonce());
  EXPECT_NE(detail::process_nonce(), 0u);
}

TEST(Peer, SameProcessNeedsHostIdAndNonce) {
  const peer_info a = made_up();
  EXPECT_TRUE(a.same_process(made_up()));
  peer_info b = made_up();
  b.process_nonce = 9;
  EXPECT_FALSE(a.same_process(b));
  b = made_up();
  b.process = 6;
  EXPECT_FALSE(a.same_process(b));
  b = made_up();
  b.host[0] = '?';
  EXPECT_FALSE(a.same_process(b));
  EXPECT_FALSE(a.same_host(b));
}

TEST(Peer, SameDeviceIsByUuidNotByOrdinal) {
  const peer_info a = made_up();
  peer_info b = made_up();
  b.device = 5;  // another order of the devices in another process
  b.process = 6;
  EXPECT_TRUE(a.same_device(b));
  b.uuid[3] = std::byte{2};
  EXPECT_FALSE(a.same_device(b));
}

}  // namespace
