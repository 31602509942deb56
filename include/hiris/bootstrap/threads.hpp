// SPDX-License-Identifier: MIT
/// @file
/// Ranks that are threads of one process: the set-up channel in shared memory.
///
/// A rank that throws or leaves breaks the group, so that the others hear of it at once.
///
///     hiris::run_ranks(4, [](std::shared_ptr<hiris::bootstrap> boot) {
///       int mine = boot->rank(), all[4];
///       boot->all_gather(&mine, all, sizeof mine, "exchange of ranks");
///     });
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/thread_team.hpp"
#include "hiris/bootstrap/time_limit.hpp"
#include "hiris/error.hpp"

namespace hiris {

/// A group of ranks that are threads of this process. Movable; may be destroyed before its ranks.
class thread_group {
 public:
  /// @param size       Number of ranks, at least 1.
  /// @param time_limit Longest that a rank waits for the others in one step.
  /// @throws errc::invalid_argument for another size or limit.
  explicit thread_group(int size,
                        std::chrono::milliseconds time_limit = time_limit_from_environment()) {
    if (size < 1)
      throw error(errc::invalid_argument, -1,
                  "a thread group of " + std::to_string(size) + " ranks; allowed are 1 or more");
    if (time_limit.count() < 1)
      throw error(errc::invalid_argument, -1,
                  "a time limit of " + std::to_string(time_limit.count()) +
                      " ms; allowed are 1 ms or more");
    std::vector<int> names;
    for (int r = 0; r < size; ++r) names.push_back(r);
    team_ = std::make_shared<detail::thread_team>(std::make_shared<detail::thread_hub>(time_limit),
                                                  std::move(names));
  }
  thread_group(thread_group&&) noexcept = default;
  thread_group& operator=(thread_group&&) = delete;
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;
  /// Ranks that have not joined never will: those that wait for them are told.
  ~thread_group() {
    if (team_) team_->close();
  }

  int size() const noexcept { return team_->size(); }

  /// The channel of `rank`; to be used by one thread.
  ///
  /// @throws errc::invalid_argument if `rank` is outside 0 .. size-1 or has joined before.
  std::shared_ptr<bootstrap> join(int rank) {
    if (rank < 0 || rank >= size())
      throw error(errc::invalid_argument, -1,
                  "rank " + std::to_string(rank) + " joins a thread group; allowed are 0 to " +
                      std::to_string(size() - 1));
    team_->join(rank);
    return std::make_shared<detail::thread_bootstrap>(team_, rank);
  }

  /// Breaks the group: every rank that waits, now or later, throws errc::bootstrap_failed.
  ///
  /// @param rank The rank to name as the one that failed.
  /// @param why  What happened to it.
  void fail(int rank, const std::string& why) noexcept { team_->fail(rank, why); }

  /// The rank that broke the group: it failed, left, or did not come. -1 while the group is sound.
  int culprit() const { return team_->culprit(); }

 private:
  std::shared_ptr<detail::thread_team> team_;
};

/// Runs `f(std::shared_ptr<bootstrap>)` on `n` threads, one a rank, and joins them.
///
/// @param n          Number of ranks, at least 1.
/// @param time_limit Longest that a rank waits for the others in one step of set-up.
/// @throws The exception of the rank that broke the group, or else the first; those of the others
///         are consequences of it.
inline void run_ranks(int n, const std::function<void(std::shared_ptr<bootstrap>)>& f,
                      std::chrono::milliseconds time_limit = time_limit_from_environment()) {
  thread_group group(n, time_limit);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(n));
  const auto record = [&](int rank, const std::string& why) {
    {
      const std::lock_guard lock(mutex);  // before the others are told
      thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      if (!first) first = std::current_exception();
    }
    group.fail(rank, why);
  };
  const auto body = [&](int rank, std::shared_ptr<bootstrap> mine) {
    try {
      f(mine);  // a copy: `mine` outlives the unwinding, so that leaving is not taken for the cause
    } catch (const std::exception& e) {
      record(rank, e.what());
    } catch (...) {
      record(rank, "an exception that is not a std::exception");
    }
  };
  std::vector<std::shared_ptr<bootstrap>> ranks;
  for (int r = 0; r < n; ++r) ranks.push_back(group.join(r));
  std::vector<std::thread> threads;
  try {
    for (int r = 0; r < n; ++r)
      threads.emplace_back(body, r, std::move(ranks[static_cast<std::size_t>(r)]));
  } catch (const std::exception& e) {  // no more threads: free those that run
    record(static_cast<int>(threads.size()), e.what());
  }
  for (std::thread& t : threads) t.join();
  const int culprit = group.culprit();  // unwinding leaves teams, so that others may fail before it
  if (culprit >= 0 && thrown[static_cast<std::size_t>(culprit)])
    std::rethrow_exception(thrown[static_cast<std::size_t>(culprit)]);
  if (first) std::rethrow_exception(first);
}

}  // namespace hiris
