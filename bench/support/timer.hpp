// SPDX-License-Identifier: MIT
/// @file
/// Times a call that all ranks make together, with events on the device.
///
/// All calls of a series are put on the stream without a host in between, so that the ranks keep
/// pace with each other as in a program and no launch is waited for.
///
///     timer t(world, stream, flush_bytes);
///     summary warm = t.time(50, false, [&] { op.run(stream, a, b, c); });
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"
#include "support/statistics.hpp"

namespace hiris::bench {

/// One rank's end of the measurement.
class timer {
 public:
  /// @param flush_bytes Memory that is overwritten before each cold call: more than the caches
  ///                    hold.
  timer(const world& w, platform::stream on, std::size_t flush_bytes)
      : world_(w), stream_(on), flush_(flush_bytes) {}

  /// Makes `calls` calls on every rank. The time of a call is that of the slowest rank. Collective.
  template <class Call>
  summary time(int calls, bool cold, Call&& call) {
    std::vector<platform::owned_event> begin(static_cast<std::size_t>(calls));
    std::vector<platform::owned_event> end(static_cast<std::size_t>(calls));
    world_.barrier("start of a series");
    for (std::size_t i = 0; i < begin.size(); ++i) {
      if (cold) platform::fill(flush_.data(), std::byte{1}, flush_.size_bytes(), stream_);
      begin[i].record(stream_);
      call();
      end[i].record(stream_);
    }
    platform::synchronize(stream_);

    std::vector<double> mine(begin.size());
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = 1e3 * static_cast<double>(platform::elapsed_ms(begin[i], end[i]));
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world_.size()));
    world_.channel().all_gather(mine.data(), all.data(), mine.size() * sizeof(double),
                                "exchange of times");
    std::vector<double> slowest(mine);
    for (std::size_t i = 0; i < all.size(); ++i)
      slowest[i % mine.size()] = std::max(slowest[i % mine.size()], all[i]);
    return summarize(slowest);
  }

 private:
  const world& world_;
  platform::stream stream_;
  platform::device_buffer<std::byte> flush_;
};

}  // namespace hiris::bench
