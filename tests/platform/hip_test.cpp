// SPDX-License-Identifier: MIT
// The HIP names that user code speaks, on whatever runtime answers them: errors and the last error,
// memory, copies, streams, events, capture.
#include "hiris/platform/hip.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "hiris/platform/device.hpp"
#include "platform/conformance.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;

class Hip : public test::conformance {};

TEST_F(Hip, ErrorsHaveNamesAndTexts) {
  EXPECT_NE(std::string(hipGetErrorName(hipErrorInvalidValue)).find("InvalidValue"),
            std::string::npos);
  EXPECT_GT(std::strlen(hipGetErrorString(hipErrorInvalidValue)), 0u);
  EXPECT_GT(std::strlen(hipGetErrorString(hipSuccess)), 0u);
}

TEST_F(Hip, TheLastErrorStaysUntilItIsTaken) {
  EXPECT_EQ(hipSetDevice(12345), hipErrorInvalidDevice);
  EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST_F(Hip, TheCurrentDeviceIsAThreadsOwn) {
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  ASSERT_EQ(hipSetDevice(count - 1), hipSuccess);
  int other = -1;
  std::thread([&] { EXPECT_EQ(hipGetDevice(&other), hipSuccess); }).join();
  EXPECT_EQ(other, 0);
  int own = -1;
  EXPECT_EQ(hipGetDevice(&own), hipSuccess);
  EXPECT_EQ(own, count - 1);
  EXPECT_EQ(hipSetDevice(0), hipSuccess);
}

TEST_F(Hip, MemoryIsCountedAndFound) {
  std::size_t before = 0, between = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  EXPECT_LE(before, total);
  const std::size_t bytes = std::size_t{64} << 20;
  char* p = nullptr;
  ASSERT_EQ(hipMalloc(&p, bytes), hipSuccess);
  ASSERT_EQ(hipMemGetInfo(&between, &total), hipSuccess);
  EXPECT_GE(before - between, bytes);
  hipDeviceptr_t base{};
  std::size_t range = 0;
  ASSERT_EQ(hipMemGetAddressRange(&base, &range, (hipDeviceptr_t)(p + 12345)), hipSuccess);
  EXPECT_EQ((char*)base, p);
  EXPECT_GE(range, bytes);
  hipPointerAttribute_t attributes{};
  ASSERT_EQ(hipPointerGetAttributes(&attributes, p + 99), hipSuccess);
  EXPECT_EQ(attributes.type, hipMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(hipFree(p), hipSuccess);
  EXPECT_EQ(hipFree(nullptr), hipSuccess);
  std::size_t after = 0;
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(after, before);
}

TEST_F(Hip, MoreMemoryThanThereIsIsRefused) {
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&free_bytes, &total), hipSuccess);
  char* p = nullptr;
  EXPECT_EQ(hipMalloc(&p, total + 1), hipErrorOutOfMemory);
  EXPECT_EQ(hipGetLastError(), hipErrorOutOfMemory);
  EXPECT_EQ(p, nullptr);
}

TEST_F(Hip, CopiesAndFillsGoInStreamOrder) {
  hipStream_t s = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&s, hipStreamNonBlocking), hipSuccess);
  const std::size_t n = 100003;
  unsigned char *a = nullptr, *b = nullptr, *pinned = nullptr;
  ASSERT_EQ(hipMalloc(&a, n), hipSuccess);
  ASSERT_EQ(hipMalloc(&b, n), hipSuccess);
  ASSERT_EQ(hipHostMalloc(&pinned, n, hipHostMallocMapped), hipSuccess);
  for (std::size_t i = 0; i < n; ++i) pinned[i] = static_cast<unsigned char>(i * 13);
  ASSERT_EQ(hipMemcpyAsync(a, pinned, n, hipMemcpyHostToDevice, s), hipSuccess);
  ASSERT_EQ(hipMemsetAsync(a + 10, 0x5a, 20, s), hipSuccess);
  ASSERT_EQ(hipMemcpyAsync(b, a, n, hipMemcpyDeviceToDevice, s), hipSuccess);
  std::vector<unsigned char> out(n);
  ASSERT_EQ(hipMemcpyAsync(out.data(), b, n, hipMemcpyDeviceToHost, s), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(s), hipSuccess);
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(out[i], i >= 10 && i < 30 ? 0x5a : static_cast<unsigned char>(i * 13)) << i;
  EXPECT_EQ(hipMemset(b, 1, n), hipSuccess);
  EXPECT_EQ(hipMemcpy(out.data(), b, n, hipMemcpyDefault), hipSuccess);
  EXPECT_EQ(out, std::vector<unsigned char>(n, 1));
  EXPECT_EQ(hipFree(a), hipSuccess);
  EXPECT_EQ(hipFree(b), hipSuccess);
  EXPECT_EQ(hipHostFree(pinned), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(s), hipSuccess);
}

