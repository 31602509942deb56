// SPDX-License-Identifier: MIT
/// @file
/// Atomic read-modify-write on the memory of any rank.
///
/// Every operation names its memory order; the scope is `system` unless a narrower one is written,
/// because the other side of a symmetric object is another device. All return the value from
/// before.
///
///     const int ticket = atomic_add<order::relaxed>(ctx, next, 1, owner);
///     atomic_xchg<order::release>(ctx, box, 7u, peer);
///     atomic_max<order::relaxed, scope::agent>(ctx, highest, v, ctx.rank, v > 0);   // masked
///
/// Types: integers of 4 and 8 bytes everywhere; float and double where arithmetic on them makes
/// sense (add sub min max); any trivially copyable type of 4 or 8 bytes for xchg and cas, compared
/// bitwise. A masked-off operation touches no memory and returns T{}.
#pragma once

#include <string.h>  // the global memcpy: the one that the device compilers know
#include <cstdint>
#include <type_traits>

#include "hiris/context.hpp"
#include "hiris/order.hpp"
#include "hiris/platform/device.hpp"

namespace hiris {

namespace detail {

template <class T>
inline constexpr bool atomic_width = sizeof(T) == 4 || sizeof(T) == 8;

/// Refuses, with a sentence, what has no arithmetic atomic.
template <class T>
HIRIS_DEVICE void require_atomic_number() {
  static_assert(
      std::is_arithmetic_v<T> && atomic_width<T> && !std::is_same_v<T, bool>,
      "hiris: atomic add, sub, min and max are for integers, float and double of 4 or 8 bytes");
}

/// Refuses, with a sentence, what has no bitwise atomic.
template <class T>
HIRIS_DEVICE void require_atomic_integer() {
  static_assert(std::is_integral_v<T> && atomic_width<T>,
                "hiris: atomic inc, and, or and xor are for integers of 4 or 8 bytes");
}

/// Refuses, with a sentence, what cannot be exchanged as a whole.
template <class T>
HIRIS_DEVICE void require_atomic_word() {
  static_assert(std::is_trivially_copyable_v<T> && atomic_width<T>,
                "hiris: atomic xchg and cas are for trivially copyable types of 4 or 8 bytes");
  static_assert(alignof(T) == sizeof(T), "hiris: an atomic object stands at its natural alignment");
}

/// The unsigned integer as wide as T.
template <class T>
using word_t = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class To, class From>
HIRIS_DEVICE To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  ::memcpy(&to, &from, sizeof(To));
  return to;
}

/// A standard-width integer type for T, since `long` and `long long` are distinct types of one
/// width.
template <class T>
struct atomic_number {
  using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct atomic_number<T> {
  using type =
      std::conditional_t<std::is_signed_v<T>,
                         std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>, word_t<T>>;
};
template <class T>
using atomic_number_t = typename atomic_number<T>::type;

/// Address on `to` of `*p`, as the type that the platform's atomics take.
template <class T>
HIRIS_DEVICE atomic_number_t<T>* atomic_on(const context& ctx, T* p, int to) {
  return (atomic_number_t<T>*)ctx.on(to, p);
}

}  // namespace detail

/// Adds `value` to the copy of `*p` on rank `to`.
///
/// Caller   thread.
/// Order    Order at Scope.
/// Cost     one atomic at the memory's home. On amd a float or double add to a peer is native on
///          gfx942 and gfx950; gfx90a must not do it on fine-grained memory.
///
/// @param p     This rank's address of the symmetric object.
/// @param to    Rank whose copy changes; may be the caller's own.
/// @param mask  Where false nothing happens and T{} is returned.
/// @return      The value before.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_add(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                          bool mask = true) {
  detail::require_atomic_number<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_add, to, p)) return T{};
  return static_cast<T>(platform::atomic_fetch_add<Order, Scope>(
      detail::atomic_on(ctx, p, to), static_cast<detail::atomic_number_t<T>>(value)));
}

