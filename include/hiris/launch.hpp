// SPDX-License-Identifier: MIT
/// @file
/// Launches of kernels that wait for other ranks: they must be resident as a whole, and loaded
/// before.
///
/// A workgroup that waits keeps its place. If another that it needs has no place, both wait for
/// ever; so a launch that does not fit is refused here instead.
///
///     hiris::load_kernels<my_kernel>(world);                      // collective, once
///     const int most = hiris::resident_blocks<my_kernel>(world);
///     hiris::launch_resident<my_kernel>(world, stream, std::min(most, tiles), params);
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "hiris/error.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris {

namespace detail {

/// Compute units of a device; asks the runtime once a process, since that takes it a millisecond.
inline int compute_units(int device) {
  static std::mutex mutex;
  static std::map<int, int> known;
  const std::lock_guard lock(mutex);
  const auto at = known.find(device);
  if (at != known.end()) return at->second;
  return known.emplace(device, platform::describe(device).compute_units).first->second;
}

}  // namespace detail

/// Most workgroups of kernel K that this rank may have running at once. Assumes that nothing else
/// runs on the device.
///
/// A rank alone on its device has all of it: occupancy of one compute unit x compute units. Ranks
/// that share a device share its compute units, and each has one workgroup a unit: then, whatever
/// mix of kernels they run and however the device spreads the workgroups, fewer are running than
/// there are units when one is to start, so one unit is empty, and there it fits. A share of the
/// occupancy would not do: small workgroups of one rank, spread over all units, can leave no unit
/// room for a large one of another rank, and then both wait.
///
/// Caller   host.
/// Cost     an occupancy query of the runtime, microseconds.
///
/// @return At least 0; 0 if there are more ranks on the device than units.
template <class K>
int resident_blocks(const world& w) {
  const platform::device_guard guard(w.device());
  const int a_unit = platform::blocks_per_unit<K>();
  const int units = detail::compute_units(w.device());
  return w.ranks_on_device() == 1 ? a_unit * units
                                  : std::min(a_unit, 1) * (units / w.ranks_on_device());
}

/// Refuses a kernel of which this rank may not have even one workgroup running.
///
/// @param allowed As resident_blocks() returned it.
/// @throws errc::not_resident naming device, compute units and ranks.
inline void require_place(const world& w, int allowed) {
  if (allowed >= 1) return;
  throw error(errc::not_resident, w.rank(),
              "not one workgroup fits: " + std::to_string(w.ranks_on_device()) +
                  " ranks share device " + std::to_string(w.device()) +
                  "; allowed is one a compute unit, " +
                  std::to_string(detail::compute_units(w.device())));
}

/// Refuses a launch of `blocks` workgroups of K where only `allowed` can be resident.
///
/// @throws errc::invalid_argument if `blocks` < 1; errc::not_resident if it is more than `allowed`.
inline void require_resident(const world& w, int blocks, int allowed) {
  if (blocks < 1)
    throw error(errc::invalid_argument, w.rank(),
                "a launch of " + std::to_string(blocks) + " workgroups; allowed are 1 or more");
  if (blocks > allowed)
    throw error(errc::not_resident, w.rank(),
                "a launch of " + std::to_string(blocks) +
                    " workgroups that must all run at once; allowed are " +
                    std::to_string(allowed) + " on device " + std::to_string(w.device()) +
                    (w.ranks_on_device() == 1
                         ? std::string()
                         : ", which " + std::to_string(w.ranks_on_device()) + " ranks share"));
}

/// Launches a kernel whose workgroups wait for each other or for other ranks.
///
/// Caller   host; may be captured.
/// Cost     resident_blocks() and the launch. To ask once for many launches, call
///          resident_blocks(), require_resident() and platform::launch().
///
/// @param blocks Workgroups, 1 .. resident_blocks<K>(w).
/// @throws errc::not_resident, errc::invalid_argument: nothing has been launched then.
template <class K>
void launch_resident(const world& w, platform::stream stream, int blocks,
                     const typename K::params& params) {
  require_resident(w, blocks, resident_blocks<K>(w));
  const platform::device_guard guard(w.device());
  platform::launch<K>(stream, blocks, params);
}

/// Loads kernels on the devices of all ranks. Collective: when it returns, no rank's launch of them
/// waits for kernels that run, as a first launch does.
///
/// @throws What loading throws on any rank, on every rank.
template <class... Ks>
void load_kernels(const world& w) {
  w.collectively("loading of kernels", [&] {
    const platform::device_guard guard(w.device());
    (platform::load_kernel<Ks>(), ...);
  });
}

}  // namespace hiris
