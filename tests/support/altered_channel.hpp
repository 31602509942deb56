// SPDX-License-Identifier: MIT
/// @file
/// A set-up channel on which something else arrives than was sent: a peer of another build, or one
/// that has gone wrong.
///
///     // every rank hears that rank 2 has freed a million blocks
///     auto channel = altered<allocation_request>(boot, "symmetric allocation", 2,
///                                                [](allocation_request& r) { r.untold = 1e6; });
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "hiris/bootstrap/bootstrap.hpp"

namespace hiris::test {

class altered_channel final : public bootstrap {
 public:
  /// Changes what has arrived: [size, bytes], in rank order.
  using change = std::function<void(std::string_view step, char* all, std::size_t bytes)>;

  altered_channel(std::shared_ptr<bootstrap> real, change alter)
      : real_(std::move(real)), alter_(std::move(alter)) {}
  int rank() const noexcept override { return real_->rank(); }
  int size() const noexcept override { return real_->size(); }
  void all_gather(const void* mine, void* all, std::size_t bytes, std::string_view step) override {
    real_->all_gather(mine, all, bytes, step);
    alter_(step, static_cast<char*>(all), bytes);
  }
  void barrier(std::string_view step) override { real_->barrier(step); }
  /// Of the new channel, too, what arrives is changed.
  std::unique_ptr<bootstrap> split(int color, int key, std::string_view step) override {
    std::shared_ptr<bootstrap> team = real_->split(color, key, step);
    return team ? std::make_unique<altered_channel>(std::move(team), alter_) : nullptr;
  }

 private:
  const std::shared_ptr<bootstrap> real_;
  const change alter_;
};

/// Changes the value that `rank` tells first thing in each step of this name.
template <class T>
std::shared_ptr<bootstrap> altered(std::shared_ptr<bootstrap> real, const std::string& step,
                                   int rank, const std::function<void(T&)>& alter) {
  return std::make_shared<altered_channel>(
      std::move(real), [=](std::string_view now, char* all, std::size_t bytes) {
        if (now != step || bytes < sizeof(T)) return;
        char* const row = all + bytes * static_cast<std::size_t>(rank);
        T value;
        std::memcpy(&value, row, sizeof value);
        alter(value);
        std::memcpy(row, &value, sizeof value);
      });
}

}  // namespace hiris::test
