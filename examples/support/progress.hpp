// SPDX-License-Identifier: MIT
/// @file
/// Says on stderr what is going on when a step takes more than two seconds, and again every ten.
///
///     progress step("filling A and B", rank == 0);   // until the end of the scope
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace example {

/// One step. Only the rank that `speaks` prints.
class progress {
 public:
  progress(std::string step, bool speaks) : step_(std::move(step)) {
    if (speaks) speaker_ = std::thread([this] { watch(); });
  }
  ~progress() {
    if (!speaker_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    speaker_.join();
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

 private:
  void watch() {
    const auto begun = std::chrono::steady_clock::now();
    auto next = begun + std::chrono::seconds(2);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_until(lock, next, [this] { return done_; })) {
      const auto passed = std::chrono::steady_clock::now() - begun;
      std::fprintf(
          stderr, "... %s, %lld s\n", step_.c_str(),
          static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(passed).count()));
      next += std::chrono::seconds(10);
    }
  }

  std::string step_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread speaker_;
};

}  // namespace example
