// SPDX-License-Identifier: MIT
/// @file
/// How a mapping proves that it is what its owner meant.
///
/// The owner writes random bytes into both ends of its memory and tells them over the bootstrap;
/// who maps the memory reads them back. A mapping of anything else, or of too little, is found out.
///
///     memory_proof mine = write_proof(base, bytes, stream);      // owner
///     bool same = read_proof(mapped, bytes, stream) == mine;   // peer, through its mapping
#pragma once

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "hiris/error.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::detail {

/// Bytes at the two ends of a piece of memory. Of a small piece, the ends may overlap.
struct memory_proof {
  std::array<std::byte, 16> head{};
  std::array<std::byte, 16> tail{};
  bool operator==(const memory_proof&) const = default;
};

/// Size of an end of a piece of `bytes` bytes.
inline std::size_t proof_bytes(std::uint64_t bytes) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 16));
}

/// Fills `bytes` bytes with random ones.
///
/// @throws errc::runtime_failed if the system has none.
inline void fill_random(void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = getrandom(at, bytes, 0);
    if (got < 0 && errno != EINTR)
      throw error(errc::runtime_failed, -1,
                  std::string("getrandom gave no random bytes: ") + std::strerror(errno));
    if (got > 0) {
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }
}

/// What stands at the ends of `[base, base + bytes)`. Waits for the stream.
inline memory_proof read_proof(const char* base, std::uint64_t bytes, platform::stream stream) {
  memory_proof seen;
  const std::size_t n = proof_bytes(bytes);
  platform::copy(seen.head.data(), base, n, stream);
  platform::copy(seen.tail.data(), base + (bytes - n), n, stream);
  platform::synchronize(stream);
  return seen;
}

/// Puts `value` back at the ends, as read_proof() found it. Waits for the stream.
inline void restore_ends(char* base, std::uint64_t bytes, const memory_proof& value,
                         platform::stream stream) {
  const std::size_t n = proof_bytes(bytes);
  platform::copy(base, value.head.data(), n, stream);
  platform::copy(base + (bytes - n), value.tail.data(), n, stream);
  platform::synchronize(stream);
}

/// Writes random bytes at both ends and returns what then stands there. Waits for the stream.
inline memory_proof write_proof(char* base, std::uint64_t bytes, platform::stream stream) {
  memory_proof value;
  fill_random(&value, sizeof value);
  restore_ends(base, bytes, value, stream);
  return read_proof(base, bytes, stream);
}

}  // namespace hiris::detail
