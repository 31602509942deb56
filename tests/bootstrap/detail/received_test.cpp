// SPDX-License-Identifier: MIT
// What peers tell in set-up that no rank of this build tells: refused, with rank and value.
#include "hiris/bootstrap/detail/received.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "hiris/bootstrap/detail/outcome.hpp"
#include "hiris/bootstrap/detail/tcp_client.hpp"
#include "hiris/bootstrap/threads.hpp"
#include "support/altered_channel.hpp"
#include "support/errors.hpp"

namespace {

using hiris::bootstrap;
using hiris::errc;
using hiris::test::expect_error;
namespace detail = hiris::detail;

TEST(Received, ATextIsReadAsFarAsItsFieldReaches) {
  EXPECT_EQ(detail::received_text(std::array<char, 4>{'a', 'b', 0, 'c'}), "ab");
  EXPECT_EQ(detail::received_text(std::array<char, 3>{'a', 'b', 'c'}), "abc");
  EXPECT_EQ(detail::received_text(std::array<char, 2>{}), "");
  EXPECT_TRUE(detail::is_text(std::array<char, 2>{'a', 0}));
  EXPECT_FALSE(detail::is_text(std::array<char, 2>{'a', 'b'}));
}

void expect_outcome(const std::function<void(detail::outcome&)>& alter, errc code,
                    const std::string& words) {
  hiris::run_ranks(3, [&](std::shared_ptr<bootstrap> boot) {
    const auto changed = hiris::test::altered<detail::outcome>(std::move(boot), "a step", 1, alter);
    expect_error(code, 1, {words, "a step"}, [&] { detail::agree(*changed, {}, "a step"); });
  });
}

TEST(Received, AnOutcomeThatThereIsNot) {
  expect_outcome([](detail::outcome& o) { o.failed = 2; }, errc::mismatch, "outcome 2 with code");
  expect_outcome([](detail::outcome& o) { o.code = static_cast<errc>(200); }, errc::mismatch,
                 "outcome 0 with code 200; allowed is 0 or 1 with a code up to");
}

TEST(Received, TheTextOfAnOutcomeIsReadAsFarAsItsFieldReaches) {
  expect_outcome(
      [](detail::outcome& o) {
        o.failed = 1;
        o.text.chars.fill('x');
        o.text.length = ~std::uint64_t{0};
      },
      errc::runtime_failed, std::string(sizeof detail::wire_text::chars, 'x') + " ...");
}

// Rank 0 serves the channel: a rank that hears its own word changed can rely on none.
TEST(Received, AServerThatReturnsOtherBytesThanWereSent) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const detail::unique_fd server(ends[1]);
  const auto line = std::make_shared<detail::tcp_line>(detail::endpoint{"127.0.0.1", 1},
                                                       std::chrono::milliseconds(2000));
  line->fd = detail::unique_fd(ends[0]);
  detail::tcp_bootstrap boot(line, 0, 1, 2);
  const auto reply = [&](int of_rank_0, int of_rank_1) {
    const detail::reply_header header{detail::wire_magic, 0, 8, 0, 0, detail::reply_status::ok, 0};
    const std::string message = std::string(detail::bytes_of(header))
                                    .append(detail::bytes_of(of_rank_0))
                                    .append(detail::bytes_of(of_rank_1));
    ASSERT_EQ(detail::write_exactly(server, message.data(), message.size(),
                                    detail::deadline_in(std::chrono::seconds(2))),
              detail::io_status::ok);
  };
  const int mine = 11;
  std::array<int, 2> all{};
  reply(10, 11);
  boot.all_gather(&mine, all.data(), sizeof mine, "a step");
  EXPECT_EQ(all, (std::array<int, 2>{10, 11}));
  reply(10, 12);
  for (int i = 0; i < 2; ++i)  // and the line stays broken
    expect_error(errc::bootstrap_failed, 0, {"step 'a step'", "other bytes for this rank"},
                 [&] { boot.all_gather(&mine, all.data(), sizeof mine, "a step"); });
}

}  // namespace
