// SPDX-License-Identifier: MIT
// What the policies of partial results promise beyond right results of calls that succeed: the
// record that has come is chosen, and nobody writes over what a slow rank may still read.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "comm/partials_case.hpp"
#include "hiris/comm/partials_policies.hpp"
#include "hiris/heap.hpp"
#include "hiris/ops/flash_decode_combine.hpp"
#include "hiris/platform/launch.hpp"
#include "support/device_test.hpp"
#include "support/errors.hpp"
#include "support/fabric.hpp"

namespace {

using namespace hiris;

using FabricPartials = test::device_test;

/// Asks which of the other ranks' records has come.
struct choosing_kernel {
  static constexpr int block_threads = 64;
  struct params {
    comm::partial_exchange x;
    int* chosen;
  };
  struct shared {};
  static HIRIS_DEVICE void run(const params& p, shared&) {
    const comm::partials_awaited comm(p.x);
    const std::uint64_t others = (std::uint64_t{1} << p.x.ctx.size) - 2;
    if (platform::thread_rank() == 0) platform::store_global(p.chosen, comm.first_come(0, others));
  }
};

/// Adds the records of all ranks up, as they come.
struct adding_kernel {
  static constexpr int block_threads = 2 * platform::wave_size;
  struct params {
    comm::partial_exchange x;
    int* wrong;
  };
  struct shared {
    int chosen;
  };
  struct sum {
    float value = 0;
    HIRIS_DEVICE void add(const float* record) {
      value += platform::load_global(record + column());
    }
  };
  static HIRIS_DEVICE int column() { return platform::thread_rank() % test::record_floats; }
  static HIRIS_DEVICE void run(const params& p, shared& s) {
    comm::partials_awaited comm(p.x);
    for (int g = 0; g < p.x.groups; ++g) {
      sum all;
      if (detail::fold_ranks(all, comm, p.x.ctx, false, g, s.chosen) != wait_status::ok) return;
      for (int rank = 0; rank < p.x.ctx.size; ++rank)
        all.value -= test::coded(comm.epoch(), rank, g, column());
      if (all.value != 0) platform::atomic_fetch_add<order::relaxed, scope::agent>(p.wrong, 1);
    }
    comm.finish(platform::block_count());
  }
};

/// Where groups share a signal, a workgroup waits for the first of them only: then nothing but its
/// own barriers keeps its waves together.
TEST_F(FabricPartials, EachRecordIsFoldedOnce) {
  constexpr int calls = 2, groups = 5;
  test::for_each_seed(24, [](std::uint64_t seed) {
    test::on_ranks(4, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64});
      const test::partials_rank mine(heap, groups, groups);
      const platform::owned_stream stream;
      test::under_seed(w, seed, stream, [&] {
        for (int call = 0; call < calls; ++call) {
          mine.make<comm::partials_awaited>(stream);
          mine.ship<comm::partials_awaited>(stream);
          platform::launch<adding_kernel>(stream, 1, {mine.exchange(), mine.wrong_at()});
        }
      });
      heap.check();
      EXPECT_EQ(mine.wrong(), 0) << "seed " << seed;
    });
  });
}

/// Rank 1 sends, rank 2 does not. Rank 0, which may have an old copy of the signals, chooses rank
/// 1.
TEST_F(FabricPartials, TheRecordThatHasComeIsChosen) {
  test::for_each_seed(24, [](std::uint64_t seed) {
    test::on_ranks(3, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64});
      const test::partials_rank mine(heap, 1, 1);
      const platform::device_buffer<int> chosen(1);
      const platform::owned_stream stream;
      test::under_seed(w, seed, stream, [&] {
        if (w.rank() == 0)
          platform::launch<choosing_kernel>(stream, 1, {mine.exchange(), chosen.data()});
        if (w.rank() != 1) return;
        mine.make<comm::partials_awaited>(stream);
        mine.ship<comm::partials_awaited>(stream);
      });
      heap.check();
      if (w.rank() == 0) {
        EXPECT_EQ(chosen.to_host()[0], 1) << "seed " << seed;
      }
    });
  });
}

/// Rank 1 still reads the records of call 1 when rank 0's wait for those of call 2 runs out. Rank
/// 0's later kernels run all the same; rank 1 waits for nothing more, so it never learns of that.
/// What it reads has to stay.
template <class Comm>
void expect_records_to_stay() {
  constexpr int groups = 3;
  test::for_each_seed(24, [](std::uint64_t seed) {
    test::on_ranks(2, [&](const world& w) {
      symmetric_heap heap(w, {.data_bytes = 1 << 16, .signals = 64});
      const test::partials_rank mine(heap, groups, groups);
      const platform::owned_stream stream;
      test::under_seed(w, seed, stream, [&] {
        for (int call = 1; call <= (w.rank() == 0 ? 3 : 1); ++call) {
          mine.make<Comm>(stream);
          mine.ship<Comm>(stream);
          if (w.rank() == 0) mine.read<Comm>(stream);
        }
      });
      if (w.rank() == 0) {
        test::expect_error(errc::timed_out, 0, {"waited for peer 1"}, [&] { heap.check(); });
      } else {
        const comm::partial_exchange& x = mine.exchange();
        constexpr std::uint64_t call = 1;
        const float* const from = x.inbox + (call % 2 * 2 + 0) * groups * test::record_floats;
        const std::vector<float> got = test::to_host(from, groups * test::record_floats);
        for (int i = 0; i < groups * test::record_floats; ++i)
          EXPECT_EQ(got[static_cast<std::size_t>(i)],
                    test::coded(call, 0, i / test::record_floats, i % test::record_floats))
              << "seed " << seed;
      }
      w.barrier("end of the test");
    });
  });
}

TEST_F(FabricPartials, AfterATimeOutNobodyWritesWhatIsBeingRead) {
  expect_records_to_stay<comm::partials_gathered>();
  expect_records_to_stay<comm::partials_bulk>();
}

}  // namespace
