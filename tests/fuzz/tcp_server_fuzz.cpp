// SPDX-License-Identifier: MIT
// What the server makes of strangers and of ranks that send anything: it always ends when rank 0
// leaves, and admits nobody who does not prove the token.
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <utility>

#include "bytes.hpp"
#include "hiris/bootstrap/detail/tcp_server.hpp"

using namespace hiris;
using namespace std::chrono_literals;

namespace {

const std::string token = "the token of the fuzzer";

/// Rank 0 of a job of one: all that it sends is taken for requests.
void admitted(test::fuzz_bytes& input, const detail::unique_fd& rank_zero) {
  const std::string sent = input.rest();
  detail::write_exactly(rank_zero, sent.data(), sent.size(), detail::deadline_in(1s));
}

/// A stranger with a proof of its own making; half of them know the token, but claim anything.
void stranger(test::fuzz_bytes& input, std::uint16_t port) {
  std::string why;
  const detail::address_list at = detail::resolve({"127.0.0.1", port});
  const detail::unique_fd fd = detail::connect_once(at.get(), detail::deadline_in(1s), why);
  if (!fd) return;
  detail::hello greeting{};
  if (detail::read_exactly(fd, &greeting, sizeof greeting, detail::deadline_in(1s)) !=
      detail::io_status::ok)
    return;
  const bool knows = input.number(1) == 1;
  auto mine = input.take<detail::proof>();
  if (knows) {
    mine.magic = detail::wire_magic;
    mine.mac = detail::proof_of(token, "client", greeting.server_nonce, mine.client_nonce,
                                mine.rank, mine.size);
  }
  const std::string more = input.rest();
  detail::write_exactly(fd, &mine, sizeof mine, detail::deadline_in(1s));
  detail::write_exactly(fd, more.data(), more.size(), detail::deadline_in(1s));
  detail::answer theirs{};
  if (detail::read_exactly(fd, &theirs, sizeof theirs, detail::deadline_in(1s)) !=
      detail::io_status::ok)
    return;
  test::require((theirs.admitted == 1) == knows, "those who know the token, and only they, get in");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::fuzz_bytes input(data, size);
  const bool alone = input.number(3) != 0;  // strangers take a thousand times as long
  int ends[2];
  test::require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
                "a socket pair");
  detail::unique_fd rank_zero(ends[0]);
  detail::unique_fd listener = detail::listen_at({"127.0.0.1", 0});
  const std::uint16_t port = detail::port_of(listener.get());
  detail::tcp_server server(
      {std::move(listener), detail::unique_fd(ends[1]), token, alone ? 1 : 2, 50ms});
  if (alone)
    admitted(input, rank_zero);
  else
    stranger(input, port);
  rank_zero.reset();
  return 0;
}