TEST_F(Hip, UuidsAreDistinct) {
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  hipUUID first{}, again{}, second{};
  ASSERT_EQ(hipDeviceGetUuid(&first, 0), hipSuccess);
  ASSERT_EQ(hipDeviceGetUuid(&again, 0), hipSuccess);
  EXPECT_EQ(std::memcmp(&first, &again, sizeof first), 0);
  if (count < 2) GTEST_SKIP() << "one device only";
  ASSERT_EQ(hipDeviceGetUuid(&second, 1), hipSuccess);
  EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
}

// ---- streams, events ---------------------------------------------------------------------------

/// Waits until the gate is not 0 (20 s at most), then adds 1 to a word, or multiplies it by 3.
struct step_kernel {
  static constexpr int block_threads = 1;
  struct params {
    unsigned* gate;  // null: none
    unsigned* word;
    int multiply;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const std::uint64_t start = pf::clock_ns();
    while (p.gate != nullptr && pf::atomic_load<order::acquire, scope::system>(p.gate) == 0 &&
           pf::clock_ns() - start < 20'000'000'000u)
      pf::pause();
    *p.word = p.multiply != 0 ? *p.word * 3 : *p.word + 1;
  }
};

/// Two streams, a gate in pinned memory that the host opens, and two words.
class Streams : public test::conformance {
 protected:
  void SetUp() override {
    test::conformance::SetUp();
    if (IsSkipped()) return;
    pf::load_kernel<step_kernel>();
    words_ = pf::device_buffer<unsigned>(2);
    gate_ = pf::device_buffer<unsigned>(1, pf::memory_kind::host);
    first_ = pf::owned_stream();
    second_ = pf::owned_stream();
    words_.fill_with(std::byte{0});
    gate_.fill_with(std::byte{0});
  }
  void open() { reinterpret_cast<std::atomic<unsigned>*>(gate_.data())->store(1); }
  unsigned word(std::size_t i) const { return words_.to_host()[i]; }

