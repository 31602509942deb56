// SPDX-License-Identifier: MIT
/// @file
/// Memory at equal offsets on all ranks, which kernels of any rank can load, store and signal in.
///
///     hiris::symmetric_heap heap(world, {.data_bytes = 1 << 30, .signals = 4096});  // collective
///     auto inbox = heap.allocate<float>(n);      // collective; the same offset on every rank
///     auto ready = heap.allocate_signals(world.size());
///     platform::launch<my_kernel>(stream, blocks,
///                                 {heap.device_context(), inbox.data(), ready.data()});
///     heap.synchronize(stream);                  // throws errc::timed_out if a wait ran out
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap/array.hpp"
#include "hiris/heap/detail/allocation_request.hpp"
#include "hiris/heap/detail/block_ledger.hpp"
#include "hiris/heap/detail/fault.hpp"
#include "hiris/heap/detail/heap_memory.hpp"
#include "hiris/heap/detail/team_windows.hpp"
#include "hiris/heap/options.hpp"
#include "hiris/heap/region.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris {

/// Alignment of a block where the caller asks for none: whole cache lines of every device.
inline constexpr std::uint64_t default_alignment = 256;

/// The symmetric memory of one rank of a world, of which it keeps a copy. One host thread a rank,
/// but for abort().
class symmetric_heap {
 public:
  /// Collective. Allocates both segments, maps those of all peers and proves every mapping.
  ///
  /// @throws errc::invalid_argument, errc::mismatch, errc::out_of_memory, errc::mapping_failed: on
  ///         every rank, with the text of the first rank that failed; nothing is left behind.
  explicit symmetric_heap(const world& w, const heap_options& options = {})
      : world_(w),
        options_(detail::checked(w, options)),
        memory_(world_, options_),
        data_ledger_(std::make_shared<detail::block_ledger>(detail::data_segment_bytes(options_),
                                                            w.size(), memory_.data_guards())),
        signal_ledger_(std::make_shared<detail::block_ledger>(
            detail::signal_segment_bytes(options_), w.size(), memory_.signal_guards())) {}
  symmetric_heap(const symmetric_heap&) = delete;
  symmetric_heap& operator=(const symmetric_heap&) = delete;

  /// Closes the heap if that has not been done. Never throws. Waits for this rank's device, and for
  /// the other ranks no longer than the limit of the bootstrap, but while an exception unwinds the
  /// stack not at all: then kernels that run end as they would, each wait within its budget.
  ~symmetric_heap() = default;

  /// Ends the heap. Collective. All mappings are closed on all ranks before any memory is freed.
  /// Waits for this rank's device.
  ///
  /// @throws errc::bootstrap_failed if a rank does not come, errc::corrupted as check_blocks(). The
  ///         heap is closed on this rank anyway.
  void close() { memory_.close(); }

  /// Allocates `n_elems` elements on every rank, at the same offset. Collective. The contents are
  /// undefined unless heap_options::fill_new is set.
  ///
  /// Cost     one all-gather on the host, a second if any rank has freed something.
  ///
  /// @param n_elems   At least 1; the same on all ranks, like T.
  /// @param alignment In bytes: a power of two up to 2 MiB. That of T is kept in any case.
  /// @throws errc::invalid_argument, errc::mismatch, errc::out_of_memory: the same on every rank;
  ///         the heap is as before.
  template <class T>
  symmetric_array<T> allocate(std::int64_t n_elems, std::uint64_t alignment = default_alignment) {
    require_open();
    const auto request = detail::describe_request<T>("data", n_elems, alignment);
    symmetric_array<T> block(data_ledger_, memory_.data().base,
                             detail::allocate_collectively(world_, *data_ledger_, request),
                             n_elems);
    name(block, *data_ledger_, request);
    if (options_.fill_new)
      memory_.fill_on_all_ranks(block.data(), *options_.fill_new, request.bytes(),
                                "fill of new data");
    return block;
  }

  /// Allocates `n` signals on every rank, at the same offset, all zero. Collective.
  ///
  /// A block is given out again only when every rank has freed it, and a rank frees only when what
  /// it launched on the block has completed: so the last remote arrival has landed before the
  /// zeroing here, and no rank returns before all have zeroed.
  ///
  /// Cost     as allocate(), one fill of device memory, one more all-gather.
  ///
  /// @param n At least 1; the same on all ranks.
  /// @throws As allocate().
  symmetric_array<signal_counter> allocate_signals(std::int64_t n) {
    require_open();
    const auto request =
        detail::describe_request<signal_counter>("signals", n, alignof(signal_counter));
    symmetric_array<signal_counter> block(
        signal_ledger_, memory_.signals().base,
        detail::allocate_collectively(world_, *signal_ledger_, request), n);
    name(block, *signal_ledger_, request);
    memory_.fill_on_all_ranks(block.data(), std::byte{0}, request.bytes(), "zeroing of signals");
    return block;
  }

