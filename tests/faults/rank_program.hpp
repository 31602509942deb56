// SPDX-License-Identifier: MIT
/// @file
/// A cell of the matrix of faults, and what a rank does in it: everything, phase by phase, and the
/// victim its fault.
#pragma once

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
#include <thread>
#include <vector>

#include "hiris/barrier.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/stream_barrier.hpp"

namespace hiris::test {

using namespace std::chrono_literals;

enum class fault { killed, stopped, thrown, late, out_of_memory };
enum class phase { bootstrap, attach, launch, inside_kernel, between_calls, shutdown };
/// How ranks are started and meet: connect_tcp(), run_ranks(), or launch_processes() and
/// join_environment().
enum class way { processes, threads, launched };

struct cell {
  const char* name;
  fault what;
  phase when;
  way how;
  int victim;
};

struct users_error : std::exception {
  const char* what() const noexcept override { return "an error of the user's"; }
};

inline constexpr int ranks = 3;
inline constexpr int patient = 2;  // never the victim
inline constexpr std::chrono::milliseconds step_limit = 1s;
inline constexpr std::chrono::milliseconds wait_limit = 1s;
/// The bounds above, a second in which the channel may still tell the reason, and a busy machine.
inline constexpr std::chrono::milliseconds bound = 8s;
inline constexpr std::chrono::milliseconds away = 3s;  // longer than the others wait for anything

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

/// Statuses that a launched rank ends with: of a user's main() that reports an error, or throws.
inline constexpr int status_told = 4, status_thrown = 5;

/// Stops this process, and lets it go on after `away`.
inline void stop_for_a_while() {
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
inline std::vector<platform::device_buffer<char>> take_all_memory(int device) {
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
        if (cell_.how == way::launched)
          raise(SIGSTOP);  // for good: the launcher ends it
        else
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

}  // namespace hiris::test
