// SPDX-License-Identifier: MIT
// Reductions and scans over a workgroup, of every type, on sizes that are not whole waves.
#include "hiris/platform/block.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "platform/conformance.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;
using test::array_params;

/// Four results a thread: sum, least, greatest, sum before; twice, with the same scratch.
template <class T, int Threads>
struct fold_kernel {
  static constexpr int block_threads = Threads;
  using params = array_params<T>;
  struct shared {
    pf::block_scratch<T, Threads> scratch;
  };
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    const int t = pf::thread_rank();
    T result[4] = {};
    for (int round = 0; round < 2; ++round) {
      const T value = p.in[round * Threads + t];
      result[0] = result[0] + pf::block_reduce_add(value, s.scratch);
      result[1] = result[1] + pf::block_reduce_min(value, s.scratch);
      result[2] = result[2] + pf::block_reduce_max(value, s.scratch);
      result[3] = result[3] + pf::block_scan_add(value, s.scratch);
    }
    for (int i = 0; i < 4; ++i) p.out[4 * t + i] = result[i];
  }
};

template <class T>
class Block : public test::conformance {
 protected:
  template <int Threads>
  static void expect_folds() {
    constexpr auto n = static_cast<std::size_t>(Threads);
    std::vector<T> in(2 * n);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int value = static_cast<int>(i * 37 % 101) - (std::is_unsigned_v<T> ? 0 : 50);
      in[i] = static_cast<T>(value);
    }
    std::vector<T> expected(4 * n, T(0));
    for (std::size_t round = 0; round < 2; ++round) {
      T sum = 0, least = in[round * n], greatest = least;
      for (std::size_t t = 0; t < n; ++t) {
        const T value = in[round * n + t];
        expected[4 * t + 3] = expected[4 * t + 3] + sum;
        sum = sum + value;
        least = value < least ? value : least;
        greatest = greatest < value ? value : greatest;
      }
      for (std::size_t t = 0; t < n; ++t) {
        expected[4 * t] = expected[4 * t] + sum;
        expected[4 * t + 1] = expected[4 * t + 1] + least;
        expected[4 * t + 2] = expected[4 * t + 2] + greatest;
      }
    }
    EXPECT_EQ((test::conformance::run<fold_kernel<T, Threads>, T>(1, 4 * Threads, in)), expected);
  }
};

using folded =
    ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Block, folded);

TYPED_TEST(Block, OneThread) { this->template expect_folds<1>(); }
TYPED_TEST(Block, OneWaveAndABit) { this->template expect_folds<65>(); }
TYPED_TEST(Block, WholeWaves) { this->template expect_folds<256>(); }
TYPED_TEST(Block, Largest) { this->template expect_folds<1024>(); }

}  // namespace
