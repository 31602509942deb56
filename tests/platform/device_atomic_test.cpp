// SPDX-License-Identifier: MIT
// Atomics of every operation, type, order and scope; message passing; the signal that follows a
// drain.
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "hiris/platform/device.hpp"
#include "platform/conformance.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;
using test::array_params;

// ---- results of single operations --------------------------------------------------------------

/// out[2 i] is what operation i returned, out[2 i + 1] what it left.
template <class T, order O, scope S>
struct single_kernel {
  static constexpr int block_threads = 1;
  using params = array_params<T>;
  struct shared {
    T word;
  };
  static HIRIS_DEVICE void note(const params& p, int& i, T old) {
    p.out[i++] = old;
    p.out[i++] = pf::atomic_load<order::relaxed, S>(p.out + p.n_elems - 1);
  }
  static HIRIS_DEVICE void run(const params& p, shared&) {
    T* word = p.out + p.n_elems - 1;  // device memory
    int i = 0;
    const auto put = [&](T v) { pf::atomic_store<order::relaxed, S>(word, v); };
    put(T(5));
    note(p, i, pf::atomic_fetch_add<O, S>(word, T(3)));
    note(p, i, pf::atomic_exchange<O, S>(word, T(40)));
    note(p, i, pf::atomic_fetch_min<O, S>(word, T(50)));
    note(p, i, pf::atomic_fetch_min<O, S>(word, T(7)));
    note(p, i, pf::atomic_fetch_max<O, S>(word, T(6)));
    note(p, i, pf::atomic_fetch_max<O, S>(word, T(90)));
    if constexpr (std::is_integral_v<T>) {
      note(p, i, pf::atomic_fetch_sub<O, S>(word, T(28)));    // 62
      note(p, i, pf::atomic_fetch_and<O, S>(word, T(0x0f)));  // 14
      note(p, i, pf::atomic_fetch_or<O, S>(word, T(0x31)));   // 63
      note(p, i, pf::atomic_fetch_xor<O, S>(word, T(0x0f)));  // 48
      note(p, i, pf::atomic_compare_exchange<O, S>(word, T(47), T(1)));
      note(p, i, pf::atomic_compare_exchange<O, S>(word, T(48), T(1)));
      put(T(-3));  // the sign decides for signed types, the size for unsigned ones
      note(p, i, pf::atomic_fetch_min<O, S>(word, T(2)));
      put(T(-3));
      note(p, i, pf::atomic_fetch_max<O, S>(word, T(2)));
    } else {
      put(T(-2.5));
      note(p, i, pf::atomic_fetch_add<O, S>(word, T(0.25)));
      note(p, i, pf::atomic_fetch_min<O, S>(word, T(1.5)));
      note(p, i, pf::atomic_fetch_max<O, S>(word, T(-1.5)));
    }
  }
};

template <class T>
std::vector<T> expected_single() {
  std::vector<T> e{T(5), T(8), T(8), T(40), T(40), T(40), T(40), T(7), T(7), T(7), T(7), T(90)};
  const auto more = [&](T old, T left) { e.insert(e.end(), {old, left}); };
  if constexpr (std::is_integral_v<T>) {
    more(T(90), T(62)), more(T(62), T(14)), more(T(14), T(63)), more(T(63), T(48));
    more(T(48), T(48)), more(T(48), T(1));
    const T m = T(-3);
    more(m, m < T(2) ? m : T(2)), more(m, m < T(2) ? T(2) : m);
  } else {
    more(T(-2.5), T(-2.25)), more(T(-2.25), T(-2.25)), more(T(-2.25), T(-1.5));
  }
  return e;
}

