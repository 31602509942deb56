// SPDX-License-Identifier: MIT
// One rank fails, in every way and at every phase: the others end within their bounds with an error
// that names the rank and the step, and their process serves a new world afterwards.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hiris/barrier.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/stream_barrier.hpp"
#include "support/device_test.hpp"
#include "support/processes.hpp"

namespace {

using namespace hiris;
using namespace std::chrono_literals;

enum class fault { killed, stopped, thrown, late, out_of_memory };
enum class phase { bootstrap, attach, launch, inside_kernel, between_calls, shutdown };

struct cell {
  const char* name;
  fault what;
  phase when;
  bool processes;
  int victim;
};

struct users_error : std::exception {
  const char* what() const noexcept override { return "an error of the user's"; }
};

constexpr int ranks = 3;
constexpr int patient = 2;  // never the victim
constexpr std::chrono::milliseconds step_limit = 1s;
constexpr std::chrono::milliseconds wait_limit = 500ms;
/// The bounds above, a second in which the channel may still tell the reason, and a busy machine.
constexpr std::chrono::milliseconds bound = 8s;
constexpr std::chrono::milliseconds away = 3s;  // longer than the others wait for anything

/// All ranks meet, round after round: for two seconds, unless a wait ends it.
struct many_rounds {
  static constexpr int block_threads = 128;
  static constexpr std::uint64_t rounds = 200;
  static constexpr std::uint64_t round_ns = 10'000'000;
  static constexpr std::uint64_t fault_round = 10;  // the victim fails in it or soon after
  struct params {
    context ctx;
    signal_counter* signals;  // [size]
    std::uint64_t* round;     // tells this rank's host
    std::uint64_t late_ns;    // how much longer this rank takes for the round of the fault
  };
  struct shared {};

  static HIRIS_DEVICE void run(const params& p, shared&) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      if (platform::thread_rank() == 0)
        platform::atomic_store<order::relaxed, scope::system>(p.round, round);
      const std::uint64_t busy_ns = round_ns + (round == fault_round ? p.late_ns : 0);
      const std::uint64_t begun_ns = platform::clock_ns();
      while (platform::clock_ns() - begun_ns < busy_ns) platform::pause();
      if (block_barrier(p.ctx, p.signals, round + 1) != wait_status::ok) return;
    }
  }
};

