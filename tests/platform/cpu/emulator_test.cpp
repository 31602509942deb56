// SPDX-License-Identifier: MIT
// What only the emulator does: it finds divergence and deadlock, uninitialised shared memory,
// counts taxes, has the memory and units that it was told to have, and leaves nothing behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hiris/context.hpp"
#include "hiris/platform/mma.hpp"
#include "platform/conformance.hpp"
#include "support/belongings.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;
using test::array_params;

class Emulator : public test::conformance {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fork alone has no devices
    test::conformance::SetUp();
  }

  /// Runs a kernel that has to fail, and looks for words in the reason.
  template <class K>
  static void expect_failure(const std::vector<std::string>& words) {
    pf::owned_stream stream;
    pf::device_buffer<int> out(4096);
    pf::launch<K>(stream, 3, {out.data(), nullptr, 0});
    EXPECT_EQ(hipStreamSynchronize(stream), hipErrorLaunchFailure);
    EXPECT_EQ(hipGetLastError(), hipErrorLaunchFailure);
    const std::string text = pf::cpu::last_failure(0);
    for (const std::string& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
    pf::launch<K>(stream, 1, {nullptr, nullptr, 1});  // the device goes on
    stream.synchronize();
  }
};

/// Kernels here do the wrong thing if n_elems is 0.
struct kernel_base {
  static constexpr int block_threads = 128;
  using params = array_params<int>;
  struct shared {};
};

struct divergent_kernel : kernel_base {
  static void run(const params& p, shared&) {
    if (p.n_elems != 0) return;
    if (pf::lane_rank() < 5) {
      (void)pf::wave_ballot(true);
    } else {
      (void)pf::wave_shuffle(1, 0);
    }
  }
};
TEST_F(Emulator, FindsDivergentWaveOperations) {
  expect_failure<divergent_kernel>(
      {"divergent", "wave_ballot", "wave_shuffle", "divergent_kernel"});
}

struct skipped_kernel : kernel_base {
  static void run(const params& p, shared&) {
    if (p.n_elems == 0 && pf::lane_rank() == 3) pf::block_sync();
    pf::wave_sync();
  }
};
TEST_F(Emulator, FindsALaneThatIsElsewhere) {
  expect_failure<skipped_kernel>({"nobody can go on", "lane 3 in block_sync", "wave_sync"});
}

struct half_barrier_kernel : kernel_base {
  static void run(const params& p, shared&) {
    pf::block_sync();
    if (p.n_elems == 0 && pf::wave_rank() == 1) (void)pf::block_any(true);
    if (p.n_elems == 0 && pf::wave_rank() == 0 && pf::lane_rank() == 0) (void)pf::wave_ballot(true);
  }
};
TEST_F(Emulator, EndedLanesCompleteWhatTheOthersWaitFor) {
  pf::owned_stream stream;  // as on a GPU: nobody is left to wait for
  pf::launch<half_barrier_kernel>(stream, 3, {nullptr, nullptr, 0});
  stream.synchronize();
}

struct throwing_kernel : kernel_base {
  static void run(const params& p, shared&) {
    if (p.n_elems == 0 && pf::thread_rank() == 77) throw std::runtime_error("no such luck");
  }
};
TEST_F(Emulator, AnExceptionEndsTheKernel) {
  expect_failure<throwing_kernel>({"thread 77", "no such luck"});
}

struct reaching_kernel : kernel_base {
  static void run(const params& p, shared&) {
    const context ctx{0, 3, nullptr, nullptr, 1};
    if (p.n_elems == 0) *ctx.on(3, p.out) = 1;
  }
};
TEST_F(Emulator, ARankOutsideTheContextEndsTheKernel) {
  expect_failure<reaching_kernel>({"a rank that is not in the context"});
}

struct partial_mma_kernel : kernel_base {
  static void run(const params& p, shared&) {
    if (p.n_elems != 0 || pf::lane_rank() == 63) return;
    using atom = pf::mma_atom<float16, 16, 16>;
    auto c = atom::zero();
    pf::pause();
    atom::multiply_add(c, {}, {});
  }
};
TEST_F(Emulator, AMatrixInstructionNeedsAllLanes) {
  expect_failure<partial_mma_kernel>({"mma_atom<float16, 16, 16>", "63 of 64"});
}

