// SPDX-License-Identifier: MIT
/// @file
/// How the one-sided operations move bytes: which accesses, how wide, and shared out over how many
/// threads.
///
/// A run of bytes is cut into a head, a body of 16-byte pieces and a tail, so that the body is
/// moved in the widest accesses there are whenever both sides stand at the same offset within 16
/// bytes; other offsets are moved in narrower pieces. Four loads are in flight before the first
/// store.
///
///     detail::transfer<alignof(T), detail::own_memory, detail::peer_memory>(
///         to, from, n_bytes, detail::share_of_block());
#pragma once

#include <string.h>  // the global memcpy: the one that the device compilers know
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiris/detail/check.hpp"
#include "hiris/platform/device.hpp"

namespace hiris::detail {

/// Refuses, with a sentence, what the one-sided operations cannot carry.
template <class T>
HIRIS_DEVICE void require_transferable() {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiris: only trivially copyable types travel between ranks");
  static_assert(sizeof(T) <= 16, "hiris: elements of 1 to 16 bytes travel between ranks");
}

/// The access type of `Bytes` bytes, at its natural alignment.
template <std::size_t Bytes>
struct piece;
template <>
struct piece<1> {
  using type = std::uint8_t;
};
template <>
struct piece<2> {
  using type = std::uint16_t;
};
template <>
struct piece<4> {
  using type = std::uint32_t;
};
template <>
struct piece<8> {
  using type = std::uint64_t;
};
template <>
struct piece<16> {
  using type = platform::vec16;
};
template <std::size_t Bytes>
using piece_t = typename piece<Bytes>::type;

/// Memory that a peer may write or read while we do: system scope, written through.
struct peer_memory {
  template <class T>
  static HIRIS_DEVICE T load(const T* p) {
    return platform::peer_load(p);
  }
  template <class T>
  static HIRIS_DEVICE void store(T* p, T v) {
    platform::peer_store(p, v);
  }
};

/// This rank's own memory, which only this device touches for now: ordinary cached accesses.
struct own_memory {
  template <class T>
  static HIRIS_DEVICE T load(const T* p) {
    return platform::load_global(p);
  }
  template <class T>
  static HIRIS_DEVICE void store(T* p, T v) {
    platform::store_global(p, v);
  }
};

/// The pieces that the calling thread moves: first, first + step, ...
struct share {
  std::uint64_t first;
  std::uint64_t step;
  std::uint32_t form = 0;  ///< Who shares: 0 nobody, 1 the wave, 2 the workgroup.
};
HIRIS_DEVICE share share_of_thread() { return {0, 1, 0}; }
HIRIS_DEVICE share share_of_wave() {
  return {static_cast<std::uint64_t>(platform::lane_rank()),
          static_cast<std::uint64_t>(platform::wave_size), 1};
}
HIRIS_DEVICE share share_of_block() {
  return {static_cast<std::uint64_t>(platform::thread_rank()),
          static_cast<std::uint64_t>(platform::block_threads()), 2};
}
/// `get` as it was called: get, wave_get or block_get; likewise put and copy.
HIRIS_DEVICE primitive by_form(primitive family, share mine) {
  return static_cast<primitive>(static_cast<std::uint32_t>(family) + mine.form);
}

/// Moves the caller's share of `n` pieces, one at a time.
template <class Piece, class From, class To>
HIRIS_DEVICE void move_few(char* to, const char* from, std::uint64_t n, share mine) {
  for (std::uint64_t i = mine.first; i < n; i += mine.step)
    To::store((Piece*)to + i, From::load((const Piece*)from + i));
}

/// Moves the caller's share of `n` pieces; both sides are aligned to the piece.
template <class Piece, class From, class To>
HIRIS_DEVICE void move_pieces(char* to, const char* from, std::uint64_t n, share mine) {
  constexpr std::uint64_t in_flight = 4;
  Piece* const t = (Piece*)to;
  const Piece* const f = (const Piece*)from;
  std::uint64_t i = mine.first;
  for (; i + (in_flight - 1) * mine.step < n; i += in_flight * mine.step) {
    Piece v[in_flight];
    for (std::uint64_t j = 0; j < in_flight; ++j) v[j] = From::load(f + i + j * mine.step);
    for (std::uint64_t j = 0; j < in_flight; ++j) To::store(t + i + j * mine.step, v[j]);
  }
  for (; i < n; i += mine.step) To::store(t + i, From::load(f + i));
}

/// Moves `n_bytes` in `Wide` pieces, with a head and a tail of `Narrow` ones.
///
/// @pre Both sides stand at the same offset within `Wide` bytes.
template <std::size_t Wide, std::size_t Narrow, class From, class To>
HIRIS_DEVICE void move_peeled(char* to, const char* from, std::uint64_t n_bytes, share mine) {
  if constexpr (Wide != Narrow) {
    const std::uint64_t to_boundary = (Wide - reinterpret_cast<std::uintptr_t>(to) % Wide) % Wide;
    const std::uint64_t head = to_boundary < n_bytes ? to_boundary : n_bytes;
    move_few<piece_t<Narrow>, From, To>(to, from, head / Narrow, mine);
    to += head;
    from += head;
    n_bytes -= head;
  }
  const std::uint64_t body = n_bytes / Wide * Wide;
  move_pieces<piece_t<Wide>, From, To>(to, from, body / Wide, mine);
  if constexpr (Wide != Narrow)
    move_few<piece_t<Narrow>, From, To>(to + body, from + body, (n_bytes - body) / Narrow, mine);
}

/// Moves `n_bytes`, a multiple of `Align`, from memory of kind `From` to memory of kind `To`. The
/// kinds carry the accesses; `mine` says which part the calling thread moves.
///
/// @pre Both addresses are multiples of `Align`, and the two runs do not overlap.
template <std::size_t Align, class From, class To>
HIRIS_DEVICE void transfer(char* to, const char* from, std::uint64_t n_bytes, share mine) {
  const auto offsets_differ =
      reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (offsets_differ % 16 == 0) {
    move_peeled<16, Align, From, To>(to, from, n_bytes, mine);
  } else if constexpr (Align < 4) {
    if (offsets_differ % 4 == 0)
      move_peeled<4, Align, From, To>(to, from, n_bytes, mine);
    else
      move_pieces<piece_t<Align>, From, To>(to, from, n_bytes / Align, mine);
  } else {
    move_pieces<piece_t<Align>, From, To>(to, from, n_bytes / Align, mine);
  }
}

/// Reads one `T` in pieces of its alignment.
template <class T>
HIRIS_DEVICE T load_pieces(const T* p) {
  using unit = piece_t<alignof(T)>;
  constexpr std::size_t n = sizeof(T) / sizeof(unit);
  unit v[n];
  for (std::size_t i = 0; i < n; ++i) v[i] = platform::peer_load((const unit*)p + i);
  T value;
  ::memcpy(&value, v, sizeof(T));
  return value;
}

/// Writes one `T` in pieces of its alignment.
template <class T>
HIRIS_DEVICE void store_pieces(T* p, const T& value) {
  using unit = piece_t<alignof(T)>;
  constexpr std::size_t n = sizeof(T) / sizeof(unit);
  unit v[n];
  ::memcpy(v, &value, sizeof(T));
  for (std::size_t i = 0; i < n; ++i) platform::peer_store((unit*)p + i, v[i]);
}

}  // namespace hiris::detail
