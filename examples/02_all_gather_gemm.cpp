// SPDX-License-Identifier: MIT
/// @file
/// A tensor-parallel linear layer: each rank holds some columns of A, all compute C = A B.
///
/// The op is planned once and then called any number of times, also from a captured graph: here
/// three calls with a changing A, replayed without a word between the hosts.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hiris/bootstrap/threads.hpp"
#include "hiris/heap.hpp"
#include "hiris/ops/all_gather_gemm.hpp"
#include "hiris/platform/float16.hpp"
#include "hiris/platform/runtime.hpp"
#include "hiris/world.hpp"

namespace {

using hiris::float16;

constexpr std::int64_t m = 5;
constexpr std::int64_t n = 40;
const std::vector<std::int64_t> k_shards = {30, 1, 25};  // columns of A on each rank

/// A[i, x] in round `round`, and B[x, j]: small integers, so that the sums are exact.
float a_at(std::int64_t i, std::int64_t x, int round) {
  return static_cast<float>((i + 2 * x + round) % 5 - 2);
}
float b_at(std::int64_t x, std::int64_t j) { return static_cast<float>((3 * x + j) % 3 - 1); }

void check(const std::vector<float>& c, int round) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t x = 0; x < 30 + 1 + 25; ++x) sum += a_at(i, x, round) * b_at(x, j);
      if (c[static_cast<std::size_t>(i * n + j)] != sum) throw std::runtime_error("C is wrong");
    }
}

void run_rank(std::shared_ptr<hiris::bootstrap> boot) {
  hiris::world world(std::move(boot));
  const hiris::platform::device_guard on(world.device());
  hiris::symmetric_heap heap(world, {.data_bytes = 4 << 20});
  hiris::platform::owned_stream stream;  // before the op, which meets the peers when it is made
  hiris::all_gather_gemm<float16, hiris::matrix_layout::row_major, float> op(heap, {m, n, k_shards},
                                                                             hiris::strategy::push);

  std::int64_t k = 0, k_begin = 0;
  for (std::size_t r = 0; r < k_shards.size(); ++r) {
    if (r < static_cast<std::size_t>(world.rank())) k_begin += k_shards[r];
    k += k_shards[r];
  }
  const std::int64_t own_k = k_shards[static_cast<std::size_t>(world.rank())];
  hiris::platform::device_buffer<float16> a(static_cast<std::size_t>(m * own_k));
  hiris::platform::device_buffer<float16> b(static_cast<std::size_t>(k * n));
  hiris::platform::device_buffer<float> c(static_cast<std::size_t>(m * n));

  std::vector<float16> values;
  for (std::int64_t x = 0; x < k; ++x)
    for (std::int64_t j = 0; j < n; ++j) values.push_back(hiris::from_float<float16>(b_at(x, j)));
  b.copy_from(values);

  auto step = hiris::platform::graph::capture(
      stream, [&] { op.run(stream, a.data(), b.data(), c.data()); });
  for (int round = 0; round < 3; ++round) {
    values.clear();
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t x = 0; x < own_k; ++x)
        values.push_back(hiris::from_float<float16>(a_at(i, k_begin + x, round)));
    a.copy_from(values);
    step.launch(stream);
    op.synchronize(stream);
    check(c.to_host(), round);
  }
  if (world.rank() == 0)
    std::printf("%s: three rounds are exact; a call costs %lld remote bytes and %lld signals\n",
                hiris::to_string(op.chosen()),
                static_cast<long long>(op.expected_taxes().remote_bytes),
                static_cast<long long>(op.expected_taxes().signals));
  world.barrier("end");  // a peer may still be writing to this rank's memory
}

}  // namespace

int main() try {
  hiris::run_ranks(static_cast<int>(k_shards.size()), run_rank);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
