// SPDX-License-Identifier: MIT
// peer_load, peer_store, load_global of every size, on own memory, pinned memory and a peer's.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "hiris/platform/device.hpp"
#include "platform/conformance.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;
using test::array_params;

enum class way { peer, global };
template <class T, way W>
struct access_kernel {
  static constexpr int block_threads = 128;
  using params = array_params<T>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int n_threads = pf::block_count() * block_threads;
    for (int i = pf::block_rank() * block_threads + pf::thread_rank(); i < p.n_elems;
         i += n_threads) {
      const T value = W == way::peer ? pf::peer_load(p.in + i) : pf::load_global(p.in + i);
      pf::peer_store(p.out + (p.n_elems - 1 - i), value);
    }
  }
};

template <class T>
std::vector<T> pattern(std::size_t n) {
  std::vector<T> values(n);
  auto* bytes = reinterpret_cast<unsigned char*>(values.data());
  for (std::size_t i = 0; i < n * sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return values;
}

template <class T>
class Access : public test::conformance {
 protected:
  template <way W>
  static void expect_reversed(pf::memory_kind kind, int from_device) {
    const std::size_t n = 1003;
    const std::vector<T> in = pattern<T>(n);
    pf::owned_stream stream;
    pf::device_buffer<T> out(n, kind);
    pf::device_buffer<T> source;
    {
      const pf::device_guard on(from_device);
      source = pf::device_buffer<T>(n, kind);
      source.copy_from(in);
    }
    if (from_device != 0) pf::enable_peer_access(0, from_device);
    pf::launch<access_kernel<T, W>>(stream, 3, {out.data(), source.data(), static_cast<int>(n)});
    stream.synchronize();
    const std::vector<T> got = out.to_host();
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(std::memcmp(&got[i], &in[n - 1 - i], sizeof(T)), 0) << i;
  }
};
using sizes =
    ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, float, std::uint64_t, pf::vec16>;
TYPED_TEST_SUITE(Access, sizes);

TYPED_TEST(Access, OwnMemory) {
  this->template expect_reversed<way::peer>(pf::memory_kind::data, 0);
  this->template expect_reversed<way::global>(pf::memory_kind::data, 0);
}
TYPED_TEST(Access, SignalMemory) {
  this->template expect_reversed<way::peer>(pf::memory_kind::signal, 0);
}
TYPED_TEST(Access, PinnedMemory) {
  this->template expect_reversed<way::peer>(pf::memory_kind::host, 0);
}
TYPED_TEST(Access, PeerMemory) {
  if (pf::device_count() < 2) GTEST_SKIP() << "one device only";
  this->template expect_reversed<way::peer>(pf::memory_kind::data, 1);
  this->template expect_reversed<way::global>(pf::memory_kind::data, 1);
}

/// A kernel on each of two devices, each waiting for what the other stores.
struct exchange_kernel {
  static constexpr int block_threads = 256;
  struct params {
    std::uint64_t* own;
    std::uint64_t* theirs;
    int* wrong;
    std::uint32_t rank;
    int rounds;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int t = pf::thread_rank();
    for (int r = 1; r <= p.rounds; ++r) {
      const int at = 16 + (r % 2) * 512 + 2 * t;
      const auto round = static_cast<std::uint32_t>(r);
      pf::peer_store(reinterpret_cast<pf::vec16*>(p.theirs + at),
                     pf::vec16{{p.rank, round, static_cast<std::uint32_t>(t), 0u}});
      pf::drain_stores();
      pf::block_sync();
      bool late = false;
      if (t == 0) {
        pf::publish_add<scope::system>(p.theirs, 1);
        const std::uint64_t start = pf::clock_ns();
        while (!late && pf::atomic_load<order::relaxed, scope::system>(p.own) < round) {
          pf::pause();
          late = pf::clock_ns() - start > 20'000'000'000u;
        }
        (void)pf::atomic_load<order::acquire, scope::system>(p.own);
      }
      if (pf::block_any(late)) {
        if (t == 0) *p.wrong = -1;
        return;
      }
      const pf::vec16 got = pf::peer_load(reinterpret_cast<const pf::vec16*>(p.own + at));
      if (got.word[0] != 1 - p.rank || got.word[1] != round ||
          got.word[2] != static_cast<std::uint32_t>(t))
        pf::atomic_fetch_add<order::relaxed, scope::agent>(p.wrong, 1);
    }
  }
};

class Peers : public test::conformance {};
TEST_F(Peers, TwoKernelsMeet) {
  if (pf::device_count() < 2) GTEST_SKIP() << "one device only";
  pf::enable_peer_access(0, 1);
  pf::enable_peer_access(1, 0);
  struct side {
    pf::owned_stream stream;
    pf::device_buffer<std::uint64_t> words{16 + 1024, pf::memory_kind::signal};
    pf::device_buffer<int> wrong{1};
  };
  std::vector<side> sides(2);
  for (int d = 0; d < 2; ++d) {
    const pf::device_guard on(d);
    sides[static_cast<std::size_t>(d)] = side{};
    sides[static_cast<std::size_t>(d)].words.fill_with(std::byte{0});
    sides[static_cast<std::size_t>(d)].wrong.fill_with(std::byte{0});
    pf::load_kernel<exchange_kernel>();
  }
  for (int d = 0; d < 2; ++d) {
    const pf::device_guard on(d);
    side& own = sides[static_cast<std::size_t>(d)];
    side& other = sides[static_cast<std::size_t>(1 - d)];
    pf::launch<exchange_kernel>(own.stream, 1,
                                {own.words.data(), other.words.data(), own.wrong.data(),
                                 static_cast<std::uint32_t>(d), 300});
  }
  for (side& s : sides) {
    s.stream.synchronize();
    EXPECT_EQ(s.wrong.to_host()[0], 0);
    EXPECT_EQ(s.words.to_host()[0], 300u);
  }
}

}  // namespace