/// Subtracts `value`; otherwise as `atomic_add`.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_sub(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                          bool mask = true) {
  detail::require_atomic_number<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_sub, to, p)) return T{};
  const auto operand = static_cast<detail::atomic_number_t<T>>(value);
  if constexpr (std::is_floating_point_v<T>)
    return platform::atomic_fetch_add<Order, Scope>(detail::atomic_on(ctx, p, to), -operand);
  else
    return static_cast<T>(
        platform::atomic_fetch_sub<Order, Scope>(detail::atomic_on(ctx, p, to), operand));
}

/// Adds one to an integer, which wraps as unsigned arithmetic does; there is no bound as in CUDA's
/// atomicInc. Otherwise as `atomic_add`.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_inc(const context& ctx, T* p, int to, bool mask = true) {
  detail::require_atomic_integer<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_inc, to, p)) return T{};
  return atomic_add<Order, Scope>(ctx, p, T{1}, to);
}

/// Takes the smaller of `*p` and `value`; a NaN on either side leaves the result unspecified.
/// Otherwise as `atomic_add`; amd has no native float form and loops.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_min(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                          bool mask = true) {
  detail::require_atomic_number<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_min, to, p)) return T{};
  return static_cast<T>(platform::atomic_fetch_min<Order, Scope>(
      detail::atomic_on(ctx, p, to), static_cast<detail::atomic_number_t<T>>(value)));
}

/// Takes the larger of `*p` and `value`; otherwise as `atomic_min`.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_max(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                          bool mask = true) {
  detail::require_atomic_number<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_max, to, p)) return T{};
  return static_cast<T>(platform::atomic_fetch_max<Order, Scope>(
      detail::atomic_on(ctx, p, to), static_cast<detail::atomic_number_t<T>>(value)));
}

/// Bitwise and of `*p` and `value`; otherwise as `atomic_add`.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_and(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                          bool mask = true) {
  detail::require_atomic_integer<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_and, to, p)) return T{};
  return static_cast<T>(platform::atomic_fetch_and<Order, Scope>(
      detail::atomic_on(ctx, p, to), static_cast<detail::atomic_number_t<T>>(value)));
}

/// Bitwise or of `*p` and `value`; otherwise as `atomic_add`.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_or(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                         bool mask = true) {
  detail::require_atomic_integer<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_or, to, p)) return T{};
  return static_cast<T>(platform::atomic_fetch_or<Order, Scope>(
      detail::atomic_on(ctx, p, to), static_cast<detail::atomic_number_t<T>>(value)));
}

/// Bitwise exclusive or of `*p` and `value`; otherwise as `atomic_add`.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_xor(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                          bool mask = true) {
  detail::require_atomic_integer<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_xor, to, p)) return T{};
  return static_cast<T>(platform::atomic_fetch_xor<Order, Scope>(
      detail::atomic_on(ctx, p, to), static_cast<detail::atomic_number_t<T>>(value)));
}

/// Puts `value` in the place of `*p` on rank `to`.
///
/// Caller   thread.
/// Order    Order at Scope.
/// @param mask Where false nothing happens and T{} is returned.
/// @return  The value before.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_xchg(const context& ctx, T* p, std::type_identity_t<T> value, int to,
                           bool mask = true) {
  detail::require_atomic_word<T>();
  if (!mask || !detail::admits(ctx, detail::primitive::atomic_xchg, to, p)) return T{};
  using word = detail::word_t<T>;
  return detail::same_bits<T>(platform::atomic_exchange<Order, Scope>(
      (word*)ctx.on(to, p), detail::same_bits<word>(value)));
}

/// Puts `desired` in the place of `*p` on rank `to` if its bits are those of `expected`.
///
/// Caller   thread.
/// Order    Order at Scope; on failure the part of Order that a load can have.
/// @return  The value before: the exchange took place if its bits are those of `expected`.
template <order Order, scope Scope = scope::system, class T>
HIRIS_DEVICE T atomic_cas(const context& ctx, T* p, std::type_identity_t<T> expected,
                          std::type_identity_t<T> desired, int to) {
  detail::require_atomic_word<T>();
  if (!detail::admits(ctx, detail::primitive::atomic_cas, to, p)) return T{};
  using word = detail::word_t<T>;
  return detail::same_bits<T>(platform::atomic_compare_exchange<Order, Scope>(
      (word*)ctx.on(to, p), detail::same_bits<word>(expected), detail::same_bits<word>(desired)));
}

}  // namespace hiris
