// SPDX-License-Identifier: MIT
/// @file
/// The operands as functions of their place, so that host and device make the same ones and nothing
/// is sent: queries, keys and values are numbers from [-1, 1).
#pragma once

#include <cstdint>

#include "hiris/platform/device.hpp"
#include "hiris/platform/float16.hpp"

namespace flash_decode_example {

/// Element `index` of operand `which` of rank `rank`.
HIRIS_HOST_DEVICE hiris::float16 value_of(std::uint64_t which, std::uint64_t rank,
                                          std::uint64_t index) {
  std::uint64_t x = (which << 60) + (rank << 50) + index * 0xd1342543de82ef95u;
  x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
  return hiris::from_float<hiris::float16>(static_cast<float>(x >> 40) * 0x1p-23f - 1.0f);
}

/// Writes an operand in the order [rows, head_dim], each row at the place that `row_of` names.
struct fill_kernel {
  static constexpr int block_threads = 256;
  struct params {
    hiris::float16* to;
    const std::int64_t* row_of;  ///< Row of `to` for each row; null: the same.
    std::int64_t rows, head_dim;
    std::uint64_t which, rank;
  };
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    namespace pf = hiris::platform;
    const std::int64_t step = std::int64_t{pf::block_count()} * block_threads;
    for (std::int64_t i = std::int64_t{pf::block_rank()} * block_threads + pf::thread_rank();
         i < p.rows * p.head_dim; i += step) {
      const std::int64_t row = i / p.head_dim;
      const std::int64_t to = p.row_of == nullptr ? row : p.row_of[row];
      p.to[to * p.head_dim + i % p.head_dim] =
          value_of(p.which, p.rank, static_cast<std::uint64_t>(i));
    }
  }
};

}  // namespace flash_decode_example
