// SPDX-License-Identifier: MIT
/// @file
/// What travels between a rank and the server of the TCP channel.
///
/// First the proof of the token: fixed sizes, looked at only as bytes until the proof holds.
///
///     server -> client  hello  {magic, nonce_s}
///     client -> server  proof  {magic, nonce_c, rank, size,
///                               HMAC(token, "client" nonce_s nonce_c rank size)}
///     server -> client  answer {magic, admitted, HMAC(token, "server" ...)}
///
/// Then a request {header, step, payload} of the client and a reply {header, text, payload} for
/// each meeting. Fields have this machine's byte order: another one shows in the magic number.
#pragma once

#include <sys/random.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "hiris/bootstrap/detail/sha256.hpp"
#include "hiris/error.hpp"

namespace hiris::detail {

inline constexpr std::uint64_t wire_magic = 0x0001'7369'7269'6803;  // version and name
/// Longest step that is sent; what is beyond is cut.
inline constexpr std::size_t max_step_bytes = 512;
/// Longest payload of one rank in one call.
inline constexpr std::size_t max_payload_bytes = std::size_t{64} << 20;
/// Longest text of a reply.
inline constexpr std::size_t max_text_bytes = 4096;

using nonce = std::array<std::uint8_t, 32>;

struct hello {
  std::uint64_t magic;
  nonce server_nonce;
};

struct proof {
  std::uint64_t magic;
  nonce client_nonce;
  std::uint32_t rank;
  std::uint32_t size;
  digest mac;
};

struct answer {
  std::uint64_t magic;
  std::uint64_t admitted;  ///< 1, or 0: the proof did not hold.
  digest mac;
};

enum class request_kind : std::uint32_t { gather = 1, split, leave };

/// Followed by `step_bytes` of text and `bytes` of payload.
struct request_header {
  std::uint64_t magic;
  std::uint64_t team;  ///< 0 is that of all ranks.
  std::uint64_t bytes;
  std::uint32_t step_bytes;
  request_kind kind;
};

enum class reply_status : std::uint32_t {
  ok = 1,
  mismatch,  ///< The ranks came with different calls; the channel stays usable.
  broken     ///< The channel has ended; `rank` and the text say why.
};

/// Followed by `text_bytes` of text and `bytes` of payload.
struct reply_header {
  std::uint64_t magic;
  std::uint64_t team;  ///< After a split: the number of the new team.
  std::uint64_t bytes;
  std::uint32_t text_bytes;
  std::int32_t rank;
  reply_status status;
  std::uint32_t unused;
};

static_assert(sizeof(hello) == 40 && sizeof(proof) == 80 && sizeof(answer) == 48 &&
                  sizeof(request_header) == 32 && sizeof(reply_header) == 40,
              "what travels must have no padding");

template <class T>
std::string_view bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable values travel");
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
T from_bytes(const void* bytes) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable values travel");
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// A number that is used once, so that no proof can be replayed.
inline nonce fresh_nonce() {
  nonce value{};
  if (getrandom(value.data(), value.size(), 0) != static_cast<ssize_t>(value.size()))
    throw error(errc::runtime_failed, -1, "getrandom gave no random bytes; allowed are 32");
  return value;
}

/// What one side proves: it knows the token, and the nonces and claims of this connection. The role
/// keeps a proof from being sent back to where it came from.
inline digest proof_of(std::string_view token, std::string_view role, const nonce& server_nonce,
                       const nonce& client_nonce, std::uint32_t rank, std::uint32_t size) {
  std::string message("hiris bootstrap 1 ");
  message.append(role).append(1, '\0');
  message.append(bytes_of(server_nonce)).append(bytes_of(client_nonce));
  message.append(bytes_of(rank)).append(bytes_of(size));
  return hmac_sha256(token, message);
}

}  // namespace hiris::detail
