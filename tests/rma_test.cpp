// SPDX-License-Identifier: MIT
// load, store, get, put, copy: every element size, every form, every alignment, on 1 to 8 ranks.
#include "hiris/rma.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "hiris/barrier.hpp"
#include "support/plain_team.hpp"

namespace {

using namespace hiris;
using test::plain_team;

// ------------------------------------------------------------------------ one element at a time

template <int N>
struct bytes {
  std::uint8_t b[static_cast<std::size_t>(N)];
};
struct three_halves {
  std::uint16_t h[3];
};
struct three_words {
  std::uint32_t w[3];
};
struct two_longs {
  std::uint64_t l[2];
};

/// A value whose every byte tells writer, destination and place.
template <class T>
HIRIS_HOST_DEVICE T stamp(int writer, int to) {
  std::uint8_t b[sizeof(T)];
  for (unsigned i = 0; i < sizeof(T); ++i)
    b[i] = static_cast<std::uint8_t>(1u + static_cast<unsigned>(writer) * 8u +
                                     static_cast<unsigned>(to) + i * 67u);
  T value;
  ::memcpy(&value, b, sizeof(T));
  return value;
}

/// Data of a rank: [0, size) what the others stored, [size, size + size * size) what it loaded.
template <class T>
struct element_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const context* contexts;
    T* base;  // of rank 0
    signal_counter* signals;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    T* const mine = p.contexts[0].on(ctx.rank, p.base);
    signal_counter* const signals = p.contexts[0].on(ctx.rank, p.signals);
    const int t = platform::thread_rank();
    if (t < ctx.size) store(ctx, mine + ctx.rank, stamp<T>(ctx.rank, t), t);
    if (block_barrier(ctx, signals, 1) != wait_status::ok) return;
    if (t < ctx.size * ctx.size) {
      const int from = t / ctx.size;
      const int slot = t % ctx.size;
      store(ctx, mine + ctx.size + t, load(ctx, mine + slot, from), ctx.rank);
    }
  }
};

template <class T>
class RmaElement : public testing::Test {};
using element_types =
    testing::Types<bytes<1>, bytes<2>, bytes<3>, bytes<4>, bytes<5>, bytes<6>, bytes<7>, bytes<8>,
                   bytes<9>, bytes<10>, bytes<11>, bytes<12>, bytes<13>, bytes<14>, bytes<15>,
                   bytes<16>, three_halves, three_words, two_longs, platform::vec16, char, short,
                   int, long long, float, double>;
TYPED_TEST_SUITE(RmaElement, element_types);

TYPED_TEST(RmaElement, EveryRankReachesEveryRank) {
  using T = TypeParam;
  for (int size = 1; size <= 8; ++size) {
    const auto n = static_cast<std::size_t>(size);
    plain_team team(size, 128 * 16, 8);
    team.fill(0xEE);
    team.launch<element_kernel<T>>({team.contexts(), team.data<T>(0), team.signals(0)});
    for (int r = 0; r < size; ++r) {
      const auto seen = team.read<T>(r, 0, n + n * n + 1);
      for (int w = 0; w < size; ++w) {
        const T expected = stamp<T>(w, r);
        EXPECT_EQ(std::memcmp(&seen[static_cast<std::size_t>(w)], &expected, sizeof(T)), 0)
            << "stored by " << w << " to " << r << " of " << size;
        for (int from = 0; from < size; ++from) {
          const T loaded = stamp<T>(w, from);
          EXPECT_EQ(
              std::memcmp(&seen[n + static_cast<std::size_t>(from * size + w)], &loaded, sizeof(T)),
              0)
              << "loaded from " << from << " by " << r;
        }
      }
      const auto* guard = reinterpret_cast<const std::uint8_t*>(&seen.back());
      for (std::size_t i = 0; i < sizeof(T); ++i) EXPECT_EQ(guard[i], 0xEE) << "beyond the end";
    }
  }
}

