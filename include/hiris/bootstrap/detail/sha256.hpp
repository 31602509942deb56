// SPDX-License-Identifier: MIT
/// @file
/// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), small and without dependencies: they prove
/// that a peer holds the shared token without sending it.
///
///     auto mac = detail::hmac_sha256(token, message);
///     if (!detail::equal_in_constant_time(mac, received)) refuse();
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hiris::detail {

using digest = std::array<std::uint8_t, 32>;

/// A running SHA-256.
class sha256 {
 public:
  static constexpr std::size_t block_bytes = 64;

  sha256& update(std::string_view bytes) {
    for (const char c : bytes) {
      block_[fill_++] = static_cast<std::uint8_t>(c);
      if (fill_ == block_bytes) compress();
    }
    total_ += bytes.size();
    return *this;
  }

  /// Ends the message. The object is not to be used after that.
  digest finish() {
    const std::uint64_t bits = total_ * 8;
    block_[fill_++] = 0x80;
    if (fill_ > block_bytes - 8) {
      std::fill(block_.begin() + static_cast<std::ptrdiff_t>(fill_), block_.end(), std::uint8_t{0});
      compress();
    }
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(fill_), block_.end(), std::uint8_t{0});
    for (std::size_t i = 0; i < 8; ++i)
      block_[block_bytes - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
    compress();
    digest out{};
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return out;
  }

 private:
  static std::uint32_t rotate(std::uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

  void compress() {
    /// First 32 bits of the fractions of the cube roots of the first 64 primes.
    static constexpr std::array<std::uint32_t, 64> k = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 4; ++j) w[i] = (w[i] << 8) | block_[4 * i + j];
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) +
             (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t1 =
          h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
      const std::uint32_t t2 =
          (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += mixed[i];
    fill_ = 0;
  }

  /// First 32 bits of the fractions of the square roots of the first 8 primes.
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, block_bytes> block_{};
  std::size_t fill_ = 0;
  std::uint64_t total_ = 0;
};

inline std::string_view as_text(const digest& d) {
  return {reinterpret_cast<const char*>(d.data()), d.size()};
}

/// Keyed digest of `message`.
inline digest hmac_sha256(std::string_view key, std::string_view message) {
  std::string padded(key);
  if (padded.size() > sha256::block_bytes) padded = as_text(sha256().update(key).finish());
  padded.resize(sha256::block_bytes, '\0');
  std::string inner = padded, outer = padded;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  const digest first = sha256().update(inner).update(message).finish();
  return sha256().update(outer).update(as_text(first)).finish();
}

/// Compares without telling by its duration where the difference is.
inline bool equal_in_constant_time(const digest& a, const digest& b) {
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace hiris::detail
