// SPDX-License-Identifier: MIT
// runtime.hpp: devices, memory kinds, errors as exceptions, memory shared between processes.
#include "hiris/platform/runtime.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "hiris/platform/device.hpp"
#include "hiris/platform/launch.hpp"
#include "platform/conformance.hpp"
#include "support/errors.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;

class Runtime : public test::conformance {};

TEST_F(Runtime, DevicesAreDescribed) {
  std::set<std::string> uuids;
  for (int d = 0; d < pf::device_count(); ++d) {
    const pf::device_info info = pf::describe(d);
    EXPECT_FALSE(info.name.empty());
    EXPECT_GE(info.compute_units, 1);
    EXPECT_GE(info.shared_bytes, std::size_t{48} << 10);
    uuids.insert(std::string(reinterpret_cast<const char*>(info.uuid.data()), info.uuid.size()));
  }
  EXPECT_EQ(uuids.size(), static_cast<std::size_t>(pf::device_count()));
  test::expect_error(errc::invalid_argument, test::any_rank, {"4711"},
                     [] { (void)pf::describe(4711); });
}

TEST(HardwareQueues, AreAskedForUnlessTheUserDid) {
  ASSERT_EQ(::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "7", 1), 0);
  ASSERT_EQ(::unsetenv("GPU_MAX_HW_QUEUES"), 0);
  pf::reserve_hardware_queues();
  EXPECT_STREQ(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "7");
  EXPECT_STREQ(std::getenv("GPU_MAX_HW_QUEUES"), "32");
}

TEST_F(Runtime, AGuardRestoresTheDevice) {
  const int last = pf::device_count() - 1;
  {
    const pf::device_guard on(last);
    EXPECT_EQ(pf::current_device(), last);
  }
  EXPECT_EQ(pf::current_device(), 0);
  test::expect_error(errc::runtime_failed, test::any_rank, {"hipSetDevice", "99"},
                     [] { const pf::device_guard on(99); });
  EXPECT_EQ(pf::current_device(), 0);
}

TEST_F(Runtime, BuffersOfEveryKindRoundTrip) {
  for (const auto kind : {pf::memory_kind::data, pf::memory_kind::signal, pf::memory_kind::host}) {
    std::vector<int> in(1001);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * i);
    pf::device_buffer<int> buffer(in.size(), kind);
    buffer.copy_from(in);
    EXPECT_EQ(buffer.to_host(), in);
    buffer.fill_with(std::byte{1});
    EXPECT_EQ(buffer.to_host(), std::vector<int>(1001, 0x01010101));
    pf::device_buffer<int> moved = std::move(buffer);
    EXPECT_EQ(moved.size(), 1001u);
    EXPECT_EQ(buffer.size(), 0u);  // NOLINT: moved from on purpose
  }
}

TEST_F(Runtime, TooMuchMemoryNamesNeedAndHave) {
  test::expect_error(errc::out_of_memory, test::any_rank, {"need", "have"},
                     [] { (void)pf::allocate(std::size_t{1} << 50, pf::memory_kind::data); });
  test::expect_error(errc::invalid_argument, test::any_rank, {"0 bytes"},
                     [] { (void)pf::allocate(0, pf::memory_kind::data); });
}

TEST_F(Runtime, PeerAccessIsIdempotent) {
  if (pf::device_count() < 2) GTEST_SKIP() << "one device only";
  pf::enable_peer_access(0, 1);
  pf::enable_peer_access(0, 1);
  pf::enable_peer_access(1, 1);
}

TEST_F(Runtime, APointerThatIsNoDeviceMemoryIsRefused) {
  int local = 0;
  EXPECT_THROW((void)pf::ipc_export(&local), error);
}

// ---- between processes -------------------------------------------------------------------------

struct stamp_kernel {
  static constexpr int block_threads = 64;
  struct params {
    std::uint32_t* words;
    std::uint32_t add;
    int n_elems;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    for (int i = pf::thread_rank(); i < p.n_elems; i += block_threads)
      pf::peer_store(p.words + i, pf::peer_load(p.words + i) + p.add);
  }
};

