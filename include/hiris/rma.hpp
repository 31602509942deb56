// SPDX-License-Identifier: MIT
/// @file
/// One-sided access to the memory of any rank: load, store, get, put, copy.
///
/// Pointers are this rank's addresses of symmetric objects; the rank beside a pointer says whose
/// copy is meant. Nothing here synchronises: a peer learns of a store by a signal (signal.hpp), and
/// what a peer wrote may be loaded after a wait. Any rank may be named, the caller's own included.
///
///     store(ctx, inbox, value, to);              // one element into the inbox of rank `to`
///     block_put(ctx, inbox, tile, to, n_elems);  // the whole workgroup, 16 bytes a thread
///     block_notify_peer_stores(ctx, ready, to);  // now rank `to` may know
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiris/context.hpp"
#include "hiris/detail/transfer.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

/// Loads one element from the copy of `*from_ptr` on rank `from`.
///
/// Caller   thread.
/// Order    none; read at system scope, past caches that a peer's store would leave stale. Whole
///          for types of 1, 2, 4 and 8 bytes at their natural alignment, otherwise in pieces.
/// Cost     one access of alignof(T) bytes a piece.
///
/// @param from_ptr This rank's address of the symmetric element.
/// @param from     Rank to read from.
template <class T>
HIRIS_DEVICE T load(const context& ctx, const T* from_ptr, int from) {
  detail::require_transferable<T>();
  if (!detail::admits(ctx, detail::primitive::load, from, from_ptr)) return T{};
  return detail::load_pieces(ctx.on(from, from_ptr));
}

/// As `load` where `mask` holds; where it does not, touches no memory and returns `other`.
template <class T>
HIRIS_DEVICE T load(const context& ctx, const T* from_ptr, int from, bool mask,
                    std::type_identity_t<T> other) {
  return mask ? load(ctx, from_ptr, from) : other;
}

/// Stores one element to the copy of `*to_ptr` on rank `to`.
///
/// Caller   thread.
/// Order    none; written through to the peer. Complete there only after `quiet` or a notify.
///          Whole for types of 1, 2, 4 and 8 bytes at their natural alignment, otherwise in pieces.
/// Cost     one access of alignof(T) bytes a piece.
///
/// @param to_ptr This rank's address of the symmetric element.
/// @param to     Rank to write to.
template <class T>
HIRIS_DEVICE void store(const context& ctx, T* to_ptr, const std::type_identity_t<T>& value,
                        int to) {
  detail::require_transferable<T>();
  if (!detail::admits(ctx, detail::primitive::store, to, to_ptr)) return;
  detail::store_pieces(ctx.on(to, to_ptr), value);
}

/// As `store` where `mask` holds; where it does not, touches no memory.
template <class T>
HIRIS_DEVICE void store(const context& ctx, T* to_ptr, const std::type_identity_t<T>& value, int to,
                        bool mask) {
  if (mask) store(ctx, to_ptr, value, to);
}

namespace detail {

template <class T>
HIRIS_DEVICE void get(const context& ctx, T* to_ptr, const T* from_ptr, int from,
                      std::uint64_t n_elems, share mine) {
  require_transferable<T>();
  if (!admits_transfer(ctx, by_form(primitive::get, mine), from, from_ptr, to_ptr, n_elems)) return;
  transfer<alignof(T), peer_memory, own_memory>((char*)to_ptr, (const char*)ctx.on(from, from_ptr),
                                                n_elems * sizeof(T), mine);
}

template <class T>
HIRIS_DEVICE void put(const context& ctx, T* to_ptr, const T* from_ptr, int to,
                      std::uint64_t n_elems, share mine) {
  require_transferable<T>();
  if (!admits_transfer(ctx, by_form(primitive::put, mine), to, to_ptr, from_ptr, n_elems)) return;
  transfer<alignof(T), own_memory, peer_memory>((char*)ctx.on(to, to_ptr), (const char*)from_ptr,
                                                n_elems * sizeof(T), mine);
}

template <class T>
HIRIS_DEVICE void copy(const context& ctx, T* to_ptr, const T* from_ptr, int to, int from,
                       std::uint64_t n_elems, share mine) {
  require_transferable<T>();
  const primitive by = by_form(primitive::copy, mine);
  if (!admits(ctx, by, from, from_ptr, n_elems) || !admits(ctx, by, to, to_ptr, n_elems)) return;
  transfer<alignof(T), peer_memory, peer_memory>(
      (char*)ctx.on(to, to_ptr), (const char*)ctx.on(from, from_ptr), n_elems * sizeof(T), mine);
}

}  // namespace detail

