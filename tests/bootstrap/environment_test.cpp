// SPDX-License-Identifier: MIT
#include "hiris/bootstrap/environment.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/errors.hpp"
#include "support/ranks.hpp"

namespace {

using hiris::environment;
using hiris::errc;
using hiris::join_environment;
using hiris::read_environment;
using hiris::test::expect_error;
using hiris::test::run_process_ranks;

const std::string secret = "a token of the test, 34 characters";

/// Sets variables and clears all others that matter; puts everything back at the end.
class with_variables {
 public:
  explicit with_variables(const std::vector<std::pair<std::string, std::string>>& set) {
    for (const char* name : {"HIRIS_RANK",
                             "HIRIS_SIZE",
                             "HIRIS_LOCAL_RANK",
                             "HIRIS_ADDR",
                             "HIRIS_PORT",
                             "HIRIS_TOKEN",
                             "HIRIS_TIMEOUT_S",
                             "HIRIS_LISTEN_FD",
                             "RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "MPI_LOCALRANKID",
                             "MPI_LOCALNRANKS",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_LOCALID",
                             "SLURM_NNODES"}) {
      before_.emplace_back(name, hiris::detail::variable(name));
      unsetenv(name);
    }
    for (const auto& [name, value] : set) setenv(name.c_str(), value.c_str(), 1);
  }
  ~with_variables() {
    for (const auto& [name, value] : before_) {
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
    }
  }
  with_variables(const with_variables&) = delete;
  with_variables& operator=(const with_variables&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST(Environment, EachLauncher) {
  const auto expect = [](const std::vector<std::pair<std::string, std::string>>& set,
                         const std::string& launcher, int local_rank, bool one_host) {
    const with_variables variables(set);
    const environment e = read_environment();
    EXPECT_EQ(e.launcher, launcher);
    EXPECT_EQ(e.rank, 3);
    EXPECT_EQ(e.size, 8);
    EXPECT_EQ(e.local_rank, local_rank) << launcher;
    EXPECT_EQ(e.one_host, one_host) << launcher;
    EXPECT_EQ(e.time_limit, hiris::default_time_limit);
    EXPECT_TRUE(hiris::is_launched());
  };
  expect({{"HIRIS_RANK", "3"}, {"HIRIS_SIZE", "8"}}, "hiris", 3, true);
  expect({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}},
         "torchrun", 1, false);
  expect({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "8"}}, "torchrun", 3, true);
  expect({{"OMPI_COMM_WORLD_RANK", "3"},
          {"OMPI_COMM_WORLD_SIZE", "8"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}},
         "Open MPI", 0, false);
  expect({{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "2"}}, "PMI", 2, true);
  expect(
      {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}, {"SLURM_NNODES", "2"}},
      "Slurm", 1, false);
}

TEST(Environment, Precedence) {
  std::vector<std::pair<std::string, std::string>> set = {{"SLURM_PROCID", "0"},
                                                          {"SLURM_NTASKS", "1"},
                                                          {"PMI_RANK", "1"},
                                                          {"PMI_SIZE", "2"},
                                                          {"RANK", "3"},
                                                          {"WORLD_SIZE", "4"},
                                                          {"OMPI_COMM_WORLD_RANK", "2"},
                                                          {"HIRIS_RANK", "4"},
                                                          {"OMPI_COMM_WORLD_SIZE", "3"},
                                                          {"HIRIS_SIZE", "5"}};
  const with_variables variables(set);
  for (const auto& [launcher, rank] : std::vector<std::pair<std::string, int>>{
           {"HIRIS_", 4}, {"", 3}, {"OMPI_COMM_WORLD_", 2}, {"PMI_", 1}, {"SLURM_", 0}}) {
    EXPECT_EQ(read_environment().rank, rank);
    unsetenv((launcher + "RANK").c_str());
    unsetenv((launcher.empty() ? "WORLD_SIZE" : launcher + "SIZE").c_str());
  }
}