struct poison_kernel {
  static constexpr int block_threads = 64;
  using params = array_params<float>;
  struct shared {
    float word[1000];
  };
  static void run(const params& p, shared& s) {
    if (pf::thread_rank() == 0) {
      int nans = 0;
      for (float& w : s.word) nans += std::isnan(w) ? 1 : 0;
      p.out[pf::block_rank()] = static_cast<float>(nans);
    }
    pf::block_sync();
    for (int i = pf::thread_rank(); i < 1000; i += 64) s.word[i] = 0;
  }
};
TEST_F(Emulator, SharedMemoryBeginsAsNan) {
  EXPECT_EQ((run<poison_kernel, float>(500, 500)), std::vector<float>(500, 1000.0f));
}

/// Spins on an atomic without ever pausing; the other block opens the gate.
struct rude_kernel {
  static constexpr int block_threads = 64;
  using params = array_params<int>;
  struct shared {};
  static void run(const params& p, shared&) {
    if (pf::block_rank() == 1) {
      pf::atomic_store<order::release, scope::agent>(p.out, 1);
    } else {
      while (pf::atomic_load<order::acquire, scope::agent>(p.out) != 1) {
      }
    }
  }
};
TEST_F(Emulator, ASpinWithoutPauseStillLetsOthersRun) {
  EXPECT_EQ((run<rude_kernel, int>(2, 1))[0], 1);
}

// ---- raw matrix instructions -------------------------------------------------------------------

/// D = A B for v_mfma_f32_16x16x16_f16 and 32x32x8, by the layout of the ISA, four values a lane.
template <int N>
struct mfma_kernel {
  static constexpr int block_threads = 64;
  using params = array_params<float>;
  struct shared {};
  static float a(int i, int k) { return static_cast<float>((i * 3 + k * 5) % 17 - 8); }
  static float b(int k, int j) { return static_cast<float>((k * 7 + j * 2) % 13 - 6); }
  static void run(const params& p, shared&) {
    const int lane = pf::lane_rank();
    constexpr auto results = static_cast<std::size_t>(N * N / 64);
    float narrow[results] = {}, wide[results] = {};
    float16 x[4], y[4], x8[8], y8[8];
    for (int i = 0; i < 8; ++i) {
      if (i < 4) {
        x[i] = from_float<float16>(a(lane % N, 4 * (lane / N) + i));
        y[i] = from_float<float16>(b(4 * (lane / N) + i, lane % N));
      }
      x8[i] = from_float<float16>(a(lane % N, 8 * (lane / N) + i));
      y8[i] = from_float<float16>(b(8 * (lane / N) + i, lane % N));
    }
    pf::cpu::mfma<float16, N>(narrow, x, y);
    pf::cpu::mfma<float16, N>(wide, x8, y8);
    for (int v = 0; v < static_cast<int>(results); ++v) {
      const int row = N == 16 ? 4 * (lane / 16) + v : 8 * (v / 4) + 4 * (lane / 32) + v % 4;
      p.out[row * N + lane % N] = narrow[v];
      p.out[N * N + row * N + lane % N] = wide[v];
    }
  }
};
template <int N>
void expect_mfma(const std::vector<float>& out) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      float narrow = 0, wide = 0;
      for (int k = 0; k < 512 / N; ++k) {
        const float product = mfma_kernel<N>::a(i, k) * mfma_kernel<N>::b(k, j);
        narrow += k < 256 / N ? product : 0.0f;
        wide += product;
      }
      ASSERT_EQ(out[static_cast<std::size_t>(i * N + j)], narrow);
      ASSERT_EQ(out[static_cast<std::size_t>(N * N + i * N + j)], wide);
    }
}
TEST_F(Emulator, RawMatrixInstructions) {
  expect_mfma<16>(run<mfma_kernel<16>, float>(1, 2 * 16 * 16));
  expect_mfma<32>(run<mfma_kernel<32>, float>(1, 2 * 32 * 32));
}

// ---- statistics --------------------------------------------------------------------------------