struct mask_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const context* contexts;
    int* base;
    signal_counter* signals;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    int* const mine = p.contexts[0].on(ctx.rank, p.base);
    const int t = platform::thread_rank();
    const int next = (ctx.rank + 1) % ctx.size;
    store(ctx, mine + t, 1000 * ctx.rank + t, next, t % 3 == 0);
    if (block_barrier(ctx, p.contexts[0].on(ctx.rank, p.signals), 1) != wait_status::ok) return;
    const int* nowhere = t % 5 == 0 ? mine + t : nullptr;  // a masked load looks at no address
    store(ctx, mine + 64 + t, load(ctx, nowhere, next, t % 5 == 0, -t), ctx.rank);
  }
};

TEST(Rma, MasksTouchNothing) {
  const int size = 3;
  plain_team team(size, 128 * sizeof(int), 8);
  team.fill(0xEE);
  int untouched;
  std::memset(&untouched, 0xEE, sizeof untouched);
  team.launch<mask_kernel>({team.contexts(), team.data<int>(0), team.signals(0)});
  for (int r = 0; r < size; ++r) {
    const auto seen = team.read<int>(r, 0, 128);
    for (int t = 0; t < 64; ++t) {
      const int before = (r + size - 1) % size;
      const int stored = t % 3 == 0 ? 1000 * before + t : untouched;
      EXPECT_EQ(seen[static_cast<std::size_t>(t)], stored) << t;
      const int at_next = t % 3 == 0 ? 1000 * r + t : untouched;
      EXPECT_EQ(seen[static_cast<std::size_t>(64 + t)], t % 5 == 0 ? at_next : -t) << t;
    }
  }
}

// ------------------------------------------------------------------------------------- in bulk

enum class form { thread, wave, block };
enum class op { get, put, copy };

template <class T>
struct bulk_kernel {
  static constexpr int block_threads = 192;
  struct params {
    const context* contexts;
    T* source;       // of rank 0, symmetric
    T* destination;  // of rank 0, symmetric
    std::uint64_t n_elems;
    form who;
    op what;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const context ctx = p.contexts[platform::block_rank()];
    T* const to = p.contexts[0].on(ctx.rank, p.destination);
    const T* const from = p.contexts[0].on(ctx.rank, p.source);
    const int next = (ctx.rank + 1) % ctx.size;
    const int after = (ctx.rank + 2) % ctx.size;
    if (p.who == form::thread && platform::thread_rank() == 70) {
      if (p.what == op::get) get(ctx, to, from, next, p.n_elems);
      if (p.what == op::put) put(ctx, to, from, next, p.n_elems);
      if (p.what == op::copy) copy(ctx, to, from, next, after, p.n_elems);
    }
    if (p.who == form::wave && platform::wave_rank() == 1) {
      if (p.what == op::get) wave_get(ctx, to, from, next, p.n_elems);
      if (p.what == op::put) wave_put(ctx, to, from, next, p.n_elems);
      if (p.what == op::copy) wave_copy(ctx, to, from, next, after, p.n_elems);
    }
    if (p.who == form::block) {
      if (p.what == op::get) block_get(ctx, to, from, next, p.n_elems);
      if (p.what == op::put) block_put(ctx, to, from, next, p.n_elems);
      if (p.what == op::copy) block_copy(ctx, to, from, next, after, p.n_elems);
    }
  }
};

/// Runs one transfer on 3 ranks and checks every byte of source and destination.
template <class T>
void check_bulk(form who, op what, std::size_t source_offset, std::size_t destination_offset,
                std::size_t n) {
  const int size = 3;
  const std::size_t room = 4096 / sizeof(T);
  static plain_team team(size, 2 * 4096 + 64, 1);
  std::vector<std::vector<std::uint8_t>> before;
  for (int r = 0; r < size; ++r) {
    std::vector<std::uint8_t> pattern(2 * 4096 + 64);
    for (std::size_t i = 0; i < pattern.size(); ++i)
      pattern[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + static_cast<std::size_t>(r) * 85);
    team.write(r, 0, pattern);
    before.push_back(pattern);
  }
  const std::size_t destination = room + 1 + destination_offset;
  team.launch<bulk_kernel<T>>({team.contexts(), team.data<T>(0, source_offset),
                               team.data<T>(0, destination), n, who, what});
  for (int r = 0; r < size; ++r) {
    // what arrives at rank r: get from r+1; put by r-1 of its own; copy by r-1 of rank (r-1)+2
    const int from = what == op::put ? (r + size - 1) % size : (r + 1) % size;
    auto expected = before[static_cast<std::size_t>(r)];
    std::memcpy(expected.data() + destination * sizeof(T),
                before[static_cast<std::size_t>(from)].data() + source_offset * sizeof(T),
                n * sizeof(T));
    EXPECT_EQ(team.read<std::uint8_t>(r, 0, expected.size()), expected)
        << "rank " << r << " form " << static_cast<int>(who) << " op " << static_cast<int>(what)
        << " offsets " << source_offset << " -> " << destination_offset << " n " << n << " element "
        << sizeof(T);
  }
}