/// This program once more, as a second process: `start` runs a test of ProcessesChild there.
class Processes : public ::testing::Test {
 protected:
  void start(const std::string& test) {
    int down[2], up[2];
    ASSERT_EQ(::pipe(down), 0);
    ASSERT_EQ(::pipe(up), 0);
    const std::string pipes = std::to_string(down[0]) + " " + std::to_string(up[1]);
    const std::string filter = "--gtest_filter=ProcessesChild.DISABLED_" + test;
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      ::setenv("HIRIS_TEST_PIPES", pipes.c_str(), 1);
      ::close(down[1]);
      ::close(up[0]);
      ::execl("/proc/self/exe", "child", filter.c_str(), "--gtest_also_run_disabled_tests",
              nullptr);
      ::_exit(127);
    }
    ::close(down[0]);
    ::close(up[1]);
    to_child_ = down[1];
    from_child_ = up[0];
  }
  int finish() {
    ::close(to_child_);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    ::close(from_child_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t pid_ = -1;
  int to_child_ = -1, from_child_ = -1;
};

template <class T>
T receive(int from) {
  T value{};
  std::size_t got = 0;
  while (got < sizeof value) {
    const ssize_t n = ::read(from, reinterpret_cast<char*>(&value) + got, sizeof value - got);
    if (n <= 0) throw std::runtime_error("the other process has gone");
    got += static_cast<std::size_t>(n);
  }
  return value;
}
template <class T>
void send(int to, const T& value) {
  if (::write(to, &value, sizeof value) != static_cast<ssize_t>(sizeof value))
    throw std::runtime_error("the other process has gone");
}

/// What the child says first: whether it has a device, and what it exports.
struct offer {
  int devices;
  pf::ipc_handle handle;
};
constexpr std::size_t n_words = 5000, n_before = 33;

/// Exports words from the middle of an allocation, lets the parent change them, checks.
TEST(ProcessesChild, DISABLED_ExportsWords) {
  const char* pipes = std::getenv("HIRIS_TEST_PIPES");
  ASSERT_NE(pipes, nullptr) << "runs as a child only";
  int from_parent = -1, to_parent = -1;
  ASSERT_EQ(std::sscanf(pipes, "%d %d", &from_parent, &to_parent), 2);
  offer o{pf::device_count(), {}};
  if (o.devices == 0) return send(to_parent, o);
  pf::device_buffer<std::uint32_t> words(n_words + n_before);
  std::vector<std::uint32_t> values(words.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i);
  words.copy_from(values);
  o.handle = pf::ipc_export(words.data() + n_before);
  // This process cannot open its own handle: a pointer would do.
  EXPECT_THROW((void)pf::ipc_open(o.handle), error);
  send(to_parent, o);
  const char go = receive<char>(from_parent);
  const std::vector<std::uint32_t> now = words.to_host();
  for (std::size_t i = 0; i < now.size(); ++i)
    ASSERT_EQ(now[i], i + (i >= n_before && go == 'c' ? 1000u : 0u)) << i;
}

TEST_F(Processes, AKernelChangesAnothersMemory) {
  start("ExportsWords");
  const auto o = receive<offer>(from_child_);
  if (o.devices == 0) {
    EXPECT_EQ(finish(), 0);
    GTEST_SKIP() << "no device of this platform";
  }
  char* base = static_cast<char*>(pf::ipc_open(o.handle));
  auto* words = reinterpret_cast<std::uint32_t*>(base + o.handle.offset);
  pf::owned_stream stream;
  pf::launch<stamp_kernel>(stream, 1, {words, 1000u, static_cast<int>(n_words)});
  stream.synchronize();
  std::vector<std::uint32_t> values(n_words);
  pf::copy_now(values.data(), words, n_words * 4);
  for (std::size_t i = 0; i < n_words; ++i) ASSERT_EQ(values[i], i + n_before + 1000);
  pf::ipc_close(base);
  send(to_child_, 'c');
  EXPECT_EQ(finish(), 0);
  EXPECT_FALSE(pf::has_last_error());
}

TEST_F(Processes, AMappingOfSomebodyWhoHasGoneIsRefused) {
  start("ExportsWords");
  const auto o = receive<offer>(from_child_);
  if (o.devices > 0) send(to_child_, 'x');
  EXPECT_EQ(finish(), 0);
  if (o.devices == 0) GTEST_SKIP() << "no device of this platform";
  test::expect_error(errc::mapping_failed, test::any_rank, {"hipIpcOpenMemHandle"},
                     [&] { (void)pf::ipc_open(o.handle); });
  EXPECT_FALSE(pf::has_last_error());
}

TEST_F(Processes, MappingAgainAndAgainLeaksNothing) {
  start("ExportsWords");
  const auto o = receive<offer>(from_child_);
  if (o.devices == 0) {
    EXPECT_EQ(finish(), 0);
    GTEST_SKIP() << "no device of this platform";
  }
  for (int i = 0; i < 1000; ++i) {
    const char* base = static_cast<char*>(pf::ipc_open(o.handle));
    std::uint32_t first = 0;
    pf::copy_now(&first, base + o.handle.offset, 4);
    ASSERT_EQ(first, n_before);
    pf::ipc_close(const_cast<char*>(base));
  }
  send(to_child_, 'x');
  EXPECT_EQ(finish(), 0);
}

}  // namespace
