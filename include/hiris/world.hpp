// SPDX-License-Identifier: MIT
/// @file
/// The ranks of a job, each with a device: who there is, where, and how they agree.
///
/// Every call named collective must be made by all ranks in the same order. A failure on one rank
/// is told on all of them, before anything is launched.
///
///     hiris::world world(boot);                             // collective
///     world.require_equal("plan of the GEMM", "m", m);      // errc::mismatch on all ranks
///     auto file = world.collectively("opening the input", [&] { return open(path); });
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/outcome.hpp"
#include "hiris/bootstrap/detail/received.hpp"
#include "hiris/bootstrap/detail/text.hpp"
#include "hiris/error.hpp"
#include "hiris/platform/names.hpp"
#include "hiris/platform/runtime_device.hpp"
#include "hiris/world/peer.hpp"

namespace hiris {

/// Device number that lets the world choose: the rank modulo the number of devices.
inline constexpr int any_device = -1;

/// The ranks of a job or of a team of it. Copies are the same world: they share its channel. One
/// thread a rank may use it at a time.
class world {
 public:
  /// Collective. Chooses the device, makes it current on this thread, and exchanges who is where.
  ///
  /// @param boot   The set-up channel; the world shares its ownership.
  /// @param device Ordinal of this rank's device, or `any_device`. Ranks may share a device.
  /// @throws errc::invalid_argument  null `boot`; on every rank: a device that is not there.
  /// @throws errc::unsupported       on every rank: no device, or ranks on more than one host.
  explicit world(std::shared_ptr<bootstrap> boot, int device = any_device)
      : boot_(std::move(boot)) {
    if (!boot_) throw error(errc::invalid_argument, -1, "the bootstrap of a world is null");
    const peer_info mine = collectively("choice of a device", [&] {
      peer_info info = detail::identify_this_rank(boot_->rank(), device);
      platform::make_current(info.device);
      return info;
    });
    peers_.resize(static_cast<std::size_t>(size()));
    constexpr const char* step = "exchange of hosts and devices";
    boot_->all_gather(&mine, peers_.data(), sizeof mine, step);
    for (int r = 0; r < size(); ++r) {
      if (!detail::is_text(peer(r).host))
        throw detail::told_wrongly(r, step,
                                   "'" + detail::received_text(peer(r).host) + "' as its host",
                                   detail::text_rule);
      if (peer(r).device < 0)
        throw detail::told_wrongly(r, step, "device " + std::to_string(peer(r).device),
                                   "0 or more");
    }
    for (int r = 1; r < size(); ++r)
      if (!peers_[static_cast<std::size_t>(r)].same_host(peers_[0]))
        throw error(errc::unsupported, r,
                    "it runs on host " + std::string(peer(r).host.data()) + ", but rank 0 on " +
                        peer(0).host.data() + "; all ranks must be on one host");
    for (const peer_info& p : peers_) ranks_on_device_ += p.same_device(peer(rank())) ? 1 : 0;
    platform::speak_for_rank(rank());
  }

  int rank() const noexcept { return boot_->rank(); }
  int size() const noexcept { return boot_->size(); }
  /// Ordinal of this rank's device in this process.
  int device() const noexcept { return peer(rank()).device; }
  /// How many ranks run on this rank's device, itself included: of this world, or of the one that
  /// it was split from, since those of other teams take room there, too.
  int ranks_on_device() const noexcept { return ranks_on_device_; }
  /// Who and where each rank is. [size], in rank order.
  const std::vector<peer_info>& peers() const noexcept { return peers_; }
  /// As `peers()[r]`. @pre 0 <= r < size.
  const peer_info& peer(int r) const noexcept { return peers_[static_cast<std::size_t>(r)]; }
  /// The set-up channel of these ranks.
  bootstrap& channel() const noexcept { return *boot_; }

  /// Returns once every rank has called it. Collective; orders nothing on the devices.
  void barrier(std::string_view step) const { boot_->barrier(step); }

  /// The world of the ranks that pass the same `color`, ordered by `key`, then by rank. Collective.
  ///
  /// @param color At least 0.
  /// @throws errc::invalid_argument on every rank if a rank passes a negative color.
  world split(int color, int key) const {
    collectively("split of a world", [&] {
      if (color < 0)
        throw error(errc::invalid_argument, rank(),
                    "color " + std::to_string(color) + "; allowed are 0 and more");
    });
    const int spoken_for = platform::speak_for_rank(rank());
    world team(boot_->split(color, key, "split of a world"), device());
    platform::speak_for_rank(spoken_for);  // not the rank in the team
    team.ranks_on_device_ = ranks_on_device_;
    return team;
  }

  /// Runs `body` on this rank and meets the others. If it threw on any rank, every rank throws the
  /// code, rank and text of the first (lowest) rank that failed. Collective.
  ///
  /// @param step The same text on all ranks.
  /// @return What `body` returned.
  template <class Body>
  std::invoke_result_t<Body&> collectively(std::string_view step, Body&& body) const {
    using result = std::invoke_result_t<Body&>;
    detail::outcome mine;
    if constexpr (std::is_void_v<result>) {
      mine.run([&] { body(); });
      detail::agree(*boot_, mine, step);
    } else {
      std::unique_ptr<detail::held<result>> value;
      mine.run([&] { value.reset(new detail::held<result>{body()}); });
      detail::agree(*boot_, mine, step);
      return static_cast<result>(std::forward<result>(value->value));
    }
  }

  /// Throws errc::mismatch on every rank unless all pass an equal value. Collective.
  ///
  /// @param step  What this is for; the same text on all ranks.
  /// @param name  What the value is called; appears in the error.
  /// @param value Arithmetic, an enumeration, a string, or anything that `std::ostream` prints.
  ///              Compared as the text that is printed for it (numbers exactly).
  template <class T>
  void require_equal(std::string_view step, std::string_view name, const T& value) const {
    detail::agree_on_text(*boot_, step, name, detail::to_text(value));
  }

 private:
  std::shared_ptr<bootstrap> boot_;
  std::vector<peer_info> peers_;
  int ranks_on_device_ = 0;
};

}  // namespace hiris