TEST(Environment, MalformedValuesAreNamed) {
  const auto expect = [](const std::vector<std::pair<std::string, std::string>>& set,
                         const std::vector<std::string>& words) {
    const with_variables variables(set);
    expect_error(errc::invalid_argument, -1, words, [] { read_environment(); });
  };
  for (const char* bad : {"x", "1x", " 1", "-1", "1.5", "99999999999999999999", "0x1", "+1"})
    expect({{"RANK", bad}, {"WORLD_SIZE", "4"}}, {"RANK is '" + std::string(bad) + "'", "0 to 3"});
  expect({{"HIRIS_RANK", "4"}, {"HIRIS_SIZE", "4"}}, {"HIRIS_RANK is '4'", "0 to 3"});
  expect({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}, {"PMI_SIZE is '0'", "from 1"});
  expect({{"SLURM_PROCID", "0"}}, {"SLURM_PROCID is set", "SLURM_NTASKS is not"});
  expect({{"RANK", "0"}}, {"RANK is set", "WORLD_SIZE is not"});
  expect({{"HIRIS_RANK", "0"}}, {"HIRIS_RANK is set", "HIRIS_SIZE is not"});
  expect({{"HIRIS_SIZE", "2"}}, {"HIRIS_SIZE is set", "HIRIS_RANK is not"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}, {"LOCAL_RANK is '2'"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"HIRIS_TIMEOUT_S", "0"}},
         {"HIRIS_TIMEOUT_S is '0'", "1 to 86400"});
  expect({}, {"no launcher", "HIRIS_RANK", "WORLD_SIZE", "SLURM_PROCID"});
  const with_variables none({});
  EXPECT_FALSE(hiris::is_launched());
}

TEST(Environment, SizeAloneIsNoLaunch) {
  using pairs = std::vector<std::pair<std::string, std::string>>;
  for (const char* size : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) {
    const with_variables variables(pairs{{size, "2"}});
    EXPECT_FALSE(hiris::is_launched()) << size;
    expect_error(errc::invalid_argument, -1, {"no launcher"}, [] { read_environment(); });
  }
  {
    const with_variables in_an_allocation({{"SLURM_NTASKS", "4"},
                                           {"SLURM_NNODES", "1"},
                                           {"WORLD_SIZE", "4"},
                                           {"PMI_RANK", "1"},
                                           {"PMI_SIZE", "2"}});
    EXPECT_EQ(read_environment().launcher, "PMI");
  }
  for (const char* half : {"RANK", "SLURM_PROCID", "HIRIS_RANK", "HIRIS_SIZE"}) {
    const with_variables variables(pairs{{half, "1"}});
    EXPECT_TRUE(hiris::is_launched()) << half;  // so that a program stops at the error
  }
}

TEST(Environment, MissingVariablesAreNamed) {
  const auto expect = [](std::vector<std::pair<std::string, std::string>> set,
                         const std::vector<std::string>& words) {
    const with_variables variables(set);
    expect_error(errc::invalid_argument, hiris::test::any_rank, words, [] { join_environment(); });
  };
  using pairs = std::vector<std::pair<std::string, std::string>>;
  const pairs base = {{"HIRIS_RANK", "1"}, {"HIRIS_SIZE", "2"}};
  const auto plus = [](pairs all, const pairs& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect(base, {"HIRIS_TOKEN is not set", "16 bytes"});
  expect(plus(base, {{"HIRIS_TOKEN", "short"}}), {"HIRIS_TOKEN has 5 bytes"});
  const pairs with_token = plus(base, {{"HIRIS_TOKEN", secret}});
  expect(with_token, {"HIRIS_PORT is not set", "MASTER_PORT"});
  expect(plus(with_token, {{"HIRIS_PORT", "65536"}}), {"HIRIS_PORT is '65536'", "1 to 65535"});
  expect(plus(with_token, {{"MASTER_PORT", "65535"}}), {"MASTER_PORT is '65535'", "65534"});
  expect({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "1"}, {"HIRIS_TOKEN", secret}},
         {"HIRIS_ADDR is not set", "MASTER_ADDR", "torchrun"});
}