template <class T>
class Atomic : public test::conformance {
 protected:
  template <order O, scope S>
  void expect_single() {
    const std::vector<T> expected = expected_single<T>();
    const int n = static_cast<int>(expected.size()) + 1;
    std::vector<T> out = this->template run<single_kernel<T, O, S>, T>(1, n);
    out.pop_back();
    EXPECT_EQ(out, expected) << "order " << static_cast<int>(O) << " scope " << static_cast<int>(S);
  }
  template <scope S>
  void expect_scope() {
    expect_single<order::relaxed, S>();
    expect_single<order::acquire, S>();
    expect_single<order::release, S>();
    expect_single<order::acq_rel, S>();
    expect_single<order::seq_cst, S>();
  }
};
using atomic_types =
    ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Atomic, atomic_types);

TYPED_TEST(Atomic, WorkgroupScope) { this->template expect_scope<scope::workgroup>(); }
TYPED_TEST(Atomic, AgentScope) { this->template expect_scope<scope::agent>(); }
TYPED_TEST(Atomic, SystemScope) { this->template expect_scope<scope::system>(); }

// ---- loads and stores of every size ------------------------------------------------------------

template <class T, order L, order S>
struct load_store_kernel {
  static constexpr int block_threads = 64;
  using params = array_params<T>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int t = pf::thread_rank();
    const T value = pf::atomic_load<L, scope::system>(p.in + t);
    pf::atomic_store<S, scope::system>(p.out + t, value);
  }
};
template <class T>
class AtomicCopy : public test::conformance {
 protected:
  template <order L, order S>
  void expect_copy() {
    std::vector<T> in(64);
    for (std::size_t i = 0; i < 64; ++i) in[i] = static_cast<T>(i * 3 + 1);
    EXPECT_EQ((this->template run<load_store_kernel<T, L, S>, T>(1, 64, in)), in);
  }
};
using copied = ::testing::Types<std::uint8_t, std::int16_t, std::int32_t, std::uint64_t, float>;
TYPED_TEST_SUITE(AtomicCopy, copied);
TYPED_TEST(AtomicCopy, EveryOrder) {
  this->template expect_copy<order::relaxed, order::relaxed>();
  this->template expect_copy<order::acquire, order::release>();
  this->template expect_copy<order::seq_cst, order::seq_cst>();
}

// ---- many threads ------------------------------------------------------------------------------

template <class T>
struct contended_kernel {
  static constexpr int block_threads = 256;
  using params = array_params<T>;
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int t = pf::block_rank() * block_threads + pf::thread_rank();
    pf::atomic_fetch_add<order::relaxed, scope::agent>(p.out + 0, T(1));
    pf::atomic_fetch_max<order::relaxed, scope::agent>(p.out + 1, T(t));
    pf::atomic_fetch_min<order::relaxed, scope::agent>(p.out + 2, T(t));
    if constexpr (std::is_integral_v<T>) {
      T seen = pf::atomic_load<order::relaxed, scope::agent>(p.out + 3);
      while (true) {  // a counter made of compare-exchange
        const T old =
            pf::atomic_compare_exchange<order::relaxed, scope::agent>(p.out + 3, seen, seen + T(1));
        if (old == seen) break;
        seen = old;
      }
    }
  }
};
TYPED_TEST(Atomic, NothingIsLostUnderContention) {
  using T = TypeParam;
  pf::owned_stream stream;
  pf::device_buffer<T> words(4);
  words.copy_from(std::vector<T>{T(0), T(0), T(1000000), T(0)});
  pf::launch<contended_kernel<T>>(stream, 40, {words.data(), nullptr, 4});
  stream.synchronize();
  const std::vector<T> out = words.to_host();
  EXPECT_EQ(out[0], T(40 * 256));
  EXPECT_EQ(out[1], T(40 * 256 - 1));
  EXPECT_EQ(out[2], T(0));
  EXPECT_EQ(out[3], std::is_integral_v<T> ? T(40 * 256) : T(0));
}

// ---- ordering ----------------------------------------------------------------------------------

