// SPDX-License-Identifier: MIT
/// @file
/// One piece of memory a rank, mapped on this rank and proved.
///
/// Memory that this process lists itself is reached by its pointer, other by an IPC handle of the
/// allocation and the offset in it. Used for the segments of a heap and for memory that the user
/// registers.
///
///     const own_offer mine(world, base, bytes, proof);     // until all have mapped it
///     auto offers = exchange_offers(world, mine.told(), "data segment");
///     peer_map map(world, offers, stream, "data segment");   // errc::mapping_failed on every rank
///     char* theirs = map.base(peer);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiris/error.hpp"
#include "hiris/heap/detail/ipc_cache.hpp"
#include "hiris/heap/detail/listed_memory.hpp"
#include "hiris/heap/detail/memory_proof.hpp"
#include "hiris/heap/detail/memory_segment.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris::detail {

/// What a rank tells the others of its memory. Trivially copyable: it travels as bytes.
struct memory_offer {
  std::uint64_t bytes;          ///< Size; the same on all ranks.
  memory_key key;               ///< For ranks of its process: what it is listed under there.
  platform::ipc_handle handle;  ///< For ranks of other processes; zero if none.
  memory_proof proof;           ///< What its owner wrote at both ends.
};

/// Whether any rank of `w` lives in another process than this one.
inline bool has_other_processes(const world& w) {
  for (const peer_info& p : w.peers())
    if (!p.same_process(w.peer(w.rank()))) return true;
  return false;
}

/// This rank's offer of memory. Ranks of this process find the memory while a copy of it lives.
class own_offer {
 public:
  own_offer() = default;
  /// Offers `[base, base + bytes)`.
  ///
  /// @param keeper Held by the ranks of this process that map the memory; null: nothing to hold.
  /// @throws errc::runtime_failed if the runtime cannot export the memory (host memory, for one).
  own_offer(const world& w, char* base, std::uint64_t bytes, const memory_proof& proof,
            std::shared_ptr<memory_segment> keeper = nullptr)
      : key_(list_memory({base, bytes, w.rank(), w.device(), std::move(keeper)})),
        told_{bytes, *key_, {}, proof} {
    if (has_other_processes(w)) told_.handle = platform::ipc_export(base);
  }
  /// What the others are told.
  const memory_offer& told() const noexcept { return told_; }

 private:
  std::shared_ptr<const memory_key> key_;
  memory_offer told_{};
};

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
  /// @param offers [size], in rank order; all of one size, that of this rank's.
  /// @throws errc::mapping_failed on every rank if any mapping on any rank is not what was offered,
  ///         or what was offered not what was asked for.
  peer_map(const world& w, const std::vector<memory_offer>& offers, platform::stream stream,
           std::string_view what) {
    peers_.resize(offers.size());
    bytes_ = offers[static_cast<std::size_t>(w.rank())].bytes;
    w.collectively("mapping of the " + std::string(what), [&] {
      for (int r = 0; r < w.size(); ++r) {
        const memory_offer& offer = offers[static_cast<std::size_t>(r)];
        try {
          require(offer.bytes == bytes_, std::to_string(offer.bytes) + " bytes",
                  std::to_string(bytes_) + ", as many as this rank has");
          peers_[static_cast<std::size_t>(r)] = map(w, r, offer);
        } catch (const error& e) {
          throw error(errc::mapping_failed, w.rank(), of_rank(what, r) + ": " + e.what());
        }
        if (read_proof(base(r), bytes_, stream) != offer.proof)
          throw error(errc::mapping_failed, w.rank(),
                      of_rank(what, r) +
                          " was mapped, but holds other bytes than the nonce of its "
                          "owner; allowed is only memory that proves itself");
      }
    });
  }

  char* base(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].base; }
  char* end(int rank) const noexcept { return base(rank) + bytes_; }
  int size() const noexcept { return static_cast<int>(peers_.size()); }

 private:
  struct peer {
    char* base = nullptr;
    std::shared_ptr<memory_segment> kept;  // a segment of this process
    std::shared_ptr<char> opened;          // the base of another process's allocation
  };

  static std::string of_rank(std::string_view what, int rank) {
    return std::string(what) + " of rank " + std::to_string(rank);
  }

  static void require(bool holds, const std::string& offered, const std::string& allowed) {
    if (!holds)
      throw error(errc::mapping_failed, -1, "it offers " + offered + "; allowed is " + allowed);
  }

  /// What a peer says of its process counts for nothing here: only what this process has listed is
  /// taken for its own.
  static peer map(const world& w, int r, const memory_offer& offer) {
    if (std::optional<listed_memory> own = memory_list::of_process().find(offer.key)) {
      require(own->rank == r && own->bytes == offer.bytes,
              "the key of " + std::to_string(own->bytes) + " bytes of rank " +
                  std::to_string(own->rank),
              "its own");
      if (own->device != w.device()) platform::enable_peer_access(w.device(), own->device);
      return {own->base, std::move(own->keeper), nullptr};
    }
    std::shared_ptr<char> opened = open_ipc(w.device(), offer.handle);
    const platform::allocation_range all = platform::allocation_of(opened.get());
    require(offer.bytes <= all.bytes && offer.handle.offset <= all.bytes - offer.bytes,
            std::to_string(offer.bytes) + " bytes at offset " +
                std::to_string(offer.handle.offset) + " of its allocation",
            "what lies in its " + std::to_string(all.bytes) + " bytes");
    return {opened.get() + offer.handle.offset, nullptr, opened};
  }

  std::vector<peer> peers_;
  std::uint64_t bytes_ = 0;
};

}  // namespace hiris::detail