  /// What kernels of this rank need to reach the heap of every rank. Pass it by value.
  context device_context() const {
    require_open();
    return context_of(world_, memory_.windows());
  }
  /// The same for memory that was registered: its windows are those of the region, and the signals
  /// are the heap's.
  template <class T>
  context device_context(const symmetric_region<T>& region) const {
    return context_of(world_, mapping_of(region).windows.get());
  }
  /// The same for a sub-team, whose ranks the kernel then counts. Collective over the team. Its
  /// fault record is that of the heap, with ranks of the team; its faults are told to the team. A
  /// rank of which a wait has failed ships nothing in any op of the heap.
  ///
  /// Cost     one all-gather of the team on the host, two and a copy the first time.
  ///
  /// @throws errc::mismatch on every rank of the team if its ranks do not share one heap.
  context device_context(const world& team) const {
    require_open();
    return context_of(team, team_table(team, teams_, memory_.data_map()));
  }
  template <class T>
  context device_context(const symmetric_region<T>& region, const world& team) const {
    detail::region_mapping& mapping = mapping_of(region);
    return context_of(team, team_table(team, mapping.teams, mapping.peers));
  }

  /// Makes memory that the user has on every rank symmetric, each rank at its own base. Collective.
  /// Nothing may use the memory during the call, which writes to its ends and restores them.
  ///
  /// @param pointer Device memory of this rank's device; stays the user's.
  /// @param n_elems At least 1; the same on all ranks, like T.
  /// @throws errc::invalid_argument, errc::mismatch, errc::mapping_failed: the same on every rank.
  template <class T>
  symmetric_region<T> attach(T* pointer, std::int64_t n_elems) {
    require_open();
    const auto request = detail::describe_request<T>("registered", n_elems, alignof(T));
    detail::agree_on_request(world_, request, "registration of memory");
    auto mapping =
        detail::map_region(world_, memory_, reinterpret_cast<char*>(pointer), request.bytes());
    mapping->name = detail::name_of_block(request, world_.rank(), pointer, 0);
    return {pointer, n_elems, std::move(mapping)};
  }

  /// Ends a registration. Collective: when it returns, no rank has any of the memory mapped.
  ///
  /// @throws errc::bootstrap_failed if a rank does not come; the mappings are closed here anyway.
  template <class T>
  void detach(symmetric_region<T> region) {
    region = {};
    world_.barrier("end of a registration");
  }

  /// Offset of a pointer into a block that this rank has allocated and not freed.
  ///
  /// @param bytes From `pointer` on, all in that block; at least 1.
  /// @throws errc::not_symmetric for anything else, naming it and the segment.
  std::uint64_t offset_of(const void* pointer, std::uint64_t bytes = 1) const {
    require_open();
    return offset_in(pointer, bytes, memory_.data(), *data_ledger_, "data");
  }
  /// As above, from the begin of the signal segment.
  ///
  /// @param n Signals from `pointer` on, at least 1.
  std::uint64_t offset_of(const signal_counter* pointer, std::uint64_t n = 1) const {
    require_open();
    return offset_in(pointer, n * sizeof(signal_counter), memory_.signals(), *signal_ledger_,
                     "signal");
  }
  /// Whether offset_of() would return.
  bool contains(const void* pointer) const {
    return memory_.is_open() && holds(pointer, 1, memory_.data(), *data_ledger_);
  }
  bool contains(const signal_counter* pointer) const {
    return memory_.is_open() && holds(pointer, 1, memory_.signals(), *signal_ledger_);
  }

