// SPDX-License-Identifier: MIT
// Run by mpirun with three ranks: each runs all tests, in the same order.
#include "hiris/bootstrap/mpi.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "bootstrap/conformance.hpp"
#include "support/errors.hpp"

namespace {

using hiris::errc;
using hiris::mpi_bootstrap;
using hiris::test::expect_error;
using namespace std::chrono_literals;

int world_rank() {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

TEST(Mpi, Conforms) {
  const auto boot = mpi_bootstrap(MPI_COMM_WORLD);
  ASSERT_EQ(boot->size(), 3) << "to be run by mpirun -n 3";
  EXPECT_EQ(boot->rank(), world_rank());
  hiris::test::conform(*boot);
}

TEST(Mpi, PartOfTheRanks) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() == 1 ? MPI_UNDEFINED : 0, -world_rank(), &part);
  if (world_rank() == 1) {
    expect_error(errc::invalid_argument, -1, {"MPI_COMM_NULL"}, [&] { mpi_bootstrap(part); });
    return;
  }
  const auto boot = mpi_bootstrap(part);
  MPI_Comm_free(&part);  // the channel has its own
  EXPECT_EQ(boot->rank(), world_rank() == 2 ? 0 : 1);
  hiris::test::conform(*boot);
}

TEST(Mpi, ErrorHandlerOfTheUserStays) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL, after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  mpi_bootstrap(MPI_COMM_WORLD);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(after, MPI_ERRORS_ARE_FATAL);
}

TEST(Mpi, MessagesOfTheUserAreNotTouched) {
  const auto boot = mpi_bootstrap(MPI_COMM_WORLD);
  const int next = (world_rank() + 1) % 3, former = (world_rank() + 2) % 3;
  int mine = world_rank(), theirs = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  hiris::test::conform(*boot);
  EXPECT_EQ(theirs, -1);
  MPI_Barrier(MPI_COMM_WORLD);  // nobody sends before all have looked
  MPI_Send(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(theirs, former);
}

TEST(Mpi, BadArguments) {
  expect_error(errc::invalid_argument, -1, {"0 ms"}, [] { mpi_bootstrap(MPI_COMM_WORLD, 0ms); });
  expect_error(errc::invalid_argument, -1, {"MPI_COMM_NULL"}, [] { mpi_bootstrap(MPI_COMM_NULL); });
}

// The last, since it leaves messages under way.
TEST(Mpi, ZLateRankIsNamedAndTold) {
  const auto boot = mpi_bootstrap(MPI_COMM_WORLD, 400ms);
  boot->barrier("first");
  if (world_rank() == 1) std::this_thread::sleep_for(1200ms);
  expect_error(errc::bootstrap_failed, 1, {"'second'", "rank 1 did not come within 400 ms"},
               [&] { boot->barrier("second"); });
  expect_error(errc::bootstrap_failed, 1, {"'third'", "rank 1"}, [&] { boot->barrier("third"); });
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  bool refused = false;
  try {
    mpi_bootstrap(MPI_COMM_WORLD);
  } catch (const hiris::error& e) {
    refused = e.code() == errc::invalid_argument;
  }
  MPI_Init(&argc, &argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return refused ? failed : 2;
}