/// Stops this process, and lets it go on after `away`.
void stop_for_a_while() {
  const pid_t self = getpid();
  const pid_t waker = fork();
  if (waker == 0) {
    const timespec nap{away.count() / 1000, 0};
    nanosleep(&nap, nullptr);
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
  waitpid(waker, nullptr, 0);
}

/// All of a device's memory.
std::vector<platform::device_buffer<char>> take_all_memory(int device) {
  const platform::device_guard guard(device);
  std::vector<platform::device_buffer<char>> taken;
  for (std::size_t bytes = std::size_t{8} << 30; bytes >= (std::size_t{2} << 20);) try {
      taken.emplace_back(bytes);
    } catch (const error&) {
      bytes /= 2;
    }
  return taken;
}

/// What a rank does. The victim's fault comes at the begin of its phase.
class rank_program {
 public:
  rank_program(const cell& c, int rank)
      : cell_(c), is_victim_(rank == c.victim), is_patient_(rank == patient) {}

  void run(const std::function<std::shared_ptr<bootstrap>()>& connect) {
    enter(phase::bootstrap);
    const std::shared_ptr<bootstrap> boot = connect();
    const world w(boot);
    device_ = w.device();
    enter(phase::attach);
    // one waits for the victim longer than the test: it ends only if it is told
    symmetric_heap heap(w, {.data_bytes = 1 << 20,
                            .signals = 64,
                            .wait_budget = is_patient_ ? 10 * bound : wait_limit});
    const platform::owned_stream stream;
    if (cell_.when == phase::inside_kernel) meet_for_long(w, heap, stream);
    stream_barrier barrier(heap);
    barrier.enqueue(stream);
    heap.synchronize(stream);
    enter(phase::launch);
    barrier.enqueue(stream);
    heap.synchronize(stream);
    enter(phase::between_calls);
    stream_barrier another(heap);
    enter(phase::shutdown);
    heap.close();
    boot->barrier("the end");
  }

  /// Since when the others wait.
  std::chrono::steady_clock::time_point begun() const { return begun_; }

 private:
  /// The victim fails while its kernel and those of the others are in the midst of their rounds.
  void meet_for_long(const world& w, symmetric_heap& heap, platform::stream stream) {
    const auto signals = heap.allocate_signals(w.size());
    round_ = platform::device_buffer<std::uint64_t>(1, platform::memory_kind::host);
    load_kernels<many_rounds>(w);
    const bool is_late = is_victim_ && cell_.what == fault::late;
    launch_resident<many_rounds>(
        w, stream, 1,
        {heap.device_context(), signals.data(), round_.data(),
         is_late ? static_cast<std::uint64_t>(std::chrono::nanoseconds(away).count()) : 0});
    if (is_victim_) {
      const std::atomic_ref<std::uint64_t> round(*round_.data());
      while (round < many_rounds::fault_round && !platform::is_idle(stream))
        std::this_thread::sleep_for(1ms);
      EXPECT_FALSE(platform::is_idle(stream)) << "no kernel to fail in, after round " << round;
    }
    enter(phase::inside_kernel);
    heap.synchronize(stream);
  }

  void enter(phase now) {
    if (now != cell_.when) return;
    begun_ = std::chrono::steady_clock::now();
    if (!is_victim_) return;
    switch (cell_.what) {
      case fault::killed:
        raise(SIGKILL);
        break;
      case fault::stopped:
        stop_for_a_while();
        break;
      case fault::thrown:
        throw users_error();
      case fault::late:
        if (now != phase::inside_kernel) std::this_thread::sleep_for(away);  // there the kernel is
        break;
      case fault::out_of_memory:
        memory_ = take_all_memory(device_);
        break;
    }
  }

  const cell cell_;
  const bool is_victim_, is_patient_;
  int device_ = 0;
  std::chrono::steady_clock::time_point begun_{};
  std::vector<platform::device_buffer<char>> memory_;
  platform::device_buffer<std::uint64_t> round_;  // outlives the heap, and so the kernel
};

/// What the error of a rank that did nothing wrong must say.
void expect_told(const cell& c, int rank, const error& e) {
  const std::string text = e.what();
  const auto says = [&](const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << "no \"" << words << "\" in: " << text;
  };
  const std::string victim = std::to_string(c.victim);
  if (c.what == fault::out_of_memory) {
    EXPECT_EQ(e.code(), errc::out_of_memory) << text;
    EXPECT_EQ(e.rank(), c.victim) << text;
    says("need ");
  } else if (c.when == phase::launch ||
             // the heap of a rank that is thrown out lets its kernel end, and those of the others
             (c.when == phase::inside_kernel && c.what != fault::thrown)) {
    // the first cause is that of the survivor that is not patient, on both
    EXPECT_EQ(e.code(), errc::timed_out) << text;
    const int first = c.victim == 0 ? 1 : 0;
    const std::string waited = "workgroup 0 of rank " + std::to_string(first) + " waited";
    EXPECT_EQ(e.rank(), first) << text;
    says(waited + " for peer " + victim);
    if (rank == patient)
      says("rank " + std::to_string(first) + " failed first and told this rank: ");
  } else {
    EXPECT_EQ(e.code(), errc::bootstrap_failed) << text;
    // who cannot connect to rank 0 has nobody to hear a cause from, and speaks for itself
    const bool alone = c.victim == 0 && c.when == phase::bootstrap;
    EXPECT_EQ(e.rank(), alone ? rank : c.victim) << text;
    says("rank " + victim);
    says("step '");
  }
}

/// A new world in this process, with all that it can do.
void expect_usable() {
  test::on_ranks(2, [](const world& w) {
    symmetric_heap heap(w, {.data_bytes = 1 << 20, .signals = 64});
    stream_barrier barrier(heap);
    const platform::owned_stream stream;
    for (int i = 0; i < 3; ++i) barrier.enqueue(stream);
    EXPECT_NO_THROW(heap.synchronize(stream));
    EXPECT_EQ(barrier.epoch(), 3u);
    w.barrier("end");
  });
  EXPECT_FALSE(platform::has_last_error());
}

class FaultMatrix : public ::testing::TestWithParam<cell> {};

TEST_P(FaultMatrix, OthersAreToldInTimeAndGoOn) {
  const cell& c = GetParam();
  const auto run = [&](int rank, const std::function<std::shared_ptr<bootstrap>()>& connect) {
    rank_program program(c, rank);
    try {
      program.run(connect);
      EXPECT_EQ(rank, c.victim) << "rank " << rank << " was told nothing";
    } catch (const error& e) {
      if (rank == c.victim && c.what != fault::out_of_memory) return;  // that it came too late
      EXPECT_LT(std::chrono::steady_clock::now() - program.begun(), bound) << e.what();
      expect_told(c, rank, e);
    }
  };
  if (c.processes) {
    test::process_plan plan{.processes = ranks, .time_limit = step_limit};
    if (c.what == fault::killed) {
      plan.exit_codes.assign(ranks, 0);
      plan.exit_codes[static_cast<std::size_t>(c.victim)] = 128 + SIGKILL;
    }
    test::in_processes(plan, [&](const tcp_options& o) {
      try {
        run(o.rank, [&] { return connect_tcp(o); });
      } catch (const users_error&) {
        EXPECT_TRUE(c.what == fault::thrown && o.rank == c.victim);
      }
      expect_usable();
    });
    return;
  }
  try {
    run_ranks(
        ranks,
        [&](std::shared_ptr<bootstrap> boot) {
          const int rank = boot->rank();
          run(rank, [&] { return boot; });
        },
        step_limit);
    EXPECT_NE(c.what, fault::thrown);
  } catch (const std::exception& e) {
    EXPECT_EQ(c.what, fault::thrown) << e.what();
    EXPECT_STREQ(e.what(), "an error of the user's");
  }
  expect_usable();
}

std::vector<cell> cells() {
  constexpr phase phases[] = {phase::bootstrap,     phase::attach,        phase::launch,
                              phase::inside_kernel, phase::between_calls, phase::shutdown};
  std::vector<cell> all;
  for (const phase p : phases) {
    all.push_back({"killed", fault::killed, p, true, 1});
    all.push_back({"rank_0_killed", fault::killed, p, true, 0});
    all.push_back({"stopped", fault::stopped, p, true, 1});
    all.push_back({"rank_0_stopped", fault::stopped, p, true, 0});
    all.push_back({"late", fault::late, p, true, 1});
    all.push_back({"rank_0_late", fault::late, p, true, 0});
    all.push_back({"thrown", fault::thrown, p, true, 1});
    all.push_back({"rank_0_thrown", fault::thrown, p, true, 0});
    all.push_back({"thrown", fault::thrown, p, false, 1});
    all.push_back({"late", fault::late, p, false, 1});
  }
  for (const bool processes : {true, false})
    for (const phase p : {phase::attach, phase::between_calls})
      all.push_back({"out_of_memory", fault::out_of_memory, p, processes, 1});
  return all;
}

std::string name_of(const ::testing::TestParamInfo<cell>& info) {
  constexpr const char* phases[] = {"bootstrap",     "attach",        "launch",
                                    "inside_kernel", "between_calls", "shutdown"};
  return std::string(info.param.name) + "_at_" + phases[static_cast<int>(info.param.when)] +
         (info.param.processes ? "_processes" : "_threads");
}

INSTANTIATE_TEST_SUITE_P(Cells, FaultMatrix, ::testing::ValuesIn(cells()), name_of);

}  // namespace
