// SPDX-License-Identifier: MIT
/// @file
/// Kernels that make, ship and read records by a policy and do nothing else, and what a rank needs
/// to run them.
///
///     partials_rank mine(heap, groups, groups_a_signal);
///     mine.make<comm::partials_awaited>(stream);  mine.ship<...>(stream);  mine.read<...>(stream);
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hiris/barrier.hpp"
#include "hiris/comm/partials_policies.hpp"
#include "hiris/heap.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::test {

inline constexpr int record_floats = 8;

HIRIS_DEVICE float coded(std::uint64_t epoch, int rank, int group, int i) {
  return static_cast<float>(epoch % 64) * 4096 + static_cast<float>(rank * 512 + group * 8 + i);
}

/// Makes this rank's records, and ships them if the policy does that within.
template <class Comm>
struct make_kernel {
  static constexpr int block_threads = 64;
  using params = comm::partial_exchange;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p);
    for (int g = platform::block_rank(); g < p.groups; g += platform::block_count()) {
      for (int i = platform::thread_rank(); i < record_floats; i += block_threads)
        platform::store_global(comm.own(g) + i, coded(comm.epoch(), p.ctx.rank, g, i));
      platform::block_sync();
      if (comm.publish(g) != wait_status::ok) return;
    }
  }
};

template <class Comm>
struct ship_kernel {
  static constexpr int block_threads = 64;
  using params = comm::partial_exchange;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p);
    for (int item = platform::block_rank(); item < comm.items(); item += platform::block_count())
      if (comm.ship(item) != wait_status::ok) return;
    const wait_status end = comm.settle();
    static_cast<void>(end);
  }
};

template <class Comm>
struct read_kernel {
  static constexpr int block_threads = 64;
  struct params {
    comm::partial_exchange x;
    int* wrong;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    Comm comm(p.x);
    for (int g = platform::block_rank(); g < p.x.groups; g += platform::block_count())
      for (int source = 0; source < p.x.ctx.size; ++source) {
        if (comm.ready(source, g) != wait_status::ok) return;
        for (int i = platform::thread_rank(); i < record_floats; i += block_threads)
          if (platform::load_global(comm.record(source, g) + i) !=
              coded(comm.epoch(), source, g, i))
            platform::atomic_fetch_add<order::relaxed, scope::agent>(p.wrong, 1);
      }
    comm.finish(platform::block_count());
  }
};

/// A rank's records, inbox, signals and epoch.
class partials_rank {
 public:
  partials_rank(symmetric_heap& heap, int groups, int groups_a_signal)
      : ranks_(heap.ranks().size()),
        signals_((groups + groups_a_signal - 1) / groups_a_signal),
        inbox_(heap.allocate<float>(std::int64_t{2} * ranks_ * groups * record_floats)),
        counts_(heap.allocate_signals(std::int64_t{ranks_} * (signals_ + 1))),
        own_(static_cast<std::size_t>(groups * record_floats)),
        words_(3),
        wrong_(1),
        x_{heap.device_context(),
           own_.data(),
           inbox_.data(),
           counts_.data(),
           {words_.data(), words_.data() + 1, 0},
           groups,
           record_floats,
           groups_a_signal,
           signals_} {
    words_.fill_with(std::byte{0});
    wrong_.fill_with(std::byte{0});
  }

  /// The kernels of a call, in this order; `Comm` is the policy.
  template <class Comm>
  void make(platform::stream stream) const {
    using maker = std::conditional_t<Comm::ships_within, Comm, comm::partials_kept>;
    platform::launch<make_kernel<maker>>(stream, 2, x_);
  }
  template <class Comm>
  void ship(platform::stream stream) const {
    if (!Comm::ships_within && ranks_ > 1) platform::launch<ship_kernel<Comm>>(stream, 2, x_);
    if (std::is_same_v<Comm, comm::partials_bulk> && ranks_ > 1)
      platform::launch<guarded_barrier_kernel>(
          stream, 1, {x_.ctx, counts_.data() + ranks_ * signals_, words_.data() + 2});
  }
  template <class Comm>
  void read(platform::stream stream) const {
    platform::launch<read_kernel<Comm>>(stream, 2, {x_, wrong_.data()});
  }

  const comm::partial_exchange& exchange() const { return x_; }
  /// Counts, on the device, what was not as it should be.
  int* wrong_at() const { return wrong_.data(); }
  /// Elements that were not what their rank had made for the call.
  int wrong() const { return wrong_.to_host()[0]; }

 private:
  int ranks_, signals_;
  symmetric_array<float> inbox_;
  symmetric_array<signal_counter> counts_;
  platform::device_buffer<float> own_;
  platform::device_buffer<std::uint64_t> words_;
  platform::device_buffer<int> wrong_;
  comm::partial_exchange x_;
};

}  // namespace hiris::test