  pf::device_buffer<unsigned> words_, gate_;
  pf::owned_stream first_{}, second_{};
};

TEST_F(Streams, AnEventHoldsBackAnotherStream) {
  pf::owned_event done;
  pf::launch<step_kernel>(first_, 1, {gate_.data(), words_.data(), 0});
  done.record(first_);
  done.block(second_);
  pf::launch<step_kernel>(second_, 1, {nullptr, words_.data(), 1});
  EXPECT_EQ(hipEventQuery(done.get()), hipErrorNotReady);
  (void)hipGetLastError();  // HIP records it, CUDA does not
  EXPECT_EQ(hipStreamQuery(second_), hipErrorNotReady);
  (void)hipGetLastError();
  open();
  second_.synchronize();
  EXPECT_EQ(hipEventQuery(done.get()), hipSuccess);
  EXPECT_EQ(word(0), 3u);
}

TEST_F(Streams, EventsOfAnotherDeviceHoldBackToo) {
  if (pf::device_count() < 2) GTEST_SKIP() << "one device only";
  pf::owned_event done;
  pf::launch<step_kernel>(first_, 1, {gate_.data(), words_.data(), 0});
  done.record(first_);
  {
    const pf::device_guard on(1);
    pf::enable_peer_access(1, 0);
    pf::load_kernel<step_kernel>();
    pf::owned_stream there;
    done.block(there);
    pf::launch<step_kernel>(there, 1, {nullptr, words_.data(), 1});
    EXPECT_FALSE(pf::is_idle(there));
    open();
    there.synchronize();
  }
  EXPECT_EQ(word(0), 3u);
}

TEST_F(Streams, EventsMeasureTime) {
  pf::owned_event start, stop;
  start.record(first_);
  pf::launch<step_kernel>(first_, 1, {gate_.data(), words_.data(), 0});
  stop.record(first_);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  open();
  stop.synchronize();
  EXPECT_GE(pf::elapsed_ms(start, stop), 25.0f);
  EXPECT_LT(pf::elapsed_ms(start, stop), 5000.0f);
}

TEST_F(Streams, AnEventThatWasNeverRecordedHoldsNothing) {
  pf::owned_event never;
  never.block(first_);
  never.synchronize();
  first_.synchronize();
}

// ---- capture -----------------------------------------------------------------------------------

TEST_F(Streams, AGraphReplaysWhatWasCaptured) {
  pf::graph g = pf::graph::capture(first_, [&] {
    pf::launch<step_kernel>(first_, 1, {nullptr, words_.data(), 0});
    pf::launch<step_kernel>(first_, 1, {nullptr, words_.data(), 1});
    pf::copy(words_.data() + 1, words_.data(), 4, first_);
  });
  first_.synchronize();
  EXPECT_EQ(word(0), 0u);  // captured, not run
  unsigned expected = 0;
  for (int i = 0; i < 20; ++i) {
    g.launch(first_);
    expected = (expected + 1) * 3;
  }
  first_.synchronize();
  EXPECT_EQ(word(0), expected);
  EXPECT_EQ(word(1), expected);
}

TEST_F(Streams, AForkAndAJoinAreCaptured) {
  pf::owned_event fork, join;
  pf::graph g = pf::graph::capture(first_, [&] {
    pf::launch<step_kernel>(first_, 1, {nullptr, words_.data(), 0});
    fork.record(first_);
    fork.block(second_);
    pf::launch<step_kernel>(second_, 1, {nullptr, words_.data() + 1, 0});
    join.record(second_);
    pf::launch<step_kernel>(first_, 1, {nullptr, words_.data(), 1});
    join.block(first_);
    pf::copy(words_.data(), words_.data() + 1, 4, first_);
  });
  for (int i = 0; i < 50; ++i) g.launch(first_);
  first_.synchronize();
  EXPECT_EQ(word(0), 50u);
  EXPECT_EQ(word(1), 50u);
  pf::launch<step_kernel>(second_, 1, {nullptr, words_.data() + 1, 0});  // captures no more
  second_.synchronize();
  EXPECT_EQ(word(1), 51u);
}

TEST_F(Streams, BranchesOfAGraphRunAtOnce) {
  pf::owned_event fork, join;
  pf::device_buffer<unsigned> inner(1);
  inner.fill_with(std::byte{0});
  pf::graph g = pf::graph::capture(first_, [&] {
    fork.record(first_);
    fork.block(second_);
    pf::launch<step_kernel>(first_, 1, {inner.data(), words_.data(), 0});  // waits for the other
    pf::launch<step_kernel>(second_, 1, {nullptr, inner.data(), 0});
    join.record(second_);
    join.block(first_);
  });
  const auto start = std::chrono::steady_clock::now();
  g.launch(first_);
  first_.synchronize();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  EXPECT_EQ(word(0), 1u);
}

TEST_F(Streams, WaitingForAStreamThatCapturesIsAnError) {
  ASSERT_EQ(hipStreamBeginCapture(first_, hipStreamCaptureModeThreadLocal), hipSuccess);
  EXPECT_NE(hipStreamSynchronize(first_), hipSuccess);
  hipGraph_t g = nullptr;
  EXPECT_NE(hipStreamEndCapture(first_, &g), hipSuccess);
  EXPECT_EQ(g, nullptr);
  (void)hipGetLastError();
  pf::launch<step_kernel>(first_, 1, {nullptr, words_.data(), 0});  // and it works again
  first_.synchronize();
  EXPECT_EQ(word(0), 1u);
}

}  // namespace
