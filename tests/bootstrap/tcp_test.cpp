// SPDX-License-Identifier: MIT
#include "hiris/bootstrap/tcp.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/errors.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using hiris::connect_tcp;
using hiris::errc;
using hiris::tcp_options;
using hiris::test::any_rank;
using hiris::test::duplicate;
using hiris::test::expect_error;
using hiris::test::listen_anywhere;
using hiris::test::run_tcp_threads;
using hiris::test::tcp_options_of;
using namespace std::chrono_literals;
using channel = std::shared_ptr<hiris::bootstrap>;
namespace detail = hiris::detail;

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Tcp, TooMuchIsRefused) {
  run_tcp_threads(2, [](const tcp_options& o) {
    const channel boot = connect_tcp(o);
    const char one = 0;
    expect_error(errc::invalid_argument, -1, {"67108865 bytes", "67108864"},
                 [&] { boot->all_gather(&one, nullptr, (64u << 20) + 1, "too much"); });
    boot->barrier("still usable");
  });
}

TEST(Tcp, SplitIsNotAGather) {
  run_tcp_threads(3, [](const tcp_options& o) {
    const channel boot = connect_tcp(o);
    std::vector<char> bytes(64);
    expect_error(errc::mismatch, 1, {"'a' with 8"}, [&] {
      if (o.rank == 1)
        boot->all_gather(bytes.data(), bytes.data() + 8, 8, "a");
      else
        boot->split(0, 0, "a");
    });
    boot->barrier("still usable");
  });
}

TEST(Tcp, PeerThatNeverComesIsNamedOnAllRanks) {
  std::uint16_t port = 0;
  detail::unique_fd listener = listen_anywhere(port);
  std::atomic<int> told = 0;
  const auto join = [&](int rank, int fd) {
    tcp_options o = tcp_options_of(rank, 4, port, 300ms);
    o.listener = fd;
    expect_error(errc::bootstrap_failed, 2, {"'connecting'", "rank 2 did not come within 300 ms"},
                 [&] { connect_tcp(o); });
    ++told;
  };
  EXPECT_LT(seconds_of([&] {
              const int fd = duplicate(listener);
              ASSERT_EQ(fcntl(fd, F_SETFL, 0), 0);  // blocking: a caller's may be either
              std::thread zero(join, 0, fd), one(join, 1, -1), three(join, 3, -1);
              for (std::thread* t : {&zero, &one, &three}) t->join();
            }),
            5.0);
  EXPECT_EQ(told, 3);
}

TEST(Tcp, NobodyAtThePort) {
  std::uint16_t port = 0;
  listen_anywhere(port);  // closed again
  expect_error(errc::bootstrap_failed, 1,
               {"'connecting'", "rank 1", "127.0.0.1:" + std::to_string(port), "200 ms"},
               [&] { connect_tcp(tcp_options_of(1, 2, port, 200ms)); });
}

TEST(Tcp, RankThatIsLateForAMeetingIsNamed) {
  run_tcp_threads(
      3,
      [](const tcp_options& o) {
        const channel boot = connect_tcp(o);
        boot->barrier("first");
        if (o.rank == 1) std::this_thread::sleep_for(1500ms);
        expect_error(errc::bootstrap_failed, 1, {"'second'", "rank 1 did not come within 500 ms"},
                     [&] { boot->barrier("second"); });
        expect_error(errc::bootstrap_failed, 1, {"'third'", "rank 1"},
                     [&] { boot->barrier("third"); });
      },
      500ms);
}

TEST(Tcp, RankThatLeavesIsNamed) {
  for (const int leaver : {1, 0})
    run_tcp_threads(3, [&](const tcp_options& o) {
      const channel boot = connect_tcp(o);
      boot->barrier("first");
      if (o.rank == leaver) return;
      EXPECT_LT(seconds_of([&] {
                  expect_error(errc::bootstrap_failed, leaver,
                               {"'second'", "rank " + std::to_string(leaver)},
                               [&] { boot->barrier("second"); });
                }),
                5.0);
    });
}

TEST(Tcp, WrongTokenIsRefusedAndTheOthersAreTold) {
  run_tcp_threads(
      3,
      [](tcp_options o) {
        if (o.rank == 1) {
          o.token = "another token of the test";
          expect_error(errc::bootstrap_failed, 1, {"rank 1", "refused the token", "HIRIS_TOKEN"},
                       [&] { connect_tcp(o); });
        } else {
          expect_error(errc::bootstrap_failed, 1,
                       {"rank 1 did not come", "1 connection was refused because it does not hold",
                        "HIRIS_TOKEN"},
                       [&] { connect_tcp(o); });
        }
      },
      500ms);
}

TEST(Tcp, ServerThatDoesNotHoldTheTokenIsFound) {
  std::uint16_t port = 0;
  const detail::unique_fd listener = listen_anywhere(port);
  std::thread impostor([&] {
    ASSERT_EQ(detail::wait_for(listener.get(), POLLIN, detail::deadline_in(5s)),
              detail::io_status::ok);
    const detail::unique_fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
    const auto end = detail::deadline_in(5s);
    const detail::hello hello{detail::wire_magic, detail::fresh_nonce()};
    detail::proof proof;
    detail::write_exactly(fd, &hello, sizeof hello, end);
    ASSERT_EQ(detail::read_exactly(fd, &proof, sizeof proof, end), detail::io_status::ok);
    const detail::answer answer{detail::wire_magic, 1, proof.mac};  // reflects what it was sent
    detail::write_exactly(fd, &answer, sizeof answer, end);
  });
  expect_error(errc::bootstrap_failed, 1, {"does not hold the token"},
               [&] { connect_tcp(tcp_options_of(1, 2, port, 5s)); });
  impostor.join();
}