template <class T>
class RmaBulk : public testing::Test {};
using bulk_types = testing::Types<std::uint8_t, std::uint16_t, float, double, platform::vec16,
                                  bytes<3>, three_words>;
TYPED_TEST_SUITE(RmaBulk, bulk_types);

TYPED_TEST(RmaBulk, EveryFormOperationAlignmentAndCount) {
  const std::size_t room = (4096 - 64) / sizeof(TypeParam);
  for (const form who : {form::thread, form::wave, form::block})
    for (const op what : {op::get, op::put, op::copy})
      for (const auto& [source, destination] :
           {std::pair<std::size_t, std::size_t>{0, 0}, {0, 15}, {1, 0}, {3, 2}, {5, 1}, {2, 6}})
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{17},
                                    std::size_t{67}, room / 2 + 3, room - 16})
          if (n + 16 <= room) check_bulk<TypeParam>(who, what, source, destination, n);
}

// ------------------------------------------------------------- counts beyond 32 bits

/// Moves a few threads' share of a transfer that as a whole would take a large grid.
struct large_kernel {
  static constexpr int block_threads = 64;
  struct params {
    char* to;
    const char* from;
    std::uint64_t n_bytes;
    std::uint64_t step;  // in pieces
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const detail::share mine{static_cast<std::uint64_t>(platform::thread_rank()), p.step};
    detail::transfer<1, detail::own_memory, detail::peer_memory>(p.to, p.from, p.n_bytes, mine);
  }
};

/// A transfer of 13 bytes of head, 5 GiB of body and 10 bytes of tail: in pieces of 16 bytes, or of
/// one byte where the sides stand at different offsets. Only 64 pieces of every 256 MiB are moved.
void check_large(std::size_t to_offset, std::size_t from_offset, std::size_t piece_bytes) {
  const std::uint64_t body_bytes = std::uint64_t{5} << 30;
  const std::uint64_t n_bytes = 13 + body_bytes + 10;
  const std::uint64_t stride_bytes = std::uint64_t{1} << 28;
  const std::uint64_t head = piece_bytes == 1 ? 0 : 13;  // moved on its own
  platform::device_buffer<char> source(n_bytes + 64);
  platform::device_buffer<char> destination(n_bytes + 64);
  const auto values = [&](std::uint64_t at) {
    std::vector<std::uint8_t> bytes(64 * piece_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(i * 31 + at / stride_bytes * 11 + 1);
    return bytes;
  };
  std::vector<std::uint64_t> places;
  for (std::uint64_t at = 0; at < body_bytes; at += stride_bytes) places.push_back(head + at);
  for (const std::uint64_t at : places)
    platform::copy_now(source.data() + from_offset + at, values(at).data(), 64 * piece_bytes);

  const platform::owned_stream stream;
  platform::launch<large_kernel>(stream, 1,
                                 {destination.data() + to_offset, source.data() + from_offset,
                                  n_bytes, stride_bytes / piece_bytes});
  stream.synchronize();
  std::vector<std::uint8_t> seen(64 * piece_bytes);
  for (const std::uint64_t at : places) {
    platform::copy_now(seen.data(), destination.data() + to_offset + at, seen.size());
    EXPECT_EQ(seen, values(at)) << "at byte " << at << ", pieces of " << piece_bytes;
  }
  EXPECT_GT(places.back(), std::uint64_t{1} << 32);
}

TEST(Rma, CountsAboveFourGiB) {
  check_large(3, 3, 16);
  check_large(3, 8, 1);
}

}  // namespace
