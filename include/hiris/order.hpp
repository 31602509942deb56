// SPDX-License-Identifier: MIT
/// @file
/// Memory order and scope, written at every call that synchronises.
///
///     atomic_add<order::release>(ctx, counter, 1u, peer);         // system scope: a peer sees it
///     platform::atomic_load<order::relaxed, scope::agent>(&epoch);    // this device only
#pragma once

#include <cstdint>

namespace hiris {

/// Memory order of an atomic operation or a fence, with the meaning that C++ gives it.
enum class order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

/// Who takes part in the ordering. A peer is another device: what reaches it needs `system`.
enum class scope : std::uint8_t {
  workgroup,  ///< The threads of one workgroup.
  agent,      ///< All threads of one device.
  system      ///< All devices of the node and the host.
};

}  // namespace hiris