TEST(Tcp, AnotherProgramAtThePortIsFound) {
  std::uint16_t port = 0;
  const detail::unique_fd listener = listen_anywhere(port);
  std::thread other([&] {
    ASSERT_EQ(detail::wait_for(listener.get(), POLLIN, detail::deadline_in(5s)),
              detail::io_status::ok);
    const detail::unique_fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
    const std::string banner = "220 mail.example.org ESMTP ready, and some more of that";
    detail::write_exactly(fd, banner.data(), banner.size(), detail::deadline_in(5s));
    std::this_thread::sleep_for(50ms);
  });
  expect_error(errc::bootstrap_failed, 1, {"another program"},
               [&] { connect_tcp(tcp_options_of(1, 2, port, 5s)); });
  other.join();
}

TEST(Tcp, PortTakenIsNamed) {
  std::uint16_t port = 0;
  const detail::unique_fd taken = listen_anywhere(port);
  expect_error(errc::bootstrap_failed, 0, {"port " + std::to_string(port) + " is taken"},
               [&] { connect_tcp(tcp_options_of(0, 2, port, 1s)); });
}

TEST(Tcp, AddressThatIsNotHere) {
  tcp_options o = tcp_options_of(0, 2, 4711, 1s);
  o.address = "192.0.2.1";
  expect_error(errc::bootstrap_failed, 0, {"192.0.2.1:4711"}, [&] { connect_tcp(o); });
  o.address = "no such host";
  expect_error(errc::bootstrap_failed, any_rank, {"'no such host'", "resolved"},
               [&] { connect_tcp(o); });
}

TEST(Tcp, RankThatComesTwiceIsToldToAll) {
  std::atomic<int> told = 0;
  run_tcp_threads(3, [&](tcp_options o) {
    if (o.rank == 2) o.rank = 1;
    expect_error(errc::bootstrap_failed, 1, {"rank 1 came twice"}, [&] { connect_tcp(o); });
    ++told;
  });
  EXPECT_EQ(told, 3);
}

TEST(Tcp, DifferentSizesAreToldToAll) {
  run_tcp_threads(3, [&](tcp_options o) {
    if (o.rank == 2) o.size = 4;
    expect_error(errc::bootstrap_failed, 2, {"rank 2", "4 ranks", "rank 0 of 3"},
                 [&] { connect_tcp(o); });
  });
}

TEST(Tcp, LateRanksAreToldThatRankZeroKnowsOfFewer) {
  run_tcp_threads(4, [&](tcp_options o) {
    if (o.rank == 0) o.size = 2;
    if (o.rank == 1 || o.rank == 2) std::this_thread::sleep_for(300ms);
    expect_error(errc::bootstrap_failed, 3, {"rank 3", "4 ranks", "rank 0 of 2"},
                 [&] { connect_tcp(o); });
  });
}

TEST(Tcp, IntrudersNeitherBlockNorBreak) {
  std::uint16_t port = 0;
  detail::unique_fd listener = listen_anywhere(port);
  std::vector<detail::unique_fd> strangers;
  const detail::address_list at = detail::resolve({"127.0.0.1", port});
  std::string why;
  for (int i = 0; i < 300; ++i) {  // more than may wait at a time; kept open all through
    strangers.push_back(detail::connect_once(at.get(), detail::deadline_in(2s), why));
    const std::string junk(static_cast<std::size_t>(i % 5) * 40, 'x');
    if (strangers.back())
      detail::write_exactly(strangers.back(), junk.data(), junk.size(), detail::deadline_in(1s));
  }
  EXPECT_LT(seconds_of([&] {
              std::vector<std::thread> ranks;
              for (int r = 0; r < 3; ++r) {
                tcp_options o = tcp_options_of(r, 3, port, 10s);
                if (r == 0) o.listener = duplicate(listener);
                ranks.emplace_back([o] {
                  const channel boot = connect_tcp(o);
                  boot->barrier("meet");
                });
              }
              for (std::thread& t : ranks) t.join();
            }),
            8.0);
}

TEST(Tcp, BadArguments) {
  const auto expect = [](const std::vector<std::string>& words, auto change) {
    tcp_options o = tcp_options_of(0, 2, 4711, 1s);
    change(o);
    expect_error(errc::invalid_argument, -1, words, [&] { connect_tcp(o); });
  };
  expect({"size is 0", "1 to 65536"}, [](tcp_options& o) { o.size = 0; });
  expect({"size is 2147483647", "1 to 65536"}, [](tcp_options& o) { o.size = 2147483647; });
  expect({"rank is 2", "0 to 1"}, [](tcp_options& o) { o.rank = 2; });
  expect({"rank is -1", "0 to 1"}, [](tcp_options& o) { o.rank = -1; });
  expect({"port is 0", "1 to 65535"}, [](tcp_options& o) { o.port = 0; });
  expect({"15 bytes", "16 or more"}, [](tcp_options& o) { o.token.resize(15); });
  expect({"0 ms"}, [](tcp_options& o) { o.time_limit = 0ms; });
}

}  // namespace
