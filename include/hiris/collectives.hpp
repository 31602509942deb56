// SPDX-License-Identifier: MIT
/// @file
/// The vendor's library of collectives, NCCL or RCCL, over the ranks of a world: the all-gather
/// that fused ops are measured against. The one header that needs the library.
///
///     hiris::collectives library(world);                                    // collective
///     hiris::flash_decode<float16> op(heap, problem, flash_decode_variant::bulk_synchronous,
///                                     {.all_gather = library.all_gather_call()});
///
/// Link `hiris::collectives`, which CMake defines where it finds the library.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hiris/bootstrap/time_limit.hpp"
#include "hiris/error.hpp"
#include "hiris/platform/collectives.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace hiris {

/// A rank's end of the library. The world must outlive it, and it every op and captured graph that
/// use it: the library waits for graphs to be destroyed. One host thread at a time.
class collectives {
 public:
  /// Meets the other ranks, and gathers once, so that the library has loaded its kernels and
  /// connected the devices before anything waits on one. Collective.
  ///
  /// @param time_limit Longest that the first gathering takes.
  /// @throws errc::unsupported on every rank: two ranks share a device, which the library refuses.
  /// @throws errc::runtime_failed on every rank: what the library said.
  /// @throws errc::timed_out on every rank: the first gathering did not end.
  explicit collectives(const world& w,
                       std::chrono::milliseconds time_limit = time_limit_from_environment())
      : world_(w) {
    constexpr const char* step = "set-up of the library of collectives";
    require_own_devices();  // the same on all ranks
    const platform::communicator_id id = w.collectively(step, [&] {
      return w.rank() == 0 ? platform::communicator::make_id() : platform::communicator_id{};
    });
    std::vector<platform::communicator_id> ids(static_cast<std::size_t>(w.size()));
    w.channel().all_gather(id.data(), ids.data(), sizeof id, "id of the library's communicator");
    w.collectively(step, [&] {
      const platform::device_guard guard(w.device());
      communicator_ = std::make_unique<platform::communicator>(ids.front(), w.rank(), w.size());
    });
    w.collectively(step, [&] { gather_once(time_limit); });
  }
  /// In order if every rank leaves so; a rank that unwinds an exception waits for nobody.
  ~collectives() {
    const platform::device_guard guard(world_.device());
    if (std::uncaught_exceptions() <= unwinding_) {
      try {
        communicator_->finish();
      } catch (const error&) {
        // The library has freed what it could, and there is nobody to tell.
      }
    }
    communicator_.reset();
  }
  collectives(const collectives&) = delete;
  collectives& operator=(const collectives&) = delete;

  /// Gathers `n_bytes` bytes at `mine` of every rank, in rank order, to `all`, on a stream.
  ///
  /// Caller   host; may be captured. Every rank as often as the others.
  /// Order    that of the stream: what is put on it later sees the bytes of all ranks.
  ///
  /// @param mine [n_bytes], device memory.
  /// @param all  [world, n_bytes], device memory.
  /// @throws errc::runtime_failed
  void all_gather(platform::stream on, const void* mine, void* all, std::size_t n_bytes) {
    const platform::device_guard guard(world_.device());
    communicator_->all_gather(on, mine, all, n_bytes);
  }
  /// all_gather() as an op takes it.
  std::function<void(platform::stream, const void*, void*, std::size_t)> all_gather_call() {
    return [this](platform::stream on, const void* mine, void* all, std::size_t n_bytes) {
      all_gather(on, mine, all, n_bytes);
    };
  }

 private:
  void require_own_devices() const {
    for (int r = 0; r < world_.size(); ++r)
      for (int q = 0; q < r; ++q)
        if (world_.peer(q).same_device(world_.peer(r)))
          throw error(errc::unsupported, r,
                      "ranks " + std::to_string(q) + " and " + std::to_string(r) +
                          " share device " + std::to_string(world_.peer(r).device) +
                          "; the library of collectives allows one rank a device");
  }

  void gather_once(std::chrono::milliseconds time_limit) {
    const platform::device_guard guard(world_.device());
    const platform::owned_stream stream;
    platform::device_buffer<int> mine(1), all(static_cast<std::size_t>(world_.size()));
    mine.copy_from(std::vector<int>{world_.rank() + 1});
    communicator_->all_gather(stream, mine.data(), all.data(), sizeof(int));
    const auto deadline = std::chrono::steady_clock::now() + time_limit;
    while (!platform::is_idle(stream)) {
      if (std::chrono::steady_clock::now() > deadline) {
        communicator_.reset();  // ends its kernel, which freeing memory would wait for
        throw error(errc::timed_out, world_.rank(),
                    "the first all-gather of the library has not ended after " +
                        std::to_string(time_limit.count()) + " ms");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    const std::vector<int> got = all.to_host();
    for (int r = 0; r < world_.size(); ++r)
      if (got[static_cast<std::size_t>(r)] != r + 1)
        throw error(errc::runtime_failed, world_.rank(),
                    "the library's all-gather brought " +
                        std::to_string(got[static_cast<std::size_t>(r)]) + " of rank " +
                        std::to_string(r) + "; allowed is " + std::to_string(r + 1));
  }

  const world& world_;
  int unwinding_ = std::uncaught_exceptions();
  std::unique_ptr<platform::communicator> communicator_;
};

}  // namespace hiris