/// Block 0 sends rounds of data to block 1, each behind a flag; block 1 answers behind another.
enum class means { store_release, fence, drain_and_publish };
template <means M>
struct message_kernel {
  static constexpr int block_threads = 128;
  struct params {
    std::uint64_t* words;  // [0] flag, [16] answer, [32 ...] data
    int rounds;
    int* wrong;
  };
  struct shared {};
  static HIRIS_DEVICE bool wait(std::uint64_t* flag, std::uint64_t target) {
    const std::uint64_t start = pf::clock_ns();
    while (pf::atomic_load<order::relaxed, scope::system>(flag) < target) {
      if (pf::clock_ns() - start > 20'000'000'000u) return false;
      pf::pause();
    }
    if constexpr (M == means::fence) {
      pf::fence<order::acquire, scope::system>();
    } else {
      (void)pf::atomic_load<order::acquire, scope::system>(flag);
    }
    return true;
  }
  static HIRIS_DEVICE void tell(std::uint64_t* flag, std::uint64_t value) {
    if constexpr (M == means::drain_and_publish) pf::drain_stores();
    if constexpr (M == means::fence) pf::fence<order::release, scope::system>();
    if constexpr (M == means::store_release) pf::fence<order::release, scope::system>();
    pf::block_sync();
    if (pf::thread_rank() != 0) return;
    if constexpr (M == means::store_release) {
      pf::atomic_store<order::release, scope::system>(flag, value);
    } else if constexpr (M == means::fence) {
      pf::atomic_store<order::relaxed, scope::system>(flag, value);
    } else {
      pf::publish_add<scope::system>(flag, 1);
    }
  }
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const int t = pf::thread_rank();
    std::uint64_t* data = p.words + 32 + 2 * t;
    for (int r = 1; r <= p.rounds; ++r) {
      const auto round = static_cast<std::uint64_t>(r);
      bool good = true;
      if (pf::block_rank() == 0) {
        pf::peer_store(reinterpret_cast<pf::vec16*>(data),
                       pf::vec16{{static_cast<std::uint32_t>(r), 1u, static_cast<std::uint32_t>(t),
                                  static_cast<std::uint32_t>(r * t)}});
        tell(p.words, round);
        if (t == 0) good = wait(p.words + 16, round);
      } else {
        if (t == 0) good = wait(p.words, round);
        if (pf::block_any(!good)) {
          if (t == 0) *p.wrong = -1;
          return;
        }
        const pf::vec16 got = pf::load_global(reinterpret_cast<const pf::vec16*>(data));
        const bool right = got.word[0] == static_cast<std::uint32_t>(r) && got.word[1] == 1u &&
                           got.word[2] == static_cast<std::uint32_t>(t) &&
                           got.word[3] == static_cast<std::uint32_t>(r * t);
        if (!right) pf::atomic_fetch_add<order::relaxed, scope::agent>(p.wrong, 1);
        tell(p.words + 16, round);
        continue;
      }
      if (pf::block_any(!good)) {
        if (t == 0) *p.wrong = -2;
        return;
      }
    }
  }
};

class Ordering : public test::conformance {
 protected:
  template <means M>
  void expect_messages() {
    pf::owned_stream stream;
    pf::device_buffer<std::uint64_t> words(32 + 2 * 128, pf::memory_kind::signal);
    pf::device_buffer<int> wrong(1);
    words.fill_with(std::byte{0});
    wrong.fill_with(std::byte{0});
    pf::launch<message_kernel<M>>(stream, 2, {words.data(), 500, wrong.data()});
    stream.synchronize();
    EXPECT_EQ(wrong.to_host()[0], 0);
    EXPECT_EQ(words.to_host()[16], 500u);
  }
};
TEST_F(Ordering, StoreRelease) { expect_messages<means::store_release>(); }
TEST_F(Ordering, Fences) { expect_messages<means::fence>(); }
TEST_F(Ordering, DrainThenPublish) { expect_messages<means::drain_and_publish>(); }

}  // namespace