struct store_kernel {
  static constexpr int block_threads = 64;
  struct params {
    pf::vec16* to;
    int n;
  };
  struct shared {};
  static void run(const params& p, shared&) {
    for (int i = pf::thread_rank(); i < p.n; i += block_threads)
      pf::peer_store(p.to + i, pf::vec16{{1, 2, 3, 4}});
    if (pf::thread_rank() == 0) pf::count(pf::counter::signals, 3);
  }
};
struct load_kernel {
  static constexpr int block_threads = 64;
  struct params {
    const pf::vec16* from;
    int n;
  };
  struct shared {};
  static void run(const params& p, shared&) {
    for (int round = 0; round < 2; ++round)
      for (int i = pf::thread_rank(); i < p.n; i += block_threads)
        (void)pf::load_global(p.from + i);
  }
};
TEST_F(Emulator, CountsTaxes) {
  if (pf::device_count() < 2) GTEST_SKIP() << "one device only";
  pf::device_buffer<pf::vec16> theirs, own(100);
  pf::owned_stream stream, there;  // made before counting: each launches something at first
  {
    const pf::device_guard on(1);
    theirs = pf::device_buffer<pf::vec16>(100);
    there = pf::owned_stream();
  }
  pf::cpu::enable_statistics(true);
  pf::cpu::reset_statistics(0);
  pf::cpu::reset_statistics(1);
  pf::launch<store_kernel>(stream, 1, {theirs.data(), 70});
  pf::launch<store_kernel>(stream, 1, {own.data(), 50});
  pf::launch<load_kernel>(stream, 1, {own.data(), 40});
  stream.synchronize();
  pf::launch<load_kernel>(there, 1, {theirs.data(), 100});
  there.synchronize();
  const auto first = pf::cpu::statistics(0), second = pf::cpu::statistics(1);
  pf::cpu::enable_statistics(false);
  EXPECT_EQ(first.launches, 3u);
  EXPECT_EQ(first.signals, 6u);
  EXPECT_EQ(first.remote_bytes, 70u * 16);
  EXPECT_EQ(first.round_trip_bytes, (70u + 40u) * 16);  // what was read, once
  EXPECT_EQ(second.launches, 1u);
  EXPECT_EQ(second.remote_bytes, 0u);
  EXPECT_EQ(second.round_trip_bytes, 0u);
  pf::launch<store_kernel>(stream, 1, {theirs.data(), 70});
  stream.synchronize();
  EXPECT_EQ(pf::cpu::statistics(0).launches, 3u);  // off
}

// ---- memory ------------------------------------------------------------------------------------

TEST_F(Emulator, MemoryIsUsedOnlyWhenTouched) {
  pf::device_buffer<char> large(std::size_t{8} << 30);
  EXPECT_EQ(large.data()[(std::size_t{8} << 30) - 1], 0);
}

TEST_F(Emulator, AnAccessBeyondTheEndIsCaught) {
  EXPECT_DEATH(
      {
        pf::device_buffer<char> buffer(std::size_t{2} << 20);
        static_cast<volatile char*>(buffer.data())[std::size_t{2} << 20] = 1;
      },
      "");
}

TEST_F(Emulator, AKilledProcessLeavesNothing) {
  const auto shm = hiris::test::named_entries("/dev/shm"), tmp = hiris::test::named_entries("/tmp");
  int up[2];
  ASSERT_EQ(::pipe(up), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::dup2(up[1], 1);
    ::execl("/proc/self/exe", "child", "--gtest_filter=EmulatorChild.DISABLED_HoldsMemory",
            "--gtest_also_run_disabled_tests", nullptr);
    ::_exit(127);
  }
  ::close(up[1]);
  std::string said;
  char c = 0;
  while (said.find("holding") == std::string::npos && ::read(up[0], &c, 1) == 1) said += c;
  EXPECT_NE(said.find("holding"), std::string::npos) << said;
  EXPECT_EQ(hiris::test::named_entries("/dev/shm"), shm);
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(up[0]);
  EXPECT_EQ(hiris::test::named_entries("/dev/shm"), shm);
  EXPECT_EQ(hiris::test::named_entries("/tmp"), tmp);
}
TEST(EmulatorChild, DISABLED_HoldsMemory) {
  pf::device_buffer<int> buffer(1 << 20);
  buffer.fill_with(std::byte{1});
  ASSERT_EQ(::write(1, "holding\n", 8), 8);
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

TEST_F(Emulator, AForkedChildHasNoDevices) {
  ASSERT_GT(pf::device_count(), 0);
  pf::device_buffer<int> touched(1);
  touched.fill_with(std::byte{0});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(pf::device_count());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// A process that ends while a kernel polls for ever ends all the same.
struct endless_kernel : kernel_base {
  static void run(const params& p, shared&) {
    while (p.n_elems == 0) pf::pause();
  }
};
TEST_F(Emulator, ExitEndsWhatStillRuns) {
  EXPECT_EXIT(
      {
        pf::launch<endless_kernel>(nullptr, 5, {nullptr, nullptr, 0});
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
