// SPDX-License-Identifier: MIT
/// @file
/// The memory behind a symmetric heap: what this rank owns, and what it has mapped of the others.
///
///     heap_memory memory(world, options);    // collective: allocate, map, prove
///     char* theirs = memory.data_map().base(peer);
///     memory.close();                        // collective: unmap everywhere, then free
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/detail/block_guards.hpp"
#include "hiris/heap/detail/fault.hpp"
#include "hiris/heap/detail/memory_proof.hpp"
#include "hiris/heap/detail/memory_segment.hpp"
#include "hiris/heap/detail/peer_map.hpp"
#include "hiris/heap/detail/window_tables.hpp"
#include "hiris/heap/options.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris::detail {

/// 0 .. size-1.
inline std::vector<int> all_ranks(const world& w) {
  std::vector<int> ranks(static_cast<std::size_t>(w.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Segments, mappings, fault record and a stream for set-up, of one rank.
class heap_memory {
 public:
  /// Collective. As the constructor of symmetric_heap.
  heap_memory(const world& w, const heap_options& options)
      : world_(w), exceptions_(std::uncaught_exceptions()) {
    try {
      open(data_segment_bytes(options), control_bytes + signal_segment_bytes(options));
      if (options.guard_blocks) guard_blocks();
    } catch (...) {
      give_up();
      throw;
    }
  }
  heap_memory(const heap_memory&) = delete;
  heap_memory& operator=(const heap_memory&) = delete;

  /// Closes. Waits for the others no longer than the limit of the bootstrap, and not at all while
  /// an exception unwinds the stack: then others may still have this memory mapped, which the
  /// runtime keeps alive for them (ranks of this process share its ownership). What the guards of
  /// blocks found, and nobody can be thrown at, goes to stderr.
  ~heap_memory() {
    try {
      if (std::uncaught_exceptions() <= exceptions_)
        close();
      else
        finish_work();  // kernels still use what is unmapped and freed next
    } catch (const error& e) {
      if (e.code() == errc::corrupted) std::fprintf(stderr, "%s\n", e.what());
    } catch (...) {  // a rank is gone; what can be released is
    }
    release();
  }

  /// Collective; a second call does nothing. Three meetings: work has ended before a mapping
  /// closes; mappings are closed before memory is freed; memory is freed, which may wait for all
  /// kernels of a device, before any rank launches kernels that wait for others.
  ///
  /// @throws errc::bootstrap_failed, errc::mismatch if a rank does not come, errc::corrupted as
  ///         throw_if_broken(). Closed here anyway.
  void close() {
    if (!is_open_) return;
    is_open_ = false;
    try {
      finish_work();
      world_.barrier("close of the heap: work has ended");
      inspect_blocks("at the close of the heap");
      unmap();
      world_.barrier("close of the heap: mappings are closed");
      release();
      world_.barrier("close of the heap: memory is freed");
    } catch (...) {
      release();
      throw;
    }
    throw_if_broken();
  }

  /// Looks for what was written outside the blocks, and keeps what it finds.
  void inspect_blocks(std::string_view when) const noexcept {
    for (block_guards* guards : {data_guards_.get(), signal_guards_.get()})
      if (guards) guards->inspect(when);
  }
  /// @throws errc::corrupted for what the guards of this rank found first, until forget_broken().
  void throw_if_broken() const {
    for (const block_guards* guards : {data_guards_.get(), signal_guards_.get()})
      if (guards) guards->throw_if_broken();
  }
  void forget_broken() noexcept {
    for (block_guards* guards : {data_guards_.get(), signal_guards_.get()})
      if (guards) guards->forget();
  }
  /// Null without guards.
  const std::shared_ptr<block_guards>& data_guards() const noexcept { return data_guards_; }
  const std::shared_ptr<block_guards>& signal_guards() const noexcept { return signal_guards_; }

  bool is_open() const noexcept { return is_open_; }
  /// Random; the same on all ranks of this heap, and of no other.
  const std::array<std::byte, 16>& id() const noexcept { return id_; }
  memory_range data() const noexcept { return {data_->base(), data_->bytes()}; }
  /// What allocate_signals() gives from, behind the control line.
  memory_range signals() const noexcept {
    return {signals_->base() + control_bytes, signals_->bytes() - control_bytes};
  }
  const peer_map& data_map() const noexcept { return data_map_; }
  const peer_map& signal_map() const noexcept { return signal_map_; }
  /// Of all ranks; device memory.
  const window* windows() const noexcept { return windows_.get(); }
  fault_record* fault() const noexcept { return fault_.data(); }
  platform::stream stream() const noexcept { return *stream_; }

  /// A windows table in device memory, as context has it. Waits until it is there. Not collective.
  ///
  /// @param data    Bases of what the table calls data.
  /// @param members Ranks of the world, in the order of the table; at least one.
  std::shared_ptr<const window> make_windows(const peer_map& data,
                                             const std::vector<int>& members) const {
    std::vector<window> table;
    for (const int r : members)
      table.push_back({data.base(r), signal_map_.base(r) + control_bytes});
    table.push_back({data.end(members[0]), signal_map_.end(members[0])});
    const platform::device_guard guard(world_.device());
    return tables_->make(table, stream());
  }

  /// Throws what kernels of this rank have left of a fault, or peers have told them.
  void throw_if_faulted() const {
    detail::throw_if_faulted(*fault(), world_.rank(), [&] {
      fault_record told;
      const platform::device_guard guard(world_.device());
      platform::copy(&told, signals_->base(), sizeof told, stream());
      platform::synchronize(stream());
      return told;
    });
  }
  /// Forgets what kernels and peers have left of a fault. Collective: all waits have ended on all
  /// ranks before any forgets, and all have forgotten before any returns, so that no rank is told
  /// of a fault of before.
  void clear_faults() {
    world_.barrier("reset of a fault: waits have ended");
    clear_fault(*fault());
    fill_on_all_ranks(signals_->base(), std::byte{0}, control_bytes, "reset of a fault");
  }

  /// Collective. Returns when all ranks have filled their copy, so that nothing which a peer stores
  /// afterwards is overwritten.
  void fill_on_all_ranks(void* to, std::byte value, std::uint64_t bytes, std::string_view step) {
    world_.collectively(step, [&] {
      const platform::device_guard guard(world_.device());
      platform::fill(to, value, bytes, stream());
      platform::synchronize(stream());
    });
  }

 private:
  void open(std::uint64_t data_bytes, std::uint64_t signal_bytes) {
    own_offer data_offer, signal_offer;  // until all have mapped them
    world_.collectively("allocation of the heap", [&] {
      const platform::device_guard guard(world_.device());
      stream_.emplace();
      fault_ = platform::device_buffer<fault_record>(1, platform::memory_kind::host);
      *fault_.data() = {};
      tables_ = std::make_shared<window_tables>();
      data_ = std::make_shared<memory_segment>(world_.device(), data_bytes,
                                               platform::memory_kind::data);
      signals_ = std::make_shared<memory_segment>(world_.device(), signal_bytes,
                                                  platform::memory_kind::signal);
      data_offer = offer(data_);
      signal_offer = offer(signals_);
    });
    const auto data_offers = exchange_offers(world_, data_offer.told(), "data segment");
    const auto signal_offers = exchange_offers(world_, signal_offer.told(), "signal segment");
    id_ = data_offers[0].proof.head;
    data_map_ = peer_map(world_, data_offers, stream(), "data segment");
    signal_map_ = peer_map(world_, signal_offers, stream(), "signal segment");
    world_.collectively("windows of the heap",
                        [&] { windows_ = make_windows(data_map_, all_ranks(world_)); });
    // the proof lay there, and all have read it
    fill_on_all_ranks(signals_->base(), std::byte{0}, control_bytes, "zeroing of a control line");
    is_open_ = true;
  }

  void guard_blocks() {
    world_.collectively("guards of the heap", [&] {
      const platform::device_guard guard(world_.device());
      const auto of = [&](const memory_range& segment, const char* name) {
        return std::make_shared<block_guards>(world_.device(), world_.rank(), segment.base, name);
      };
      data_guards_ = of(data(), "data");
      signal_guards_ = of(signals(), "signal");
    });
  }

  own_offer offer(const std::shared_ptr<memory_segment>& mine) const {
    const memory_proof proof = write_proof(mine->base(), mine->bytes(), stream());
    return {world_, mine->base(), mine->bytes(), proof, mine};
  }

  void finish_work() const {
    const platform::device_guard guard(world_.device());
    platform::synchronize_device();
  }
  void unmap() noexcept {
    data_map_ = {};
    signal_map_ = {};
  }
  void release() noexcept {
    unmap();
    for (block_guards* guards : {data_guards_.get(), signal_guards_.get()})
      if (guards) guards->end();
    data_.reset();
    signals_.reset();
    windows_.reset();
    tables_.reset();
    fault_ = {};
    stream_.reset();
  }
  /// All ranks failed alike: let all unmap before any frees.
  void give_up() noexcept {
    unmap();
    try {
      world_.barrier("failed opening of the heap");
    } catch (...) {
    }
    release();
  }

  const world& world_;
  const int exceptions_;
  bool is_open_ = false;
  std::array<std::byte, 16> id_{};
  std::optional<platform::owned_stream> stream_;
  platform::device_buffer<fault_record> fault_;
  std::shared_ptr<window_tables> tables_;  // shared with the tables that are alive
  std::shared_ptr<const window> windows_;
  std::shared_ptr<memory_segment> data_, signals_;
  std::shared_ptr<block_guards> data_guards_, signal_guards_;  // shared with blocks that are alive
  peer_map data_map_, signal_map_;
};

}  // namespace hiris::detail
