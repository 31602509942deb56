// SPDX-License-Identifier: MIT
/// @file
/// The server of the TCP channel: one thread in rank 0's process that all ranks talk to.
///
/// It admits those who prove the token, one connection a rank, and then serves meetings: when all
/// ranks of a team have sent their part, it sends each the whole. Since it serves whatever rank 0
/// itself is doing, it notices at once who died, and always knows who is missing. Connections that
/// are not admitted have a short limit and a bounded number: they can neither block nor wear out.
///
///     tcp_server server({std::move(listener), std::move(rank_zero_end), token, size, limit});
///     // ... ends soon after rank 0 closed its end
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/bootstrap/detail/meeting_table.hpp"
#include "hiris/bootstrap/detail/socket.hpp"
#include "hiris/bootstrap/detail/team.hpp"
#include "hiris/bootstrap/detail/wire.hpp"

namespace hiris::detail {

/// What a server is made of.
struct tcp_server_parts {
  unique_fd listener;
  unique_fd rank_zero;  ///< The server's end of a socket pair: rank 0 needs no proof.
  std::string token;
  int size;
  std::chrono::milliseconds time_limit;
};

class tcp_server {
 public:
  explicit tcp_server(tcp_server_parts parts)
      : parts_(std::move(parts)),
        admission_end_(deadline_in(parts_.time_limit)),
        meetings_(parts_.size, parts_.time_limit) {
    connections_.emplace_back(std::move(parts_.rank_zero)).admit(0);
    if (parts_.size == 1) welcome();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are not for this thread
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  /// Waits for the thread, which ends once rank 0's end is closed.
  ~tcp_server() { thread_.join(); }
  tcp_server(const tcp_server&) = delete;
  tcp_server& operator=(const tcp_server&) = delete;

 private:
  /// Longest that a stranger may take for its proof.
  static constexpr std::chrono::milliseconds handshake_limit{5000};
  /// Most strangers at a time; beyond it the oldest goes. Ranks try again, and take milliseconds.
  static constexpr std::size_t max_strangers = 128;
  /// Longest that the last replies may take when rank 0 has left.
  static constexpr std::chrono::milliseconds farewell_limit{1000};

  /// Longest that it waits for late ranks when the others could not connect.
  static constexpr std::chrono::milliseconds late_limit{2000};

  struct connection {
    explicit connection(unique_fd socket) : fd(std::move(socket)) {}
    void admit(int as) {
      rank = as;
      in.clear();
      wanted = sizeof(request_header);
    }

    unique_fd fd;
    int rank = -1;  ///< -1: not admitted.
    deadline proof_end{};
    nonce server_nonce{};
    std::string in;  ///< What has come of the `wanted` bytes.
    std::size_t wanted = sizeof(proof);
    std::string out;  ///< What is to be sent; the first `sent` bytes are.
    std::size_t sent = 0;
    bool last_words = false;  ///< To be closed once `out` is sent.
    bool goodbye = false;     ///< The rank left in good order.
    bool gone = false;
  };

  void run() noexcept {
    try {
      while (!zero_gone_) turn();
      const deadline end = deadline_in(farewell_limit);
      const auto now = [] { return std::chrono::steady_clock::now(); };
      while ((still_sending() && now() < end) ||
             (late_ranks_are_to_be_told() && now() < late_end(end)))
        turn();
    } catch (const std::exception&) {
      // no memory: closing all connections is the one thing left to tell the ranks
    }
    connections_.clear();
    parts_.listener.reset();
  }

  /// One round: what ran out, then one poll, then what it found.
  void turn() {
    expire();
    std::vector<pollfd> polled;
    if (parts_.listener) polled.push_back({parts_.listener.get(), POLLIN, 0});
    const std::size_t first = polled.size();
    for (const connection& c : connections_)
      polled.push_back(
          {c.fd.get(), static_cast<short>(c.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    if (poll(polled.data(), static_cast<nfds_t>(polled.size()), poll_timeout(next_deadline())) <= 0)
      return;
    std::size_t i = first;
    for (connection& c : connections_) {
      const short seen = polled[i++].revents;
      if ((seen & POLLOUT) != 0) send_some(c);
      if ((seen & (POLLIN | POLLHUP | POLLERR)) != 0) receive(c);
    }
    if (first == 1 && polled[0].revents != 0) accept_all();
    connections_.remove_if([](const connection& c) { return c.gone; });
  }

  /// Whether the job failed while ranks connected: those still to come would find nobody.
  bool late_ranks_are_to_be_told() const { return !welcomed_ && proved_ < most_ranks_ - 1; }
  deadline late_end(deadline end) const { return std::min(end + late_limit, admission_end_); }

  bool still_sending() const {
    return std::any_of(connections_.begin(), connections_.end(),
                       [](const connection& c) { return !c.gone && !c.out.empty(); });
  }

  deadline next_deadline() const {
    deadline next =
        std::min(deadline_in(std::chrono::milliseconds(500)), meetings_.next_deadline());
    if (!welcomed_) next = std::min(next, admission_end_);
    for (const connection& c : connections_)
      if (c.rank < 0) next = std::min(next, c.proof_end);
    return next;
  }

  void expire() {
    const deadline now = std::chrono::steady_clock::now();
    for (connection& c : connections_)
      if (c.rank < 0 && now >= c.proof_end) c.gone = true;
    connections_.remove_if([](const connection& c) { return c.gone; });
    if (!welcomed_ && now >= admission_end_) {
      const std::vector<int> late = absent();
      std::string text = describe_absence("connecting", late, parts_.time_limit);
      if (refused_ > 0)
        text += "; " + std::to_string(refused_) +
                (refused_ == 1 ? " connection was refused because it does"
                               : " connections were refused because they do") +
                " not hold the token (HIRIS_TOKEN)";
      break_all(late.front(), text);
    }
    if (const auto late = meetings_.expired(now)) break_all(late->rank, late->text);
  }

  std::vector<int> absent() const {
    std::vector<bool> here(static_cast<std::size_t>(parts_.size));
    for (const connection& c : connections_)
      if (c.rank >= 0) here[static_cast<std::size_t>(c.rank)] = true;
    std::vector<int> ranks;
    for (int r = 0; r < parts_.size; ++r)
      if (!here[static_cast<std::size_t>(r)]) ranks.push_back(r);
    return ranks;
  }

  void accept_all() {
    for (;;) {
      unique_fd fd(accept4(parts_.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EMFILE || errno == ENFILE)  // not a busy loop until one is free
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return;
      }
      set_flag(fd.get(), IPPROTO_TCP, TCP_NODELAY);
      const auto is_stranger = [](const connection& c) { return c.rank < 0 && !c.gone; };
      if (static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(),
                                                 is_stranger)) >= max_strangers)
        std::find_if(connections_.begin(), connections_.end(), is_stranger)->gone = true;
      connection& c = connections_.emplace_back(std::move(fd));
      c.proof_end = deadline_in(handshake_limit);
      c.server_nonce = fresh_nonce();
      queue(c, bytes_of(hello{wire_magic, c.server_nonce}));
    }
  }

  void receive(connection& c) {
    std::array<char, 16384> chunk;
    while (!c.gone && !c.last_words) {
      const ssize_t n =
          recv(c.fd.get(), chunk.data(), std::min(chunk.size(), c.wanted - c.in.size()), 0);
      if (n > 0) {
        c.in.append(chunk.data(), static_cast<std::size_t>(n));
        if (c.in.size() == c.wanted) take(c);
      } else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        hang_up(c);
      } else if (errno != EINTR) {
        return;
      }
    }
  }

  void take(connection& c) {
    if (c.rank < 0) return examine(c);
    const auto header = from_bytes<request_header>(c.in.data());
    if (c.in.size() == sizeof header) {
      if (header.magic != wire_magic || header.step_bytes > max_step_bytes ||
          header.bytes > max_payload_bytes) {
        break_all(c.rank, "rank " + std::to_string(c.rank) + " sent what is not a request");
        return hang_up(c);
      }
      c.wanted += header.step_bytes + static_cast<std::size_t>(header.bytes);
      if (c.in.size() < c.wanted) return;
    }
    request r{header, c.in.substr(sizeof header, header.step_bytes),
              c.in.substr(sizeof header + header.step_bytes)};
    c.in.clear();
    c.wanted = sizeof(request_header);
    if (broken_) return;  // it has been told
    if (header.kind == request_kind::leave && header.team == all_teams) c.goodbye = true;
    apply(meetings_.take(c.rank, std::move(r)));
  }

  /// Looks at a proof. Nothing of it is believed before the token is proved.
  void examine(connection& c) {
    const auto p = from_bytes<proof>(c.in.data());
    const auto mac = [&](std::string_view role) {
      return proof_of(parts_.token, role, c.server_nonce, p.client_nonce, p.rank, p.size);
    };
    if (p.magic != wire_magic || !equal_in_constant_time(p.mac, mac("client"))) {
      ++refused_;
      c.last_words = true;
      return queue(c, bytes_of(answer{wire_magic, 0, {}}));
    }
    queue(c, bytes_of(answer{wire_magic, 1, mac("server")}));
    ++proved_;
    most_ranks_ =
        std::max(most_ranks_, static_cast<int>(std::min<std::uint32_t>(p.size, 1u << 30)));
    const std::string who = "step 'connecting': rank " + std::to_string(p.rank);
    const int rank = static_cast<int>(std::min<std::uint32_t>(p.rank, 1u << 30));
    const std::vector<int> still_absent = absent();
    if (p.size != static_cast<std::uint32_t>(parts_.size))
      break_all(rank, who + " was told of " + std::to_string(p.size) + " ranks, but rank 0 of " +
                          std::to_string(parts_.size) + "; the number must be the same on all");
    else if (p.rank >= p.size)
      break_all(rank, who + " is outside 0 to " + std::to_string(parts_.size - 1));
    else if (std::find(still_absent.begin(), still_absent.end(), rank) == still_absent.end())
      break_all(rank, who + " came twice: two processes were given one rank");
    if (broken_) {
      c.last_words = true;
      return reply(c, {reply_status::broken, culprit_, cause_, 0, {}});
    }
    c.admit(rank);
    if (still_absent.size() == 1) welcome();
  }

  void welcome() {
    welcomed_ = true;
    parts_.listener.reset();
    for (connection& c : connections_)
      if (c.rank < 0) c.gone = true;
    for_all_ranks([&](connection& c) { reply(c, {reply_status::ok, -1, {}, 0, {}}); });
  }

  void hang_up(connection& c) {
    c.gone = true;
    if (c.rank < 0) return;
    const int rank = std::exchange(c.rank, -1);
    if (rank == 0) {
      zero_gone_ = true;
      break_all(0, "rank 0, which serves the channel, left");
    } else if (!c.goodbye) {
      break_all(rank, "rank " + std::to_string(rank) + " died: its connection closed");
    } else if (!welcomed_) {
      break_all(rank, "step 'connecting': rank " + std::to_string(rank) + " left");
    }
  }

  /// Rank 0 comes last: it may end the process, and this thread with it, once it has its reply.
  template <class Action>
  void for_all_ranks(Action action) {
    for (connection& c : connections_)
      if (c.rank > 0) action(c);
    for (connection& c : connections_)
      if (c.rank == 0) action(c);
  }

  void apply(const meeting_result& result) {
    if (result.failed) return break_all(result.rank, result.text);
    for_all_ranks([&](connection& c) {
      for (const delivery& d : result.deliveries)
        if (c.rank == d.rank) reply(c, d.reply);
    });
  }

  void break_all(int rank, std::string text) {
    if (broken_) return;
    broken_ = true;
    culprit_ = rank;
    cause_ = std::move(text);
    meetings_.clear();
    for_all_ranks([&](connection& c) {
      reply(c, {reply_status::broken, culprit_, cause_, 0, {}});
    });
  }

  void reply(connection& c, const reply_parts& r) {
    const std::string_view text = std::string_view(r.text).substr(0, max_text_bytes);
    const reply_header header{
        wire_magic, r.team, r.payload.size(), static_cast<std::uint32_t>(text.size()), r.rank,
        r.status,   0};
    c.out.append(bytes_of(header)).append(text);
    queue(c, r.payload);
  }

  void queue(connection& c, std::string_view bytes) {
    c.out.append(bytes);
    send_some(c);
  }

  void send_some(connection& c) {
    while (c.sent < c.out.size() && !c.gone) {
      const ssize_t n =
          send(c.fd.get(), c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
      if (n >= 0)
        c.sent += static_cast<std::size_t>(n);
      else if (errno == EAGAIN || errno == EWOULDBLOCK)
        return;
      else if (errno != EINTR)
        break;  // its end shows in what is received
    }
    c.out.clear();
    c.sent = 0;
    if (c.last_words) {
      shutdown(c.fd.get(), SHUT_WR);
      c.gone = true;
    }
  }

  tcp_server_parts parts_;
  const deadline admission_end_;
  meeting_table meetings_;
  std::list<connection> connections_;
  bool welcomed_ = false;
  bool zero_gone_ = false;
  bool broken_ = false;
  int culprit_ = -1;
  std::string cause_;
  int refused_ = 0;               ///< Connections that did not hold the token.
  int proved_ = 0;                ///< Connections that did.
  int most_ranks_ = parts_.size;  ///< The most that any of them was told of.
  std::thread thread_;
};

}  // namespace hiris::detail
