// SPDX-License-Identifier: MIT
/// @file
/// One piece of memory a rank, mapped on this rank and proved.
///
/// Peers of this process are reached by their pointer, others by an IPC handle of the allocation
/// and the offset in it. Used for the segments of a heap and for memory that the user registers.
///
///     auto offers = exchange_offers(world, make_offer(world, base, bytes, proof), "data segment");
///     peer_map map(world, offers, stream, "data segment");   // errc::mapping_failed on every rank
///     char* theirs = map.base(peer);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiris/error.hpp"
#include "hiris/heap/detail/ipc_cache.hpp"
#include "hiris/heap/detail/memory_proof.hpp"
#include "hiris/heap/detail/memory_segment.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris::detail {

/// What a rank tells the others of its memory. Trivially copyable: it travels as bytes.
struct memory_offer {
  char* base;           ///< Address in its owner's process.
  std::uint64_t bytes;  ///< Size; may differ between ranks.
  const std::shared_ptr<memory_segment>*
      keeper;                   ///< For ranks of its process; null: nothing to hold.
  platform::ipc_handle handle;  ///< For ranks of other processes; zero if none.
  memory_proof proof;           ///< What its owner wrote at both ends.
};

/// Whether any rank of `w` lives in another process than this one.
inline bool has_other_processes(const world& w) {
  for (const peer_info& p : w.peers())
    if (!p.same_process(w.peer(w.rank()))) return true;
  return false;
}

/// This rank's offer of `[base, base + bytes)`.
///
/// @throws errc::runtime_failed if the runtime cannot export the memory (host memory, for one).
inline memory_offer make_offer(const world& w, char* base, std::uint64_t bytes,
                               const memory_proof& proof,
                               const std::shared_ptr<memory_segment>* keeper = nullptr) {
  memory_offer mine{base, bytes, keeper, {}, proof};
  if (has_other_processes(w)) mine.handle = platform::ipc_export(base);
  return mine;
}

/// Tells all ranks. Collective.
///
/// @return [size], in rank order.
inline std::vector<memory_offer> exchange_offers(const world& w, const memory_offer& mine,
                                                 std::string_view what) {
  std::vector<memory_offer> offers(static_cast<std::size_t>(w.size()));
  w.channel().all_gather(&mine, offers.data(), sizeof mine, "exchange of the " + std::string(what));
  return offers;
}

/// Every rank's memory as this rank sees it. Movable; unmaps at its end of life.
class peer_map {
 public:
  peer_map() = default;
  /// Collective. Maps all offers and reads every nonce through the mapping.
  ///
  /// @throws errc::mapping_failed on every rank if any mapping on any rank is not what was offered.
  peer_map(const world& w, const std::vector<memory_offer>& offers, platform::stream stream,
           std::string_view what) {
    peers_.resize(offers.size());
    w.collectively("mapping of the " + std::string(what), [&] {
      for (int r = 0; r < w.size(); ++r) {
        const memory_offer& offer = offers[static_cast<std::size_t>(r)];
        try {
          peers_[static_cast<std::size_t>(r)] = map(w, r, offer);
        } catch (const error& e) {
          throw error(errc::mapping_failed, w.rank(), of_rank(what, r) + ": " + e.what());
        }
        if (read_proof(base(r), offer.bytes, stream) != offer.proof)
          throw error(errc::mapping_failed, w.rank(),
                      of_rank(what, r) +
                          " was mapped, but holds other bytes than the nonce of its "
                          "owner; allowed is only memory that proves itself");
      }
    });
  }

  char* base(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].base; }
  char* end(int rank) const noexcept {
    return base(rank) + peers_[static_cast<std::size_t>(rank)].bytes;
  }
  int size() const noexcept { return static_cast<int>(peers_.size()); }

 private:
  struct peer {
    char* base = nullptr;
    std::uint64_t bytes = 0;
    std::shared_ptr<memory_segment> kept;  // a segment of this process
    std::shared_ptr<char> opened;          // the base of another process's allocation
  };

  static std::string of_rank(std::string_view what, int rank) {
    return std::string(what) + " of rank " + std::to_string(rank);
  }

  static peer map(const world& w, int r, const memory_offer& offer) {
    const peer_info& me = w.peer(w.rank());
    const peer_info& owner = w.peer(r);
    if (owner.same_process(me)) {
      if (owner.device != me.device) platform::enable_peer_access(me.device, owner.device);
      return {offer.base, offer.bytes, offer.keeper ? *offer.keeper : nullptr, nullptr};
    }
    std::shared_ptr<char> opened = open_ipc(me.device, offer.handle);
    return {opened.get() + offer.handle.offset, offer.bytes, nullptr, opened};
  }

  std::vector<peer> peers_;
};

}  // namespace hiris::detail
