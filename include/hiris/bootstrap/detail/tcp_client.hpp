// SPDX-License-Identifier: MIT
/// @file
/// A rank's end of the TCP channel: the proof of the token, and the calls.
///
///     auto line = std::make_shared<tcp_line>(at, limit);
///     line->fd = connect_and_prove(at, token, rank, size, limit);
///     line->await_welcome();
///     auto boot = std::make_shared<tcp_bootstrap>(line, 0, rank, size);
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/meeting_table.hpp"
#include "hiris/bootstrap/detail/socket.hpp"
#include "hiris/bootstrap/detail/tcp_server.hpp"
#include "hiris/bootstrap/detail/team.hpp"
#include "hiris/bootstrap/detail/wire.hpp"
#include "hiris/error.hpp"

namespace hiris::detail {

/// Exchanges proofs with what answers at `fd`. Returns an empty text if both hold; otherwise the
/// reason, and in `final` whether it is no use to try again.
inline std::string prove(const unique_fd& fd, const std::string& token, int rank, int size,
                         deadline end, bool& final) {
  final = false;
  const auto silent = [](io_status s) {
    return s == io_status::timed_out ? "it accepts connections, but says nothing"
                                     : "it closed the connection";
  };
  hello greeting;
  if (const io_status s = read_exactly(fd, &greeting, sizeof greeting, end); s != io_status::ok)
    return silent(s);
  final = true;
  if (greeting.magic != wire_magic) return "another program has this port: it is not rank 0";
  proof mine{wire_magic,
             fresh_nonce(),
             static_cast<std::uint32_t>(rank),
             static_cast<std::uint32_t>(size),
             {}};
  const auto mac = [&](std::string_view role) {
    return proof_of(token, role, greeting.server_nonce, mine.client_nonce, mine.rank, mine.size);
  };
  mine.mac = mac("client");
  answer theirs;
  io_status s = write_exactly(fd, &mine, sizeof mine, end);
  if (s == io_status::ok) s = read_exactly(fd, &theirs, sizeof theirs, end);
  if (s != io_status::ok) {
    final = false;
    return silent(s);
  }
  if (theirs.magic != wire_magic) return "another program has this port: it is not rank 0";
  if (theirs.admitted == 0)
    return "it refused the token; HIRIS_TOKEN must be the same on all ranks";
  if (!equal_in_constant_time(theirs.mac, mac("server")))
    return "it does not hold the token; HIRIS_TOKEN must be the same on all ranks";
  return {};
}

/// Connects to rank 0. Tries again until the limit while nobody answers; a wrong token or another
/// program at the port is an error at once.
///
/// @throws errc::bootstrap_failed naming rank, address and reason.
inline unique_fd connect_and_prove(const endpoint& at, const std::string& token, int rank, int size,
                                   std::chrono::milliseconds limit) {
  const deadline end = deadline_in(limit);
  const address_list addresses = resolve(at);
  std::string why = "the time limit is too short";
  for (std::chrono::milliseconds pause{5};; pause = std::min(2 * pause, decltype(pause)(100))) {
    bool final = false;
    unique_fd fd = connect_once(addresses.get(), end, why);
    if (fd) why = prove(fd, token, rank, size, end, final);
    if (fd && why.empty()) return fd;
    if (final || std::chrono::steady_clock::now() >= end)
      throw error(
          errc::bootstrap_failed, rank,
          name_step("connecting") + "rank " + std::to_string(rank) + " to rank 0 at " + at.text() +
              (final ? std::string(": ")
                     : " did not succeed within " + std::to_string(limit.count()) + " ms: ") +
              why);
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(
        pause, std::max<std::chrono::steady_clock::duration>(end - std::chrono::steady_clock::now(),
                                                             std::chrono::milliseconds(0))));
  }
}

/// The connection of one rank, shared by all its teams.
class tcp_line {
 public:
  tcp_line(endpoint at, std::chrono::milliseconds limit) : at_(std::move(at)), limit_(limit) {}
  ~tcp_line() {
    leave(all_teams);
    fd.reset();
    server.reset();  // rank 0: ends now that its end is closed
  }
  tcp_line(const tcp_line&) = delete;
  tcp_line& operator=(const tcp_line&) = delete;

  unique_fd fd;
  std::unique_ptr<tcp_server> server;  ///< On rank 0.

  /// Returns once all ranks are connected.
  void await_welcome() { receive("connecting", nullptr, 0, deadline_in(limit_ + grace)); }