/// Reads `n_elems` elements from rank `from` into memory of this device.
///
/// Caller   `get` one thread; `wave_get` all lanes of a wave, `block_get` all threads of a
///          workgroup, with the same arguments. Other threads may read the result after a wave or
///          block_sync.
/// Order    none; read at system scope. The local side is written with ordinary stores.
/// Cost     16-byte accesses where both sides stand at the same offset within 16 bytes, else 4-byte
///          or single ones; four in flight a thread.
///
/// @param to_ptr   Where to write: any memory of this device, symmetric or not. [n_elems]
/// @param from_ptr This rank's address of the symmetric source. [n_elems]
/// @param from     Rank to read from.
/// @param n_elems  Number of elements; 0 moves nothing, counts above 2^32 are fine.
/// @pre   The two runs do not overlap.
template <class T>
HIRIS_DEVICE void get(const context& ctx, T* to_ptr, const T* from_ptr, int from,
                      std::uint64_t n_elems) {
  detail::get(ctx, to_ptr, from_ptr, from, n_elems, detail::share_of_thread());
}

/// `get` by the lanes of one wave.
template <class T>
HIRIS_DEVICE void wave_get(const context& ctx, T* to_ptr, const T* from_ptr, int from,
                           std::uint64_t n_elems) {
  detail::get(ctx, to_ptr, from_ptr, from, n_elems, detail::share_of_wave());
}

/// `get` by the threads of one workgroup.
template <class T>
HIRIS_DEVICE void block_get(const context& ctx, T* to_ptr, const T* from_ptr, int from,
                            std::uint64_t n_elems) {
  detail::get(ctx, to_ptr, from_ptr, from, n_elems, detail::share_of_block());
}

/// Writes `n_elems` elements of this device's memory to rank `to`.
///
/// Caller   `put` one thread; `wave_put` all lanes of a wave, `block_put` all threads of a
///          workgroup, with the same arguments. What other threads wrote to the source needs a wave
///          or block_sync before the call.
/// Order    none; written through to the peer. Complete there only after `quiet` or a notify.
/// Cost     as `get`.
///
/// @param to_ptr   This rank's address of the symmetric destination. [n_elems]
/// @param from_ptr What to write: any memory of this device, symmetric or not. [n_elems]
/// @param to       Rank to write to.
/// @param n_elems  Number of elements; 0 moves nothing, counts above 2^32 are fine.
/// @pre   The two runs do not overlap.
template <class T>
HIRIS_DEVICE void put(const context& ctx, T* to_ptr, const T* from_ptr, int to,
                      std::uint64_t n_elems) {
  detail::put(ctx, to_ptr, from_ptr, to, n_elems, detail::share_of_thread());
}

/// `put` by the lanes of one wave.
template <class T>
HIRIS_DEVICE void wave_put(const context& ctx, T* to_ptr, const T* from_ptr, int to,
                           std::uint64_t n_elems) {
  detail::put(ctx, to_ptr, from_ptr, to, n_elems, detail::share_of_wave());
}

/// `put` by the threads of one workgroup.
template <class T>
HIRIS_DEVICE void block_put(const context& ctx, T* to_ptr, const T* from_ptr, int to,
                            std::uint64_t n_elems) {
  detail::put(ctx, to_ptr, from_ptr, to, n_elems, detail::share_of_block());
}

/// Copies `n_elems` elements from rank `from` to rank `to`, either of which may be any rank. The
/// bytes pass through the calling threads, so a copy between two other ranks crosses two links.
///
/// Caller   `copy` one thread; `wave_copy` all lanes of a wave, `block_copy` all threads of a
///          workgroup, with the same arguments.
/// Order    none; read at system scope and written through. Complete only after `quiet` or a
///          notify.
/// Cost     as `get`.
///
/// @param to_ptr   This rank's address of the symmetric destination. [n_elems]
/// @param from_ptr This rank's address of the symmetric source. [n_elems]
/// @pre   The two runs do not overlap if `to == from`.
template <class T>
HIRIS_DEVICE void copy(const context& ctx, T* to_ptr, const T* from_ptr, int to, int from,
                       std::uint64_t n_elems) {
  detail::copy(ctx, to_ptr, from_ptr, to, from, n_elems, detail::share_of_thread());
}

/// `copy` by the lanes of one wave.
template <class T>
HIRIS_DEVICE void wave_copy(const context& ctx, T* to_ptr, const T* from_ptr, int to, int from,
                            std::uint64_t n_elems) {
  detail::copy(ctx, to_ptr, from_ptr, to, from, n_elems, detail::share_of_wave());
}

/// `copy` by the threads of one workgroup.
template <class T>
HIRIS_DEVICE void block_copy(const context& ctx, T* to_ptr, const T* from_ptr, int to, int from,
                             std::uint64_t n_elems) {
  detail::copy(ctx, to_ptr, from_ptr, to, from, n_elems, detail::share_of_block());
}

}  // namespace hiris