TEST(Environment, TokenIsNeverPrinted) {
  const with_variables variables(
      {{"HIRIS_RANK", "1"}, {"HIRIS_SIZE", "2"}, {"HIRIS_TOKEN", "tooshort123"}});
  try {
    join_environment();
    FAIL();
  } catch (const hiris::error& e) {
    EXPECT_EQ(std::string(e.what()).find("tooshort123"), std::string::npos);
  }
}

TEST(Environment, OneRankNeedsNothingElse) {
  const with_variables variables({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  const auto boot = join_environment();
  EXPECT_EQ(boot->size(), 1);
  boot->barrier("alone");
}

TEST(Environment, PortIsOneAboveMasterPort) {
  const with_variables variables({{"RANK", "1"},
                                  {"WORLD_SIZE", "2"},
                                  {"MASTER_ADDR", "127.0.0.1"},
                                  {"MASTER_PORT", "1"},
                                  {"HIRIS_TOKEN", secret},
                                  {"HIRIS_TIMEOUT_S", "1"}});
  expect_error(errc::bootstrap_failed, 1, {"127.0.0.1:2 ", "1000 ms"}, [] { join_environment(); });
}

TEST(Environment, ProcessesMeet) {
  run_process_ranks(4, [](std::shared_ptr<hiris::bootstrap> boot) {
    ASSERT_EQ(boot->size(), 4);
    EXPECT_EQ(boot->rank(), read_environment().rank);
    const int mine = 10 * boot->rank();
    std::vector<int> all(4);
    boot->all_gather(&mine, all.data(), sizeof mine, "exchange");
    EXPECT_EQ(all, (std::vector<int>{0, 10, 20, 30}));
    const auto half = boot->split(boot->rank() / 2, 0, "halves");
    EXPECT_EQ(half->size(), 2);
    half->barrier("within");
  });
}

TEST(Environment, ProcessesMeetASecondTime) {
  run_process_ranks(3, [](std::shared_ptr<hiris::bootstrap> boot) {
    boot->barrier("before");
    const auto second = join_environment();  // while the first is open
    second->barrier("on the second");
    boot->barrier("on the first");
  });
}

TEST(Environment, ProcessThatDiesIsNamedToAll) {
  if (hiris::test::is_process_rank()) {
    const auto boot = join_environment();
    boot->barrier("first");
    if (boot->rank() == 1) raise(SIGKILL);
    expect_error(errc::bootstrap_failed, 1, {"'second'", "rank 1 died"},
                 [&] { boot->barrier("second"); });
    expect_error(errc::bootstrap_failed, 1, {"'third'", "rank 1 died"},
                 [&] { boot->barrier("third"); });
    return;
  }
  const auto outcome = hiris::test::launch_this_test(4);
  EXPECT_EQ(outcome.rank, 1) << outcome.text;
  EXPECT_EQ(outcome.status, 128 + SIGKILL) << outcome.text;
}

TEST(Environment, RankZeroMayEndTheProcessAfterTheLastBarrier) {
  if (hiris::test::is_process_rank()) {
    const auto boot = join_environment();
    boot->barrier("the last");
    if (boot->rank() == 0) _exit(0);
    return;
  }
  for (int i = 0; i < 5; ++i) {
    const auto outcome = hiris::test::launch_this_test(4);
    EXPECT_TRUE(outcome.ok()) << outcome.text;
  }
}

TEST(Environment, DeathOfRankZeroIsNoticed) {
  if (hiris::test::is_process_rank()) {
    const auto boot = join_environment();
    boot->barrier("first");
    if (boot->rank() == 0) raise(SIGKILL);
    expect_error(errc::bootstrap_failed, 0, {"'second'", "rank 0"},
                 [&] { boot->barrier("second"); });
    return;
  }
  const auto outcome = hiris::test::launch_this_test(3);
  EXPECT_EQ(outcome.rank, 0) << outcome.text;
  EXPECT_EQ(outcome.status, 128 + SIGKILL) << outcome.text;
}

}  // namespace
