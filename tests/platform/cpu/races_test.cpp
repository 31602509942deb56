// SPDX-License-Identifier: MIT
// The thread sanitizer sees through the emulator: programs with one synchronisation left out are
// reported, the same programs with it are not. This test is built with the sanitizer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "hiris/platform/device.hpp"
#include "platform/conformance.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;

/// What is left out.
enum class flaw : int {
  none,
  release,         // the signal is relaxed
  barrier,         // no block_sync before the signal: other waves' stores are not covered
  acquire,         // the reader polls relaxed, and that is all
  reader_barrier,  // one thread acquires, the others do not wait for it
  shared_barrier,  // shared memory is read without a block_sync
  wave_barrier,    // shared memory is read by another wave after a wave_sync only
  acknowledgement  // the buffer is written again before the reader has said it is done
};
constexpr const char* names[] = {"none",         "release",        "barrier",
                                 "acquire",      "reader_barrier", "shared_barrier",
                                 "wave_barrier", "acknowledgement"};

/// Block 0 sends two rounds of data to block 1, which answers.
struct message_kernel {
  static constexpr int block_threads = 128;
  struct params {
    std::uint64_t* words;  // [0] signal, [8] answer, [16 ...] data
    flaw left_out;
  };
  struct shared {
    int value[block_threads];
  };
  static void tell(std::uint64_t* at, bool relaxed) {
    if (relaxed) {
      pf::atomic_fetch_add<order::relaxed, scope::system>(at, std::uint64_t{1});
    } else {
      pf::publish_add<scope::system>(at, 1);
    }
  }
  static void wait(const std::uint64_t* at, std::uint64_t target, bool relaxed) {
    while (pf::atomic_load<order::relaxed, scope::system>(at) < target) pf::pause();
    if (!relaxed) (void)pf::atomic_load<order::acquire, scope::system>(at);
  }
  static void use(std::uint64_t value) {
    if (value == 999) std::abort();
  }
  static void run(const params& p, shared& s) {
    const int t = pf::thread_rank();
    s.value[t] = t;
    if (p.left_out == flaw::wave_barrier) pf::wave_sync();
    if (p.left_out != flaw::shared_barrier && p.left_out != flaw::wave_barrier) pf::block_sync();
    use(static_cast<std::uint64_t>(s.value[(t + pf::wave_size) % block_threads]));
    std::uint64_t* data = p.words + 16 + t;
    for (std::uint64_t round = 1; round <= 2; ++round) {
      if (pf::block_rank() == 0) {
        if (p.left_out == flaw::acknowledgement) {
          pf::pause();  // now the reader reads
        } else if (round == 2) {
          if (t == 0) wait(p.words + 8, 1, false);
          pf::block_sync();
        }
        pf::peer_store(data, round);
        pf::drain_stores();
        if (p.left_out != flaw::barrier) pf::block_sync();
        if (t == 0) tell(p.words, p.left_out == flaw::release);
      } else {
        if (t == 0) wait(p.words, round, p.left_out == flaw::acquire);
        if (p.left_out != flaw::reader_barrier) pf::block_sync();
        use(pf::load_global(data));
        pf::drain_stores();
        pf::block_sync();
        if (t == 0) tell(p.words + 8, false);
      }
    }
  }
};

/// Runs a flaw in a process of its own. @return True if the sanitizer reported it.
bool is_reported(flaw left_out) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("HIRIS_TEST_FLAW", std::to_string(static_cast<int>(left_out)).c_str(), 1);
    ::setenv("TSAN_OPTIONS", "exitcode=66 halt_on_error=1", 1);
    (void)!::freopen("/dev/null", "w", stderr);
    (void)!::freopen("/dev/null", "w", stdout);
    ::execl("/proc/self/exe", "child", "--gtest_filter=RacesChild.DISABLED_RunsAFlaw",
            "--gtest_also_run_disabled_tests", nullptr);
    ::_exit(127);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 66) << WEXITSTATUS(status);
  return WEXITSTATUS(status) == 66;
}

TEST(RacesChild, DISABLED_RunsAFlaw) {
  const char* text = std::getenv("HIRIS_TEST_FLAW");
  ASSERT_NE(text, nullptr) << "runs as a child only";
  const auto left_out = static_cast<flaw>(std::atoi(text));
  pf::device_buffer<std::uint64_t> words(16 + 128);
  words.fill_with(std::byte{0});
  pf::owned_stream stream;
  pf::launch<message_kernel>(stream, 2, {words.data(), left_out});
  stream.synchronize();
}

class Races : public ::testing::TestWithParam<int> {};

TEST_P(Races, AreReportedAndNothingElse) {
  if (!pf::cpu::lanes_are_dear) GTEST_SKIP() << "built without the thread sanitizer";
  const auto left_out = static_cast<flaw>(GetParam());
  EXPECT_EQ(is_reported(left_out), left_out != flaw::none);
}

INSTANTIATE_TEST_SUITE_P(LeftOut, Races, ::testing::Range(0, 8),
                         [](const auto& chosen) { return names[chosen.param]; });

}  // namespace
