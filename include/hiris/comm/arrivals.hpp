// SPDX-License-Identifier: MIT
/// @file
/// What a workgroup remembers about tiles of its peers: it waits and acquires once a tile, not once
/// a use.
///
/// The memory is one bit a tile, spread over the lanes of each wave: no shared memory, of which a
/// few bytes more could cost a compute unit its second workgroup.
///
///     arrivals seen;
///     wait_status status = seen.wait(ctx, signals, tile, epoch, source);
#pragma once

#include <cstdint>
#include <type_traits>

#include "hiris/comm/shard.hpp"
#include "hiris/context.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/signal.hpp"

namespace hiris::comm {

/// Tiles that this workgroup has waited for in this launch.
class arrivals {
 public:
  /// Waits until the signal of `tile` has counted `epoch` calls, unless this workgroup knows it
  /// has.
  ///
  /// Caller   all threads of the workgroup, converged.
  /// Order    acquire, system scope, the first time; none later, none is needed.
  /// Cost     the first time a poll, an acquire and a workgroup barrier; later a shuffle.
  HIRIS_DEVICE wait_status wait(const context& ctx, const signal_counter* signals, int tile,
                                std::uint64_t epoch, int source) {
    if (tile == latest_) return wait_status::ok;
    latest_ = tile;
    const int lane = tile / bits_a_lane;
    const word bit = word{1} << (tile % bits_a_lane);
    if ((platform::wave_shuffle(seen_, lane) & bit) != 0) return wait_status::ok;
    if (platform::lane_rank() == lane) seen_ |= bit;
    return block_wait_until(ctx, signals + tile, epoch, source);
  }

 private:
  static constexpr int bits_a_lane = max_tiles / platform::wave_size;
  static_assert(bits_a_lane == 32 || bits_a_lane == 64, "a lane remembers one word of tiles");
  using word = std::conditional_t<bits_a_lane == 32, std::uint32_t, std::uint64_t>;

  word seen_ = 0;
  int latest_ = -1;
};

}  // namespace hiris::comm
