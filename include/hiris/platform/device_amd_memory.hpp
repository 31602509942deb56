// SPDX-License-Identifier: MIT
/// @file
/// Peer and global accesses of 1 to 16 bytes on amd.
///
/// A peer access carries `sc0 sc1`: it passes this device's caches, so that no write-back or
/// invalidate is needed. Up to 8 bytes it is a relaxed system-scope atomic. Of 16 bytes there is no
/// atomic; it is a raw buffer access, because that is the one form that the compiler knows of:
///   - A store in inline asm is invisible to its waitcnt pass, so that later releases miss a wait,
///     and to its hazard recognizer: storing the result of an MFMA, or overwriting the registers of
///     a 16-byte store in the next instruction, needs wait states that nobody would insert.
///   - A volatile access waits for vmcnt(0) each time, so that only one is in flight.
/// On gfx90a the narrow ones are buffer accesses, too: there a relaxed atomic at system scope
/// relies on the kind of the memory, and with a peer's ordinary memory it reads what the L2 has and
/// leaves its stores there; only a buffer access can say `scc`.
///
/// A buffer access takes its base from scalar registers. The base here is the 1 GiB region that the
/// address lies in, and the loop runs once for every region that the lanes of the wave touch:
/// nearly always once.
///
///     platform::peer_store(inbox + platform::thread_rank(), value);   // 16 bytes a lane
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>

#include "hiris/order.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/platform/device_amd_atomic.hpp"

namespace hiris::platform {
namespace amd {

using words2 = std::uint32_t __attribute__((ext_vector_type(2)));
using words4 = std::uint32_t __attribute__((ext_vector_type(4)));
using global_words4 [[gnu::may_alias]] = __attribute__((address_space(1))) words4;

inline constexpr int region_bits = 30;
inline constexpr int buffer_data_format_32 = 0x20000;  // word 3 of a raw buffer's descriptor
inline constexpr int sc0_sc1 = 17;                     // cache policy; `glc scc` on gfx90a

/// Calls `access(buffer, offset)` for every lane, once a region, with the buffer the same for all
/// lanes of a call. The mask of lanes makes the progress of the loop plain to the compiler, which
/// may otherwise take it for granted that the first round serves all. The offset is kept in a
/// vector register: one set in the loop may lie where a load puts its result, and wait for it.
template <class Access>
HIRIS_DEVICE void for_each_region(const void* p, Access access) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(p);
  const int mine = static_cast<int>(address >> region_bits);
  int offset = static_cast<int>(address & ((std::uint64_t{1} << region_bits) - 1));
  asm volatile("" : "+v"(offset));
  std::uint64_t todo = __builtin_amdgcn_ballot_w64(true);
  do {
    const int region = __builtin_amdgcn_readlane(mine, __builtin_ctzll(todo));
    todo &= ~__builtin_amdgcn_ballot_w64(mine == region);
    int base = region;
    asm volatile("" : "+s"(base));  // else `mine`, a vector register, takes its place below
    if (mine == region) {
      void* start =
          reinterpret_cast<void*>(std::uint64_t{static_cast<std::uint32_t>(base)} << region_bits);
      access(__builtin_amdgcn_make_buffer_rsrc(start, 0, 1 << region_bits, buffer_data_format_32),
             offset);
    }
  } while (todo != 0);
}

template <class To, class From>
HIRIS_DEVICE To same_bits(From from) {
  return __builtin_bit_cast(To, from);
}

}  // namespace amd

