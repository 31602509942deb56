// SPDX-License-Identifier: MIT
// What the emulator costs: a rendezvous of a wave, a barrier of a workgroup, a matrix instruction,
// a workgroup, a launch. One device; times are wall clock, so run it on an idle machine.
#include <benchmark/benchmark.h>

#include "hiris/platform/launch.hpp"
#include "hiris/platform/mma.hpp"
#include "hiris/platform/runtime.hpp"

namespace {

using namespace hiris;
namespace pf = hiris::platform;

constexpr int repeats = 2000;

struct kernel_base {
  static constexpr int block_threads = 256;
  struct params {
    int unused;
  };
  struct shared {};
};

struct ballot_kernel : kernel_base {
  static void run(const params&, shared&) {
    for (int i = 0; i < repeats; ++i) benchmark::DoNotOptimize(pf::wave_ballot(i % 2 == 0));
  }
};

struct barrier_kernel : kernel_base {
  static void run(const params&, shared&) {
    for (int i = 0; i < repeats; ++i) pf::block_sync();
  }
};

template <class T, int N>
struct multiply_kernel : kernel_base {
  static void run(const params&, shared&) {
    using atom = pf::mma_atom<T, N, N>;
    typename atom::a_fragment a{};
    typename atom::b_fragment b{};
    auto c = atom::zero();
    for (int i = 0; i < repeats; ++i) atom::multiply_add(c, a, b);
    benchmark::DoNotOptimize(c);
  }
};

struct empty_kernel : kernel_base {
  static void run(const params&, shared&) {}
};

/// Times launches of `blocks` workgroups; `events` is what a launch does of the thing in question.
template <class K>
void time_kernel(benchmark::State& state, int blocks, int events, double flop = 0) {
  pf::owned_stream stream;
  pf::launch<K>(stream, blocks, {});  // makes the fibers
  stream.synchronize();
  for (auto _ : state) {
    pf::launch<K>(stream, blocks, {});
    stream.synchronize();
  }
  const double n = static_cast<double>(state.iterations()) * events;
  state.counters["each"] =
      benchmark::Counter(n, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  if (flop > 0) state.counters["flop"] = benchmark::Counter(n * flop, benchmark::Counter::kIsRate);
}

void ballot_of_a_wave(benchmark::State& s) { time_kernel<ballot_kernel>(s, 1, 4 * repeats); }
void barrier_of_four_waves(benchmark::State& s) { time_kernel<barrier_kernel>(s, 1, repeats); }
void workgroup_of_256(benchmark::State& s) { time_kernel<empty_kernel>(s, 64, 64); }
void launch(benchmark::State& s) { time_kernel<empty_kernel>(s, 1, 1); }
template <class T, int N>
void multiply(benchmark::State& s) {
  time_kernel<multiply_kernel<T, N>>(s, 1, 4 * repeats, 2.0 * N * N * (512 / N));
}

BENCHMARK(ballot_of_a_wave)->UseRealTime();
BENCHMARK(barrier_of_four_waves)->UseRealTime();
BENCHMARK(workgroup_of_256)->UseRealTime();
BENCHMARK(launch)->UseRealTime();
BENCHMARK(multiply<float16, 16>)->UseRealTime();
BENCHMARK(multiply<float16, 32>)->UseRealTime();
BENCHMARK(multiply<bfloat16, 16>)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
