// SPDX-License-Identifier: MIT
// What a rank makes of bytes that are not from its rank 0: an answer, or an error with a text.
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bytes.hpp"
#include "hiris/bootstrap/detail/tcp_client.hpp"

using namespace hiris;
using namespace std::chrono_literals;

namespace {

/// One end of a connection whose other end has said `text` and listens, but says no more.
struct conversation {
  explicit conversation(const std::string& text) {
    int ends[2];
    test::require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
                  "a socket pair");
    mine = detail::unique_fd(ends[0]);
    theirs = detail::unique_fd(ends[1]);
    detail::write_exactly(theirs, text.data(), text.size(), detail::deadline_in(1s));
    shutdown(theirs.get(), SHUT_WR);
  }
  detail::unique_fd mine, theirs;
};

void prove(test::fuzz_bytes& input) {
  conversation with(input.rest());
  bool final = false;
  const std::string why =
      detail::prove(with.mine, "the token of the fuzzer", 1, 2, detail::deadline_in(1s), final);
  test::require(!why.empty(), "nobody proves a token without having it");
}

void call(test::fuzz_bytes& input) {
  const auto kind =
      input.number(1) == 0 ? detail::request_kind::gather : detail::request_kind::split;
  const int ranks = 1 + input.number(3);
  const std::string mine = input.text(32);
  conversation with(input.rest());
  detail::tcp_line line({"127.0.0.1", 1}, 1s);
  line.fd = std::move(with.mine);
  for (int i = 0; i < 3; ++i) {
    std::vector<char> all(mine.size() * static_cast<std::size_t>(ranks));
    try {
      line.exchange(kind, 0, "fuzz", mine, all.data(), ranks - 1, ranks);
      test::require(
          std::string(all.end() - static_cast<std::ptrdiff_t>(mine.size()), all.end()) == mine,
          "what this rank sent has come back");
    } catch (const error& e) {
      test::require(*e.what() != '\0', "an error has a text");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::fuzz_bytes input(data, size);
  if (input.number(1) == 0)
    prove(input);
  else
    call(input);
  return 0;
}
