// SPDX-License-Identifier: MIT
/// @file
/// What a check of a debug build refused on the device, as an exception of the host.
///
///     if (record.refused.what != 0) throw misuse_error(record);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "hiris/context.hpp"
#include "hiris/detail/misuse.hpp"
#include "hiris/error.hpp"

namespace hiris::detail {

/// The name of a primitive as it is called.
inline const char* to_string(primitive by) {
  constexpr std::array names = {"context::on",
                                "load",
                                "store",
                                "get",
                                "wave_get",
                                "block_get",
                                "put",
                                "wave_put",
                                "block_put",
                                "copy",
                                "wave_copy",
                                "block_copy",
                                "atomic_add",
                                "atomic_sub",
                                "atomic_inc",
                                "atomic_min",
                                "atomic_max",
                                "atomic_and",
                                "atomic_or",
                                "atomic_xor",
                                "atomic_xchg",
                                "atomic_cas",
                                "notify",
                                "notify_peer_stores",
                                "wave_notify_peer_stores",
                                "block_notify",
                                "block_notify_peer_stores",
                                "wait_until",
                                "block_wait_until",
                                "block_barrier"};
  static_assert(names.size() == static_cast<std::size_t>(primitive::block_barrier) + 1);
  const auto index = static_cast<std::size_t>(by);
  return index < names.size() ? names[index] : "an unknown primitive";
}

/// What was wrong with the value, and what was allowed.
inline std::string complaint(const misuse_record& m, std::int32_t peer) {
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(m.address));
  const auto by = static_cast<primitive>(m.by);
  const std::string aligned = std::string("the address ") + address + " is not a multiple of " +
                              std::to_string(m.alignment) + ", the alignment of its type";
  const std::string offsets = "; allowed are offsets 0 to " + std::to_string(m.window_bytes);
  switch (static_cast<misuse>(m.what)) {
    case misuse::rank:
      return "there is no rank " + std::to_string(peer) + "; allowed are 0 to " +
             std::to_string(m.ranks - 1) +
             (by == primitive::wait_until || by == primitive::block_wait_until ? ", and any_rank"
                                                                               : "");
    case misuse::count:
      return "the count is " + std::to_string(static_cast<std::int64_t>(m.count)) +
             (by >= primitive::notify ? "; allowed are 1 or more" : "; allowed are 0 or more");
    case misuse::null:
      return "null is not symmetric" + offsets;
    case misuse::range:
      return std::string("the bytes from ") + address + " on are not all in it" + offsets;
    case misuse::alignment:
      return aligned;
    case misuse::local_null:
      return "the pointer to local memory is null";
    case misuse::local_alignment:
      return "of the pointer to local memory: " + aligned;
    case misuse::none:
      break;
  }
  return "of unknown kind";
}

/// The error of a complete record of a refused call: errc::not_symmetric for a pointer that is not
/// of this rank's window, errc::invalid_argument for the rest.
///
/// @param told Comes before the text; empty for a call of this rank.
inline error misuse_error(const fault_record& f, const std::string& told = {}) {
  const misuse_record& m = f.refused;
  const auto what = static_cast<misuse>(m.what);
  const bool not_symmetric = what == misuse::null || what == misuse::range;
  const bool no_bytes = what == misuse::count || m.count == 0;
  const std::string bytes =
      no_bytes ? "" : std::to_string(m.count) + " x " + std::to_string(m.elem_bytes) + " bytes ";
  const std::string offset =
      what == misuse::null ? "in" : "at offset " + std::to_string(m.offset_bytes) + " of";
  return {not_symmetric ? errc::not_symmetric : errc::invalid_argument, f.cause.rank,
          told + "workgroup " + std::to_string(f.cause.block) + " of rank " +
              std::to_string(f.cause.rank) + " called " + to_string(static_cast<primitive>(m.by)) +
              " with peer " + std::to_string(f.cause.peer) + ", " + bytes + offset + " its " +
              (m.in_signals != 0 ? "signal" : "data") + " window of " +
              std::to_string(m.window_bytes) + " bytes: " + complaint(m, f.cause.peer)};
}

}  // namespace hiris::detail
