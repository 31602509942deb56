// SPDX-License-Identifier: MIT
/// @file
/// The k steps of one output tile: through the shards of all sources, the rank's own first. Sources
/// without columns are passed over.
///
///     for (k_walk walk(shards, world, rank, 64); !walk.done(); walk.advance())
///       use(walk.source(), walk.k(), walk.left());
#pragma once

#include <cstdint>

#include "hiris/comm/shard.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/device.hpp"
#include "hiris/tile/schedule.hpp"

namespace hiris::comm {

/// Walks in steps of `depth` that never cross from one shard into the next.
class k_walk {
 public:
  HIRIS_DEVICE k_walk(const shard* shards, int world, int rank, int depth)
      : shards_(shards), world_(world), rank_(rank), depth_(depth), turn_(-1), k_(0), count_(0) {
    next_source();
  }

  HIRIS_DEVICE bool done() const { return turn_ == world_; }
  HIRIS_DEVICE void advance() {
    k_ += depth_;
    if (k_ >= count_) next_source();
  }

  HIRIS_DEVICE int source() const { return source_; }
  /// First column of the step within its shard.
  HIRIS_DEVICE int k() const { return k_; }
  /// Columns of the shard from k on, at least 1.
  HIRIS_DEVICE int left() const { return count_ - k_; }
  /// First column of the step in the whole matrix.
  HIRIS_DEVICE std::int64_t k_of_all() const { return begin_ + k_; }

 private:
  HIRIS_DEVICE void next_source() {
    k_ = 0;
    count_ = 0;
    while (count_ == 0 && ++turn_ < world_) {
      source_ = tile::source_at(turn_, rank_, world_);
      count_ = platform::wave_uniform(shards_[source_].k_count);
    }
    if (turn_ < world_) begin_ = platform::wave_uniform(shards_[source_].k_begin);
  }

  const shard* shards_;
  int world_, rank_, depth_;
  int turn_;
  int source_ = 0;
  int k_;
  int count_;
  std::int64_t begin_ = 0;
};

}  // namespace hiris::comm
