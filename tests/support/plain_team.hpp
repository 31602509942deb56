// SPDX-License-Identifier: MIT
/// @file
/// The contexts of W ranks made by hand, in one process and on one device, so that the device
/// primitives are tested without world and heap: block r of a launch plays rank r.
///
///     plain_team team(4, 4096, 16);
///     team.launch<my_kernel>({team.contexts(), team.data<int>(0)});   // symmetric address of rank
///     0 EXPECT_EQ(team.read<int>(2, 0, 1)[0], 42);                      // data of rank 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiris/context.hpp"
#include "hiris/platform/launch.hpp"
#include "hiris/platform/runtime.hpp"

namespace hiris::test {

class plain_team {
 public:
  /// @param budget_ns Longest wait; a minute, so that a loaded machine does not fail a test.
  plain_team(int size, std::size_t data_bytes, std::size_t n_signals,
             std::uint64_t budget_ns = 60'000'000'000)
      : size_(size), n_signals_(n_signals) {
    std::vector<window> windows;
    for (int r = 0; r < size; ++r) {
      data_.emplace_back(data_bytes);
      signals_.emplace_back(1 + n_signals, platform::memory_kind::signal);  // control line first
      faults_.emplace_back(1, platform::memory_kind::host);
      data_.back().fill_with(std::byte{0});
      signals_.back().fill_with(std::byte{0});
      *faults_.back().data() = fault_record{};
      windows.push_back({data_.back().data(), reinterpret_cast<char*>(signals(r))});
    }
    windows.push_back(
        {data_[0].data() + data_bytes, reinterpret_cast<char*>(signals(0) + n_signals)});
    windows_ = platform::device_buffer<window>(windows.size());
    windows_.copy_from(windows);
    std::vector<context> contexts;
    for (int r = 0; r < size; ++r)
      contexts.push_back(
          {r, size, windows_.data(), faults_[static_cast<std::size_t>(r)].data(), budget_ns});
    contexts_ = platform::device_buffer<context>(contexts.size());
    contexts_.copy_from(contexts);
  }

  int size() const { return size_; }
  /// The contexts of all ranks, in device memory. [size]
  const context* contexts() const { return contexts_.data(); }

  /// Where `rank` sees element `index` of its own data.
  template <class T>
  T* data(int rank, std::size_t index = 0) const {
    return reinterpret_cast<T*>(data_[static_cast<std::size_t>(rank)].data()) + index;
  }
  signal_counter* signals(int rank) const {
    return signals_[static_cast<std::size_t>(rank)].data() + 1;
  }
  fault_record& fault(int rank) const { return *faults_[static_cast<std::size_t>(rank)].data(); }
  /// What peers have told `rank`.
  fault_record control_line(int rank) const {
    fault_record line;
    platform::copy_now(&line, signals(rank) - 1, sizeof line);
    return line;
  }

  /// Reads `n_elems` elements of `rank`'s data, from element `first` on.
  template <class T>
  std::vector<T> read(int rank, std::size_t first, std::size_t n_elems) const {
    std::vector<T> host(n_elems);
    platform::copy_now(host.data(), data<T>(rank, first), n_elems * sizeof(T));
    return host;
  }
  /// Writes `values` to `rank`'s data, from element `first` on.
  template <class T>
  void write(int rank, std::size_t first, const std::vector<T>& values) {
    platform::copy_now(data<T>(rank, first), values.data(), values.size() * sizeof(T));
  }
  /// Sets every byte of every rank's data.
  void fill(std::uint8_t value) {
    for (auto& d : data_) d.fill_with(std::byte{value});
  }

  std::uint64_t arrivals(int rank, std::size_t index) const {
    signal_counter value{};
    platform::copy_now(&value, signals(rank) + index, sizeof value);
    return value.arrivals;
  }
  /// Sets all signals of all ranks, e.g. shortly before the wrap of the count.
  void set_arrivals(std::uint64_t value) {
    const std::vector<signal_counter> all(n_signals_, signal_counter{value});
    for (int r = 0; r < size_; ++r)
      platform::copy_now(signals(r), all.data(), all.size() * sizeof all[0]);
  }

  /// Runs K with one workgroup a rank and waits for it.
  template <class K>
  void launch(const typename K::params& p) const {
    platform::launch<K>(stream_, size_, p);
    stream_.synchronize();
  }

 private:
  int size_;
  std::size_t n_signals_;
  platform::owned_stream stream_;
  std::vector<platform::device_buffer<char>> data_;
  std::vector<platform::device_buffer<signal_counter>> signals_;
  std::vector<platform::device_buffer<fault_record>> faults_;
  platform::device_buffer<window> windows_;
  platform::device_buffer<context> contexts_;
};

}  // namespace hiris::test
