// SPDX-License-Identifier: MIT
// Requests of ranks that were admitted but follow no rule: every one is answered to members only,
// or ends the channel with a culprit and a reason.
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "bytes.hpp"
#include "hiris/bootstrap/detail/meeting_table.hpp"

using namespace hiris;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::fuzz_bytes input(data, size);
  const int ranks = 1 + input.number(5);
  detail::meeting_table table(ranks, std::chrono::minutes(1));
  while (!input.empty()) {
    const int rank = input.number(ranks - 1);
    detail::request r{};
    r.header.kind = static_cast<detail::request_kind>(input.number(4));
    const int team = input.number(8);
    r.header.team = team == 8 ? detail::all_teams : static_cast<std::uint64_t>(team);
    r.step = input.text(3);
    r.payload = input.text(16);
    const std::size_t bytes = r.payload.size();
    const detail::meeting_result result = table.take(rank, std::move(r));
    if (result.failed) {
      test::require(result.rank >= 0 && result.rank < ranks, "a failure names a rank");
      test::require(!result.text.empty(), "a failure has a reason");
      test::require(result.deliveries.empty(), "a failure answers nobody");
      table.clear();
      return 0;
    }
    std::set<int> answered;
    for (const detail::delivery& d : result.deliveries) {
      test::require(d.rank >= 0 && d.rank < ranks, "only ranks are answered");
      test::require(answered.insert(d.rank).second, "nobody is answered twice");
      if (d.reply.status == detail::reply_status::ok)
        test::require(d.reply.payload.size() == bytes * result.deliveries.size(),
                      "all parts have arrived, and nothing else");
      else
        test::require(d.reply.payload.empty() && !d.reply.text.empty(), "a refusal has a reason");
    }
    test::require(result.deliveries.empty() || answered.count(rank) == 1,
                  "the last to come is answered");
    test::require(!table.expired(std::chrono::steady_clock::now()), "nothing has run out yet");
  }
  return 0;
}
