// SPDX-License-Identifier: MIT
// Atomics on a peer's memory: every operation, type, order and scope, with all threads of 8 ranks
// contending, and results that are exact whatever the interleaving.
#include "hiris/atomic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "support/plain_team.hpp"

namespace {

using namespace hiris;
using test::plain_team;

constexpr int threads = 96;  // a wave and a half

/// Words of rank `owner` that the kernel works on, and what they start from.
enum word {
  added,
  subtracted,
  counted,
  smallest,
  largest,
  anded,
  ored,
  xored,
  exchanged,
  swapped,
  n_words
};

/// Arithmetic and exchange on words [0, n_words) of the owner; returned tickets and exchanged
/// values go to element n_words + thread of the caller's own data.
template <class T, order O, scope S>
struct number_kernel {
  static constexpr int block_threads = threads;
  struct params {
    const context* contexts;
    T* base;   // of rank 0
    bool own;  // each rank works on its own words: all that workgroup scope promises
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    T* const words = p.contexts[0].on(ctx.rank, p.base);
    const int owner = p.own ? ctx.rank : ctx.size - 1;
    const int id = p.own ? platform::thread_rank() : ctx.rank * threads + platform::thread_rank();
    const T value = static_cast<T>(id);
    const bool odd = id % 2 != 0;
    T* const results = words + n_words;
    atomic_add<O, S>(ctx, words + added, value, owner);
    atomic_add<O, S>(ctx, words + added, value, owner, odd);
    atomic_sub<O, S>(ctx, words + subtracted, value, owner);
    atomic_sub<O, S>(ctx, words + subtracted, value, owner, odd);
    // tickets: all different, and masked-off calls take none
    results[platform::thread_rank()] = atomic_add<O, S>(ctx, words + counted, T{1}, owner);
    const T masked = atomic_add<O, S>(ctx, words + counted, T{1}, owner, false);
    atomic_min<O, S>(ctx, words + smallest, value, owner);
    atomic_min<O, S>(ctx, words + smallest, static_cast<T>(-7), owner, false);
    atomic_max<O, S>(ctx, words + largest, value, owner);
    atomic_max<O, S>(ctx, words + largest, static_cast<T>(9999), owner, false);
    // each value is handed on exactly once: the sum of what is returned and what is left is known
    results[threads + platform::thread_rank()] =
        atomic_xchg<O, S>(ctx, words + exchanged, value, owner) + masked;
    atomic_xchg<O, S>(ctx, words + exchanged, T{0}, owner, false);
    // an increment by compare and swap
    T seen = atomic_cas<O, S>(ctx, words + swapped, T{0}, T{1}, owner);
    while (seen != T{0}) {
      const T before =
          atomic_cas<O, S>(ctx, words + swapped, seen, static_cast<T>(seen + T{1}), owner);
      if (before == seen) break;
      seen = before;
      platform::pause();
    }
  }
};

template <class T, order O, scope S>
void check_numbers() {
  for (const int size : {1, 3, 8}) {
    const bool own = S == scope::workgroup;
    plain_team team(size, (n_words + 2 * threads) * sizeof(T), 1);
    for (int r = 0; r < size; ++r)
      team.write<T>(r, smallest, {std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()});
    team.launch<number_kernel<T, O, S>>({team.contexts(), team.data<T>(0), own});
    for (int owner = own ? 0 : size - 1; owner < size; ++owner) {
      const int n = own ? threads : size * threads;
      const auto words = team.read<T>(owner, 0, n_words);
      T sum{};
      for (int i = 0; i < n; ++i)
        sum = static_cast<T>(sum + static_cast<T>(i % 2 != 0 ? 2 * i : i));
      EXPECT_EQ(words[added], sum);
      EXPECT_EQ(words[subtracted], static_cast<T>(T{} - sum));
      EXPECT_EQ(words[counted], static_cast<T>(n));
      EXPECT_EQ(words[smallest], T{0});
      EXPECT_EQ(words[largest], static_cast<T>(n - 1));
      EXPECT_EQ(words[swapped], static_cast<T>(n));
      std::vector<T> tickets;
      T handed_on = words[exchanged];
      for (int r = own ? owner : 0; r < (own ? owner + 1 : size); ++r) {
        const auto mine = team.read<T>(r, n_words, 2 * threads);
        tickets.insert(tickets.end(), mine.begin(), mine.begin() + threads);
        handed_on = std::accumulate(mine.begin() + threads, mine.end(), handed_on);
      }
      std::sort(tickets.begin(), tickets.end());
      for (int i = 0; i < n; ++i)
        ASSERT_EQ(tickets[static_cast<std::size_t>(i)], static_cast<T>(i));
      EXPECT_EQ(handed_on, static_cast<T>(n * (n - 1) / 2));
    }
  }
}

/// Bitwise operations: one bit a rank and thread, or as many as there are.
template <class T, order O, scope S>
struct bit_kernel {
  static constexpr int block_threads = threads;
  struct params {
    const context* contexts;
    T* base;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    T* const words = p.contexts[0].on(ctx.rank, p.base);
    const int owner = S == scope::workgroup ? ctx.rank : 0;
    const int id = ctx.rank * threads + platform::thread_rank();
    constexpr int bits = 8 * static_cast<int>(sizeof(T));
    const T bit = static_cast<T>(T{1} << (id % bits));
    const bool low = id % bits < bits / 2;
    atomic_and<O, S>(ctx, words + anded, static_cast<T>(~bit), owner, low);
    atomic_or<O, S>(ctx, words + ored, bit, owner, low);
    atomic_xor<O, S>(ctx, words + xored, bit, owner);
    atomic_xor<O, S>(ctx, words + xored, bit, owner, low);  // undoes the lower half
    words[n_words + platform::thread_rank()] = atomic_inc<O, S>(ctx, words + counted, owner);
    atomic_inc<O, S>(ctx, words + counted, owner, false);
  }
};

template <class T, order O, scope S>
void check_bits() {
  const int size = 2;  // 192 ids: three times each of 64 bits, six times each of 32
  const bool own = S == scope::workgroup;
  plain_team team(size, (n_words + threads) * sizeof(T), 1);
  const T all = static_cast<T>(~T{0});
  for (int r = 0; r < size; ++r) {
    team.write<T>(r, counted, {all});  // one before the wrap of an unsigned count
    team.write<T>(r, anded, {all});
  }
  team.launch<bit_kernel<T, O, S>>({team.contexts(), team.data<T>(0)});
  constexpr int bits = 8 * static_cast<int>(sizeof(T));
  for (int owner = 0; owner < (own ? size : 1); ++owner) {
    T low{}, odd_times{};
    for (int i = 0; i < bits / 2; ++i) low = static_cast<T>(low | static_cast<T>(T{1} << i));
    for (int id = own ? owner * threads : 0; id < (own ? (owner + 1) * threads : size * threads);
         ++id)
      if (id % bits >= bits / 2)
        odd_times = static_cast<T>(odd_times ^ static_cast<T>(T{1} << (id % bits)));
    const auto words = team.read<T>(owner, 0, n_words);
    EXPECT_EQ(words[anded], static_cast<T>(all ^ low));
    EXPECT_EQ(words[ored], low);
    EXPECT_EQ(words[xored], odd_times);
    const int n = own ? threads : size * threads;
    EXPECT_EQ(words[counted], static_cast<T>(n - 1));
    std::vector<T> tickets;
    for (int r = own ? owner : 0; r < (own ? owner + 1 : size); ++r) {
      const auto mine = team.read<T>(r, n_words, threads);
      tickets.insert(tickets.end(), mine.begin(), mine.end());
    }
    for (T& t : tickets) t = static_cast<T>(t + T{1});
    std::sort(tickets.begin(), tickets.end());
    for (int i = 0; i < n; ++i) ASSERT_EQ(tickets[static_cast<std::size_t>(i)], static_cast<T>(i));
  }
}

template <class T>
class AtomicType : public testing::Test {};
using number_types = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, long,
                                    unsigned long long, float, double>;
TYPED_TEST_SUITE(AtomicType, number_types);

TYPED_TEST(AtomicType, Numbers) { check_numbers<TypeParam, order::acq_rel, scope::system>(); }

TYPED_TEST(AtomicType, Bits) {
  if constexpr (std::is_integral_v<TypeParam>)
    check_bits<TypeParam, order::acq_rel, scope::system>();
}

template <order O>
void check_order() {
  check_numbers<std::int32_t, O, scope::system>();
  check_numbers<std::uint64_t, O, scope::agent>();  // all ranks of this test share one device
  check_numbers<float, O, scope::workgroup>();
  check_bits<std::uint32_t, O, scope::system>();
  check_bits<std::int64_t, O, scope::agent>();
  check_bits<std::uint32_t, O, scope::workgroup>();
}
TEST(AtomicOrder, Relaxed) { check_order<order::relaxed>(); }
TEST(AtomicOrder, Acquire) { check_order<order::acquire>(); }
TEST(AtomicOrder, Release) { check_order<order::release>(); }
TEST(AtomicOrder, AcqRel) { check_order<order::acq_rel>(); }
TEST(AtomicOrder, SeqCst) { check_order<order::seq_cst>(); }

// ------------------------------------------------------------ negative values, and words of a
// struct

struct signed_kernel {
  static constexpr int block_threads = threads;
  struct params {
    const context* contexts;
    std::int64_t* base;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    std::int64_t* const words = p.contexts[0].on(ctx.rank, p.base);
    const std::int64_t value = 40 - platform::thread_rank();  // 40 .. -55
    atomic_min<order::relaxed>(ctx, words, value, 0);
    atomic_max<order::relaxed>(ctx, words + 1, -value, 0);
    auto* unsigned_words = reinterpret_cast<std::uint64_t*>(words);
    atomic_max<order::relaxed>(ctx, unsigned_words + 2, static_cast<std::uint64_t>(value), 0);
  }
};

TEST(Atomic, MinAndMaxFollowTheSignOfTheType) {
  plain_team team(2, 3 * sizeof(std::int64_t), 1);
  team.launch<signed_kernel>({team.contexts(), team.data<std::int64_t>(0)});
  const auto words = team.read<std::int64_t>(0, 0, 3);
  EXPECT_EQ(words[0], -55);
  EXPECT_EQ(words[1], 55);
  EXPECT_EQ(words[2], -1);  // as unsigned the largest of all
}

struct alignas(8) pair_of {
  float value;
  std::int32_t index;
};

struct struct_kernel {
  static constexpr int block_threads = threads;
  struct params {
    const context* contexts;
    pair_of* base;
  };
  struct shared {};
  /// The largest value and where it is, kept together by compare and swap.
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    pair_of* const best = p.contexts[0].on(ctx.rank, p.base);
    const int id = ctx.rank * threads + platform::thread_rank();
    const pair_of mine{static_cast<float>((id * 37) % 101), id};
    pair_of seen = atomic_cas<order::relaxed>(ctx, best, pair_of{-1, -1}, mine, 0);
    if (seen.index != -1)
      while (seen.value < mine.value || (seen.value == mine.value && seen.index > mine.index)) {
        const pair_of before = atomic_cas<order::acq_rel>(ctx, best, seen, mine, 0);
        if (before.value == seen.value && before.index == seen.index) break;
        seen = before;
        platform::pause();
      }
    atomic_xchg<order::release>(ctx, best + 1 + id, mine, 0);
  }
};

TEST(Atomic, StructsOfEightBytesAreSwappedWhole) {
  const int size = 4;
  plain_team team(size, (1 + threads * size) * sizeof(pair_of), 1);
  team.write<pair_of>(0, 0, {{-1, -1}});
  team.launch<struct_kernel>({team.contexts(), team.data<pair_of>(0)});
  const auto seen = team.read<pair_of>(0, 0, 1 + threads * size);
  pair_of best{-1, -1};
  for (int id = 0; id < threads * size; ++id) {
    const pair_of mine{static_cast<float>((id * 37) % 101), id};
    if (mine.value > best.value) best = mine;
    EXPECT_EQ(seen[static_cast<std::size_t>(1 + id)].index, id);
  }
  EXPECT_EQ(seen[0].value, best.value);
  EXPECT_EQ(seen[0].index, best.index);
}

}  // namespace