  /// Throws if a wait of a kernel of this rank has failed since the last reset_fault(): it ran out,
  /// or one of a peer did, which told this rank. All of these ranks name the same wait, the one
  /// that ran out first; of several that run out within microseconds, each rank names one. The
  /// ranks in the text are those of the context of that wait. A rank none of whose kernels waits
  /// throws nothing; the next wait of it that is not over at once ends with the cause.
  ///
  /// @throws errc::timed_out with rank, peer, signal, expected, seen and elapsed time of the wait
  ///         that ran out first; errc::aborted after abort(), here or on a peer; in a debug build
  ///         errc::not_symmetric and errc::invalid_argument for a call on the device that was
  ///         refused; errc::corrupted if a guard of a block was found broken when it was freed or
  ///         its memory given out again.
  void check() const {
    require_open();
    memory_.throw_if_faulted();
    memory_.throw_if_broken();
  }
  /// Looks at the guards of all blocks of this rank and at the memory that all ranks have freed,
  /// then checks. Kernels may run. Without heap_options::guard_blocks it is check().
  ///
  /// Cost     two small copies a block, and one of all freed memory that is not in use again.
  ///
  /// @throws errc::corrupted with the block, the first byte and what it was found to be, until
  ///         reset_fault(); and as check().
  void check_blocks() const {
    require_open();
    memory_.inspect_blocks("when asked");
    check();
  }
  /// Waits for the stream, then checks.
  void synchronize(platform::stream stream) const {
    platform::synchronize(stream);
    check();
  }
  /// Ends all waits of this rank's kernels, those that run and those to come, with a time-out: for
  /// when the host knows that a peer is lost. Returns at once; check() and synchronize() throw
  /// errc::aborted from then on, unless a wait had failed before. The first of the waits that ends
  /// tells the peers, whose waits end, too; while no kernel of this rank waits, nobody is told.
  ///
  /// Caller   host, any thread.
  /// Cost     none for kernels; a wait looks every few hundred polls. One that runs out before
  ///          it looks is recorded as that.
  void abort() {
    require_open();
    detail::record_abort(*memory_.fault());
  }
  /// Forgets faults, aborts and what guards have found, on all ranks. Collective, since a fault is
  /// told to all of them. Ops that were built before refuse to be called, since their ranks may no
  /// longer count the same calls: build new ones, and replay no graph that was captured from them.
  ///
  /// Cost     two barriers on the host, one fill of a line of device memory.
  ///
  /// @pre No kernel of this rank that waits is running or enqueued.
  /// @throws errc::bootstrap_failed if a rank does not come.
  void reset_fault() {
    require_open();
    ++fault_resets_;
    memory_.clear_faults();
    memory_.forget_broken();
  }
  /// How often that was done: ops that were built before refuse to be called.
  std::uint64_t fault_resets() const noexcept { return fault_resets_; }

  /// How much room there is, and how much of what this rank freed waits for other ranks.
  heap_use data_use() const { return data_ledger_->use(); }
  heap_use signal_use() const { return signal_ledger_->use(); }
  /// The world that the heap was made for.
  const world& ranks() const noexcept { return world_; }
  /// What it was made of.
  const heap_options& options() const noexcept { return options_; }

 private:
  context context_of(const world& team, const window* windows) const {
    return {team.rank(), team.size(), windows, memory_.fault(),
            static_cast<std::uint64_t>(options_.wait_budget.count())};
  }
  template <class T>
  detail::region_mapping& mapping_of(const symmetric_region<T>& region) const {
    require_open();
    if (region && region.mapping_->heap_id == memory_.id()) return *region.mapping_;
    throw error(errc::not_symmetric, world_.rank(),
                std::string("the region is ") + (region ? "of another heap" : "empty") +
                    "; allowed are regions that attach() of this heap returned");
  }
  const window* team_table(const world& team, detail::team_windows& tables,
                           const detail::peer_map& map) const {
    const std::vector<int> members =
        detail::members_of(team, memory_.id(), world_.rank(), world_.size());
    return team.collectively("windows of a team", [&] {
      return tables.of(members, [&] { return memory_.make_windows(map, members); });
    });
  }

  template <class T>
  void name(const symmetric_array<T>& block, detail::block_ledger& ledger,
            const detail::allocation_request& as) const {
    ledger.give_name(block.offset(),
                     detail::name_of_block(as, world_.rank(), block.data(), block.offset()));
  }

  static bool holds(const void* pointer, std::uint64_t bytes, const detail::memory_range& in,
                    const detail::block_ledger& ledger) {
    const auto base = reinterpret_cast<std::uintptr_t>(in.base);
    const auto at = reinterpret_cast<std::uintptr_t>(pointer);
    return at >= base && bytes > 0 && ledger.holds(at - base, bytes);
  }
  std::uint64_t offset_in(const void* pointer, std::uint64_t bytes, const detail::memory_range& in,
                          const detail::block_ledger& ledger, const char* kind) const {
    if (holds(pointer, bytes, in, ledger))
      return static_cast<std::uint64_t>(static_cast<const char*>(pointer) - in.base);
    throw error(errc::not_symmetric, world_.rank(),
                std::to_string(bytes) + " bytes at pointer " + detail::address_text(pointer) +
                    " are in no allocated block of the " + kind +
                    " segment; allowed are blocks in [" + detail::address_text(in.base) + ", " +
                    detail::address_text(in.base + in.bytes) + ")");
  }

  void require_open() const {
    if (!memory_.is_open())
      throw error(errc::invalid_argument, world_.rank(),
                  "the symmetric heap has been closed; allowed are only open heaps");
  }

  const world world_;
  const heap_options options_;
  detail::heap_memory memory_;
  std::shared_ptr<detail::block_ledger> data_ledger_, signal_ledger_;
  mutable detail::team_windows teams_;
  std::uint64_t fault_resets_ = 0;
};

}  // namespace hiris