/// Loads 1, 2, 4, 8 or 16 bytes from a peer, past the caches. Not atomic above 8 bytes. Several may
/// be in flight; the compiler waits where the value is used.
template <class T>
HIRIS_DEVICE T peer_load(const T* p) {
  if constexpr (sizeof(T) == 16) {
    amd::words4 words;
    // Some value. An unset one is that of the load before, copied, so that loads take turns.
    asm volatile("" : "=v"(words));
    amd::for_each_region(p, [&words](auto buffer, int offset) {
      words = __builtin_amdgcn_raw_buffer_load_b128(buffer, offset, 0, amd::sc0_sc1);
    });
    return amd::same_bits<T>(words);
  } else if constexpr (amd_atomics_pass_caches) {
    return atomic_load<order::relaxed, scope::system>(p);
  } else {
    T value;
    amd::for_each_region(p, [&value](auto buffer, int offset) {
      if constexpr (sizeof(T) == 8)
        value = amd::same_bits<T>(
            __builtin_amdgcn_raw_buffer_load_b64(buffer, offset, 0, amd::sc0_sc1));
      else if constexpr (sizeof(T) == 4)
        value = amd::same_bits<T>(
            __builtin_amdgcn_raw_buffer_load_b32(buffer, offset, 0, amd::sc0_sc1));
      else if constexpr (sizeof(T) == 2)
        value = amd::same_bits<T>(
            __builtin_amdgcn_raw_buffer_load_b16(buffer, offset, 0, amd::sc0_sc1));
      else
        value =
            amd::same_bits<T>(__builtin_amdgcn_raw_buffer_load_b8(buffer, offset, 0, amd::sc0_sc1));
    });
    return value;
  }
}

/// Stores 1, 2, 4, 8 or 16 bytes to a peer, written through. Complete after drain_stores().
template <class T>
HIRIS_DEVICE void peer_store(T* p, T value) {
  if constexpr (sizeof(T) == 16) {
    const auto words = amd::same_bits<amd::words4>(value);
    amd::for_each_region(p, [words](auto buffer, int offset) {
      __builtin_amdgcn_raw_buffer_store_b128(words, buffer, offset, 0, amd::sc0_sc1);
    });
  } else if constexpr (amd_atomics_pass_caches) {
    atomic_store<order::relaxed, scope::system>(p, value);
  } else {
    amd::for_each_region(p, [value](auto buffer, int offset) {
      if constexpr (sizeof(T) == 8)
        __builtin_amdgcn_raw_buffer_store_b64(amd::same_bits<amd::words2>(value), buffer, offset, 0,
                                              amd::sc0_sc1);
      else if constexpr (sizeof(T) == 4)
        __builtin_amdgcn_raw_buffer_store_b32(amd::same_bits<std::uint32_t>(value), buffer, offset,
                                              0, amd::sc0_sc1);
      else if constexpr (sizeof(T) == 2)
        __builtin_amdgcn_raw_buffer_store_b16(amd::same_bits<std::uint16_t>(value), buffer, offset,
                                              0, amd::sc0_sc1);
      else
        __builtin_amdgcn_raw_buffer_store_b8(amd::same_bits<std::uint8_t>(value), buffer, offset, 0,
                                             amd::sc0_sc1);
    });
  }
}

/// Plain load of 1, 2, 4, 8 or 16 bytes: own memory, or a peer's after an acquire. May hit caches.
template <class T>
HIRIS_DEVICE T load_global(const T* p) {
  if constexpr (sizeof(T) == 16)
    return amd::same_bits<T>(*(const amd::global_words4*)p);
  else
    return amd::same_bits<T>(*(const amd::global_word_of<T>*)p);
}

/// Sixteen loaded bytes until they are used. As the words of a struct each would get a register
/// where ways to load them meet, and the loads would be waited for at once, to move them there.
using held16 = amd::words4;
HIRIS_DEVICE held16 hold(const vec16& loaded) { return amd::same_bits<held16>(loaded); }
HIRIS_DEVICE vec16 let_go(held16 held) { return amd::same_bits<vec16>(held); }

/// Plain store of 1, 2, 4, 8 or 16 bytes to own memory. May alias any type.
template <class T>
HIRIS_DEVICE void store_global(T* p, T value) {
  if constexpr (sizeof(T) == 16)
    *(amd::global_words4*)p = amd::same_bits<amd::words4>(value);
  else
    *(amd::global_word_of<T>*)p = amd::same_bits<amd::word_of<T>>(value);
}

}  // namespace hiris::platform
