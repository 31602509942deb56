// SPDX-License-Identifier: MIT
/// @file
/// How ranks of an MPI communicator meet, with a time limit: the state behind `mpi.hpp`.
///
/// A meeting has up to three rounds in which everybody sends to everybody: what call this is;
/// whether all have come (those who gave up say so, for the ones that come late); the payload. A
/// team is a list of ranks and a tag on the one communicator.
///
///     line->meet(team, mine, bytes, all, step);
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/received.hpp"
#include "hiris/bootstrap/detail/team.hpp"
#include "hiris/error.hpp"

namespace hiris::detail {

/// Ranks of the communicator that form a team, and the tag of its messages.
struct mpi_team {
  std::vector<int> members;  ///< In the order of the team.
  int rank;                  ///< This rank's place in it.
  int tag;
};

/// The duplicate communicator, shared by all teams of it.
class mpi_line {
 public:
  mpi_line(MPI_Comm comm, std::chrono::milliseconds limit) : limit_(limit) {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_get_errhandler(comm, &before), "duplicating the communicator");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
    const int status = MPI_Comm_idup(comm, &comm_, request.data());
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
    check(status, "duplicating the communicator");
    if (!complete(request, std::chrono::steady_clock::now() + limit_))
      break_with("duplicating the communicator", -1,
                 "not all ranks came within " + std::to_string(limit_.count()) + " ms");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "duplicating the communicator");
  }
  ~mpi_line() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!broken_ && finalized == 0) MPI_Comm_free(&comm_);  // a broken one may have calls under way
  }
  mpi_line(const mpi_line&) = delete;
  mpi_line& operator=(const mpi_line&) = delete;

  mpi_team everybody() const {
    mpi_team team{{}, 0, 0};
    int size = 0;
    MPI_Comm_rank(comm_, &team.rank);
    MPI_Comm_size(comm_, &size);
    for (int r = 0; r < size; ++r) team.members.push_back(r);
    return team;
  }

  /// One all-gather.
  void meet(const mpi_team& team, const void* mine, std::size_t bytes, void* all,
            std::string_view step) {
    const std::size_t n = team.members.size(), me = index(team.rank);
    if (bytes > INT_MAX)
      throw error(errc::invalid_argument, -1,
                  name_step(step) + std::to_string(bytes) + " bytes a rank; allowed are " +
                      std::to_string(INT_MAX) + " at most");
    if (broken_) throw error(errc::bootstrap_failed, culprit_, in_step(step, cause_));

    std::vector<arrival> arrivals(n);
    arrivals[me] = arrival_of(step, bytes);
    round(team, arrivals.data(), sizeof(arrival), step);
    std::vector<verdict> verdicts(n);
    verdicts[me].rank = -1;
    round(team, verdicts.data(), sizeof(verdict), step);
    for (const verdict& v : verdicts)
      if (v.rank >= 0) break_with(step, v.rank, received_text(v.text));

    for (std::size_t r = 1; r < n; ++r)
      if (arrivals[r] != arrivals[0])
        throw error(errc::mismatch, team.members[r],
                    describe_mismatch(call_of(team.members[0], arrivals[0]),
                                      call_of(team.members[r], arrivals[r])));
    if (bytes == 0) return;
    std::vector<char> gathered(n * bytes);
    std::memcpy(gathered.data() + me * bytes, mine, bytes);
    round(team, gathered.data(), bytes, step);
    std::memcpy(all, gathered.data(), gathered.size());
  }

  /// Splits a team. A tag is taken that is free on all its ranks.
  mpi_team split(const mpi_team& team, split_choice mine, std::string_view step) {
    struct offer {
      split_choice choice;
      int free_tag;
    };
    const offer my_offer{mine, free_tag_};
    std::vector<offer> offers(team.members.size());
    meet(team, &my_offer, sizeof my_offer, offers.data(), step);
    std::vector<split_choice> choices;
    std::set<int> colors;
    for (const offer& o : offers) {
      choices.push_back(o.choice);
      if (o.choice.color >= 0) colors.insert(o.choice.color);
      free_tag_ = std::max(free_tag_, o.free_tag);
    }
    if (free_tag_ >= max_teams)
      throw error(errc::invalid_argument, -1,
                  name_step(step) + "a split after " + std::to_string(free_tag_) +
                      " teams; allowed are " + std::to_string(max_teams));
    mpi_team made{{}, 0, free_tag_++};  // teams of one split have no rank in common
    if (mine.color < 0) return made;
    for (const int at : team_members(choices, mine.color)) {
      if (at == team.rank) made.rank = static_cast<int>(made.members.size());
      made.members.push_back(team.members[index(at)]);
    }
    return made;
  }

 private:
  /// MPI promises tags up to this.
  static constexpr int max_teams = 32767;

  struct arrival {
    std::array<char, 240> step;
    std::uint64_t step_bytes;
    std::uint64_t bytes;
    bool operator==(const arrival&) const = default;
  };
  struct verdict {
    std::int64_t rank = -1;  ///< The rank that is missing, or -1.
    std::array<char, 248> text{};
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  static arrival arrival_of(std::string_view step, std::size_t bytes) {
    arrival a{{}, std::min(step.size(), a.step.size()), bytes};
    std::copy_n(step.begin(), a.step_bytes, a.step.begin());
    return a;
  }
  static call call_of(int rank, const arrival& a) {
    return {rank, {a.step.data(), std::min<std::uint64_t>(a.step_bytes, a.step.size())}, a.bytes};
  }

  /// Sends this rank's row of [n, bytes] to all others, and receives theirs.
  void round(const mpi_team& team, void* rows, std::size_t bytes, std::string_view step) {
    const std::size_t n = team.members.size(), me = index(team.rank);
    auto buffer = std::make_shared<std::vector<char>>(n * bytes);
    char* const mine = buffer->data() + me * bytes;
    std::memcpy(mine, static_cast<char*>(rows) + me * bytes, bytes);
    std::vector<MPI_Request> requests(2 * n, MPI_REQUEST_NULL);  // receives, then sends
    for (std::size_t r = 0; r < n; ++r)
      if (r != me)
        check(MPI_Irecv(buffer->data() + r * bytes, static_cast<int>(bytes), MPI_BYTE,
                        team.members[r], team.tag, comm_, &requests[r]),
              step);
    for (std::size_t r = 0; r < n; ++r)
      if (r != me)
        check(MPI_Isend(mine, static_cast<int>(bytes), MPI_BYTE, team.members[r], team.tag, comm_,
                        &requests[n + r]),
              step);
    if (complete(requests, std::chrono::steady_clock::now() + limit_)) {
      std::memcpy(rows, buffer->data(), buffer->size());
      return;
    }
    std::vector<int> late;
    for (const std::size_t from : {std::size_t{0}, n})
      for (std::size_t r = 0; r < n && (from == 0 || late.empty()); ++r)
        if (requests[from + r] != MPI_REQUEST_NULL) late.push_back(team.members[r]);
    abandon(requests, buffer);
    give_up(team, late, step);
  }

  /// Tests until all are done. False if the deadline comes first; finished ones are null then.
  bool complete(std::vector<MPI_Request>& requests, std::chrono::steady_clock::time_point end) {
    for (int looks = 0;; ++looks) {
      bool all_done = true;
      for (MPI_Request& request : requests) {
        int done = 1;
        if (request != MPI_REQUEST_NULL)
          check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "waiting for messages");
        all_done = all_done && done != 0;
      }
      if (all_done) return true;
      if (std::chrono::steady_clock::now() >= end) return false;
      if (looks > 100) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  /// Lets go of messages under way. Their memory stays, since MPI may still touch it.
  static void abandon(std::vector<MPI_Request>& requests, std::shared_ptr<void> buffer) {
    static std::vector<std::shared_ptr<void>>& kept = *new std::vector<std::shared_ptr<void>>;
    kept.push_back(std::move(buffer));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] == MPI_REQUEST_NULL) continue;
      if (i < requests.size() / 2) MPI_Cancel(&requests[i]);
      MPI_Request_free(&requests[i]);
    }
  }

  /// Tells the others that those `late` did not come, for when they do, and throws.
  [[noreturn]] void give_up(const mpi_team& team, const std::vector<int>& late,
                            std::string_view step) {
    const std::string text = describe_absence(step, late, limit_);
    auto word = std::make_shared<verdict>();
    word->rank = late.front();
    std::copy_n(text.begin(), std::min(text.size(), word->text.size() - 1), word->text.begin());
    std::vector<MPI_Request> sends(2 * team.members.size(), MPI_REQUEST_NULL);
    for (std::size_t r = 0; r < team.members.size(); ++r)
      if (static_cast<int>(r) != team.rank)
        MPI_Isend(word.get(), sizeof *word, MPI_BYTE, team.members[r], team.tag, comm_,
                  &sends[team.members.size() + r]);
    abandon(sends, word);
    break_with(step, late.front(), text);
  }

  void check(int status, std::string_view step) {
    if (status == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    break_with(step, -1, "MPI failed: " + std::string(text.data(), index(length)));
  }

  [[noreturn]] void break_with(std::string_view step, std::int64_t rank, std::string text) {
    broken_ = true;
    culprit_ = static_cast<int>(rank);
    cause_ = std::move(text);
    throw error(errc::bootstrap_failed, culprit_, in_step(step, cause_));
  }

  const std::chrono::milliseconds limit_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int free_tag_ = 1;
  bool broken_ = false;
  int culprit_ = -1;
  std::string cause_;
};

/// A rank in a team.
class mpi_channel final : public bootstrap {
 public:
  mpi_channel(std::shared_ptr<mpi_line> line, mpi_team team)
      : line_(std::move(line)), team_(std::move(team)) {}

  int rank() const noexcept override { return team_.rank; }
  int size() const noexcept override { return static_cast<int>(team_.members.size()); }

  void all_gather(const void* mine, void* all, std::size_t bytes, std::string_view step) override {
    line_->meet(team_, mine, bytes, all, step);
  }
  void barrier(std::string_view step) override { line_->meet(team_, nullptr, 0, nullptr, step); }
  std::unique_ptr<bootstrap> split(int color, int key, std::string_view step) override {
    mpi_team made = line_->split(team_, {color, key}, step);
    if (color < 0) return nullptr;
    return std::make_unique<mpi_channel>(line_, std::move(made));
  }

 private:
  const std::shared_ptr<mpi_line> line_;
  const mpi_team team_;
};

}  // namespace hiris::detail
