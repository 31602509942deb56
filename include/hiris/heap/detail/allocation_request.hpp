// SPDX-License-Identifier: MIT
/// @file
/// What a rank asks of a collective allocation, and how all ranks come to one answer.
///
/// Every rank tells its request; every rank sees all of them and judges alike, so that a refusal is
/// the same everywhere and nothing has changed anywhere.
///
///     auto mine = describe_request<float>("data", n, 256);
///     std::uint64_t offset = allocate_collectively(world, ledger, mine);
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "hiris/bootstrap/detail/received.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/detail/block_ledger.hpp"
#include "hiris/heap/detail/memory_segment.hpp"
#include "hiris/platform/names.hpp"
#include "hiris/platform/type_name.hpp"
#include "hiris/world.hpp"

namespace hiris::detail {

/// Trivially copyable: it travels as bytes.
struct allocation_request {
  std::int64_t n_elems;
  std::uint64_t elem_bytes;
  std::uint64_t alignment;
  std::uint64_t untold;  ///< Blocks that the rank retired and tells of in this call.
  std::uint64_t type_hash;
  std::array<char, 48> type;    ///< Name of the type as the compiler has it, cut to fit.
  std::array<char, 16> memory;  ///< "data", "signals" or "registered".

  static constexpr std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  bool overflows() const { return static_cast<std::uint64_t>(n_elems) > most_bytes / elem_bytes; }
  /// Bytes of the block, or the largest number if that overflows.
  std::uint64_t bytes() const {
    return overflows() ? most_bytes : static_cast<std::uint64_t>(n_elems) * elem_bytes;
  }
  bool same_shape(const allocation_request& other) const {
    return n_elems == other.n_elems && elem_bytes == other.elem_bytes &&
           alignment == other.alignment && type_hash == other.type_hash && memory == other.memory;
  }
  std::string text() const {
    return std::to_string(n_elems) + " elements of " + received_text(type) + " (" +
           std::to_string(elem_bytes) + " bytes each, alignment " + std::to_string(alignment) +
           ", " + received_text(memory) + " memory)";
  }
};

template <std::size_t N>
std::array<char, N> fixed_text(std::string_view text) {
  std::array<char, N> result{};
  std::copy_n(text.begin(), std::min(text.size(), N - 1), result.begin());
  return result;
}

/// This rank's request, not yet checked.
template <class T>
allocation_request describe_request(std::string_view memory, std::int64_t n_elems,
                                    std::uint64_t alignment) {
  const std::string name = platform::readable_name(typeid(T));
  const bool is_power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a: must not differ between processes
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return {n_elems,
          sizeof(T),
          is_power_of_two ? std::max<std::uint64_t>(alignment, alignof(T)) : alignment,
          0,
          hash,
          fixed_text<48>(name),
          fixed_text<16>(memory)};
}

/// Throws alike on every rank if any request is invalid or two differ.
///
/// @param all         [size], in rank order.
/// @param step        In which they were told.
/// @param most_untold Blocks that there are: no rank can have freed more.
/// @throws errc::invalid_argument, errc::mismatch
inline void judge_requests(const std::vector<allocation_request>& all, std::string_view step,
                           std::uint64_t most_untold) {
  for (std::size_t r = 0; r < all.size(); ++r) {
    const allocation_request& a = all[r];
    const auto require = [&](bool holds, const std::string& what, const std::string& allowed) {
      if (!holds) throw told_wrongly(static_cast<int>(r), step, what, allowed);
    };
    require(is_text(a.type), "'" + received_text(a.type) + "' as the name of a type", text_rule);
    require(is_text(a.memory), "'" + received_text(a.memory) + "' as a kind of memory", text_rule);
    require(a.elem_bytes >= 1, "elements of 0 bytes", "1 or more");
    require(a.untold <= most_untold, std::to_string(a.untold) + " blocks that it has freed",
            "0 to " + std::to_string(most_untold) + ", the blocks that there are");
    if (a.n_elems < 1)
      throw error(errc::invalid_argument, static_cast<int>(r),
                  "it asks for " + a.text() + "; allowed are 1 or more elements");
    if (a.alignment == 0 || (a.alignment & (a.alignment - 1)) != 0 || a.alignment > max_alignment)
      throw error(errc::invalid_argument, static_cast<int>(r),
                  "it asks for " + a.text() + "; allowed alignments are powers of two up to " +
                      std::to_string(max_alignment));
  }
  for (std::size_t r = 1; r < all.size(); ++r)
    if (!all[r].same_shape(all[0]))
      throw error(errc::mismatch, static_cast<int>(r),
                  "it asks for " + all[r].text() + ", but rank 0 for " + all[0].text() +
                      "; the call must be the same on all ranks");
}

/// Tells this rank's request, and throws alike on every rank unless all are valid and agree.
/// Collective.
///
/// @param most_untold As judge_requests().
/// @return [size], in rank order.
inline std::vector<allocation_request> agree_on_request(const world& w,
                                                        const allocation_request& mine,
                                                        std::string_view step,
                                                        std::uint64_t most_untold = 0) {
  std::vector<allocation_request> all(static_cast<std::size_t>(w.size()));
  w.channel().all_gather(&mine, all.data(), sizeof mine, step);
  judge_requests(all, step, most_untold);
  return all;
}

/// Tells and takes the blocks that ranks are done with.
///
/// @param mine What the ledger's untold() returned.
/// @throws errc::mismatch alike on every rank if one tells of a block that it cannot have freed;
///         then no block is taken, and all are told again in the next call.
inline void exchange_retired(const world& w, block_ledger& ledger,
                             const std::vector<allocation_request>& all,
                             std::vector<std::uint64_t> mine) {
  std::uint64_t most = 0;
  for (const allocation_request& a : all) most = std::max(most, a.untold);
  if (most == 0) return;
  const std::size_t row = static_cast<std::size_t>(most);
  std::vector<std::uint64_t> padded(mine), gathered(row * all.size());
  padded.resize(row);
  constexpr const char* step = "exchange of freed blocks";
  w.channel().all_gather(padded.data(), gathered.data(), row * sizeof(std::uint64_t), step);
  std::vector<std::vector<std::uint64_t>> told(all.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    const auto begin = gathered.begin() + static_cast<std::ptrdiff_t>(r * row);
    told[r].assign(begin, begin + static_cast<std::ptrdiff_t>(all[r].untold));
  }
  told[static_cast<std::size_t>(w.rank())] = std::move(mine);
  if (const auto wrong = ledger.first_wrong(told))
    throw told_wrongly(wrong->rank, step,
                       "a freed block at offset " + std::to_string(wrong->offset),
                       "each block that there is, once");
  ledger.absorb(told, w.rank());
}

/// Finds the same offset on all ranks. Collective.
///
/// Cost     one all-gather on the host, a second if any rank has freed something.
///
/// @throws errc::invalid_argument, errc::mismatch, errc::out_of_memory: the same on every rank,
///         with the lowest that it holds for, and no block is taken.
inline std::uint64_t allocate_collectively(const world& w, block_ledger& ledger,
                                           allocation_request mine) {
  std::vector<std::uint64_t> untold = ledger.untold();
  mine.untold = untold.size();
  exchange_retired(w, ledger,
                   agree_on_request(w, mine, "symmetric allocation", ledger.use().blocks),
                   std::move(untold));
  if (const auto at = ledger.allocate(mine.bytes(), mine.alignment, mine.text())) return *at;
  const heap_use have = ledger.use();
  throw error(errc::out_of_memory, 0,
              "the symmetric heap of every rank needs " +
                  (mine.overflows() ? "2^64 or more" : std::to_string(mine.bytes())) +
                  " bytes for " + mine.text() + ", but has " + std::to_string(have.free_bytes) +
                  " free of " + std::to_string(have.total_bytes) + ", the largest free block of " +
                  std::to_string(have.largest_free_bytes) + " bytes");
}

/// How reports of the emulator call this rank's copy of a block, or of a region.
///
/// @param offset In its segment; 0 for a region.
inline platform::memory_name name_of_block(const allocation_request& a, int rank, const void* at,
                                           std::uint64_t offset) {
  return {at, a.bytes(), [a, rank, offset](std::uint64_t byte) -> std::string {
            const std::string memory = a.memory.data(), of_rank = "rank " + std::to_string(rank);
            if (memory == "signals")
              return "signal " + std::to_string((offset + byte) / a.elem_bytes) + " of " + of_rank;
            return (memory == "data" ? "data block at offset " + std::to_string(offset)
                                     : "registered region") +
                   " (" + a.type.data() + "[" + std::to_string(a.n_elems) + "], " + of_rank +
                   "), byte " + std::to_string(byte);
          }};
}

}  // namespace hiris::detail
