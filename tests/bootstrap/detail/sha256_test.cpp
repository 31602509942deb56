// SPDX-License-Identifier: MIT
#include "hiris/bootstrap/detail/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace hiris::detail;

std::string hex(const digest& d) {
  std::string text;
  for (const std::uint8_t b : d) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

std::string sha(const std::string& s) { return hex(sha256().update(s).finish()); }

TEST(Sha256, Fips180Examples) {
  EXPECT_EQ(sha(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesMakeTheWhole) {
  for (std::size_t n = 50; n < 140; ++n) {
    const std::string s(n, 'q');
    for (std::size_t cut : {std::size_t{0}, std::size_t{1}, n / 2, n})
      EXPECT_EQ(hex(sha256().update(s.substr(0, cut)).update(s.substr(cut)).finish()), sha(s));
  }
}

TEST(HmacSha256, Rfc4231Vectors) {
  const auto mac = [](const std::string& key, const std::string& text) {
    return hex(hmac_sha256(key, text));
  };
  EXPECT_EQ(mac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(mac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(mac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char c = 1; c <= 25; ++c) counting += c;
  EXPECT_EQ(mac(counting, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(mac(std::string(20, '\x0c'), "Test With Truncation").substr(0, 32),
            "a3b6167473100ee06e0c796c2955552b");
  EXPECT_EQ(mac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(mac(std::string(131, '\xaa'),
                "This is a test using a larger than block-size key and a larger than block-size "
                "data. The key needs to be hashed before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(HmacSha256, ComparisonSeesEveryBit) {
  const digest a = hmac_sha256("key", "text");
  EXPECT_TRUE(equal_in_constant_time(a, a));
  for (std::size_t bit = 0; bit < 256; ++bit) {
    digest b = a;
    b[bit / 8] = static_cast<std::uint8_t>(b[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_FALSE(equal_in_constant_time(a, b));
  }
}

}  // namespace