  /// One request and its reply. Returns the number of the new team after a split.
  ///
  /// @param all  [size, bytes]; row `rank` is `mine`, or the line is broken.
  /// @param rank In the team.
  std::uint64_t exchange(request_kind kind, std::uint64_t team, std::string_view step,
                         std::string_view mine, void* all, int rank, int size) {
    if (mine.size() > max_payload_bytes)
      throw error(errc::invalid_argument, -1,
                  name_step(step) + std::to_string(mine.size()) + " bytes a rank; allowed are " +
                      std::to_string(max_payload_bytes) + " at most");
    if (broken_) fail(step);
    const io_status sent = send(kind, team, step, mine, deadline_in(limit_));
    // even if it could not be sent: the reason may have arrived
    const deadline end = deadline_in(sent == io_status::ok ? limit_ + grace : grace);
    const std::uint64_t next =
        receive(step, all, mine.size() * static_cast<std::size_t>(size), end);
    const char* const own = static_cast<char*>(all) + mine.size() * static_cast<std::size_t>(rank);
    if (!mine.empty() && mine != std::string_view(own, mine.size()))
      break_with(step, 0,
                 "rank 0 at " + at_.text() + " returned other bytes for this rank than it sent");
    return next;
  }

  /// Tells the server, if it still can be told.
  void leave(std::uint64_t team) {
    if (fd && !broken_) send(request_kind::leave, team, {}, {}, deadline_in(grace));
  }

 private:
  /// The server knows who is missing: its word is waited for a little longer than its own limit.
  static constexpr std::chrono::milliseconds grace{1000};

  io_status send(request_kind kind, std::uint64_t team, std::string_view step,
                 std::string_view mine, deadline end) {
    step = step.substr(0, max_step_bytes);
    const request_header header{wire_magic, team, mine.size(),
                                static_cast<std::uint32_t>(step.size()), kind};
    std::string message(bytes_of(header));
    message.append(step).append(mine);
    return write_exactly(fd, message.data(), message.size(), end);
  }

  std::uint64_t receive(std::string_view step, void* payload, std::size_t bytes, deadline end) {
    reply_header header;
    read_or_fail(step, &header, sizeof header, end);
    const bool known = header.status == reply_status::ok ||
                       header.status == reply_status::mismatch ||
                       header.status == reply_status::broken;
    if (header.magic != wire_magic || !known || header.text_bytes > max_text_bytes ||
        header.bytes != (header.status == reply_status::ok ? bytes : 0))
      break_with(step, 0, "rank 0 at " + at_.text() + " sent what is not a reply");
    std::string text(header.text_bytes, '\0');
    read_or_fail(step, text.data(), text.size(), end);
    if (header.status == reply_status::broken) break_with(step, header.rank, text);
    if (header.status == reply_status::mismatch) throw error(errc::mismatch, header.rank, text);
    read_or_fail(step, payload, bytes, end);
    return header.team;
  }

  void read_or_fail(std::string_view step, void* to, std::size_t bytes, deadline end) {
    const io_status s = read_exactly(fd, to, bytes, end);
    if (s == io_status::ok) return;
    const std::string who = "rank 0 at " + at_.text();
    break_with(step, 0,
               s == io_status::closed      ? who + " died: its connection closed"
               : s == io_status::timed_out ? who + " did not answer within " +
                                                 std::to_string((limit_ + grace).count()) + " ms"
                                           : who + ": " + errno_text(errno));
  }

  [[noreturn]] void break_with(std::string_view step, int rank, std::string text) {
    broken_ = true;
    culprit_ = rank;
    cause_ = std::move(text);
    fail(step);
  }

  [[noreturn]] void fail(std::string_view step) const {
    throw error(errc::bootstrap_failed, culprit_, in_step(step, cause_));
  }

  const endpoint at_;
  const std::chrono::milliseconds limit_;
  bool broken_ = false;
  int culprit_ = -1;
  std::string cause_;
};

/// A rank in a team.
class tcp_bootstrap final : public bootstrap {
 public:
  tcp_bootstrap(std::shared_ptr<tcp_line> line, std::uint64_t team, int rank, int size)
      : line_(std::move(line)), team_(team), rank_(rank), size_(size) {}
  ~tcp_bootstrap() override { line_->leave(team_); }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  void all_gather(const void* mine, void* all, std::size_t bytes, std::string_view step) override {
    line_->exchange(request_kind::gather, team_, step, {static_cast<const char*>(mine), bytes}, all,
                    rank_, size_);
  }

  void barrier(std::string_view step) override { all_gather(nullptr, nullptr, 0, step); }

  std::unique_ptr<bootstrap> split(int color, int key, std::string_view step) override {
    const split_choice mine{color, key};
    std::vector<split_choice> all(static_cast<std::size_t>(size_));
    const std::uint64_t team =
        line_->exchange(request_kind::split, team_, step, bytes_of(mine), all.data(), rank_, size_);
    if (color < 0) return nullptr;
    const std::vector<int> members = team_members(all, color);
    const auto at = std::find(members.begin(), members.end(), rank_) - members.begin();
    return std::make_unique<tcp_bootstrap>(line_, team, static_cast<int>(at),
                                           static_cast<int>(members.size()));
  }

 private:
  const std::shared_ptr<tcp_line> line_;
  const std::uint64_t team_;
  const int rank_;
  const int size_;
};

}  // namespace hiris::detail
