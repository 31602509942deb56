// SPDX-License-Identifier: MIT
/// @file
/// The input of a fuzzer, taken apart from the front. Where it ends, zeros follow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace hiris::test {

class fuzz_bytes {
 public:
  fuzz_bytes(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  /// A value of any trivially copyable type, as it lies in the input.
  template <class T>
  T take() {
    T value{};
    const std::size_t n = std::min(left_, sizeof value);
    if (n > 0) std::memcpy(&value, at_, n);
    skip(n);
    return value;
  }
  /// A whole number from 0 to `most`.
  int number(int most) { return take<std::uint8_t>() % (most + 1); }
  /// Up to `most` bytes; the length is the first of them.
  std::string text(std::size_t most) {
    return bytes(std::min<std::size_t>(take<std::uint8_t>(), most));
  }
  std::string rest() { return bytes(left_); }

 private:
  std::string bytes(std::size_t n) {
    n = std::min(n, left_);
    std::string taken(reinterpret_cast<const char*>(at_), n);
    skip(n);
    return taken;
  }
  void skip(std::size_t n) {
    at_ += n;
    left_ -= n;
  }

  const std::uint8_t* at_;
  std::size_t left_;
};

/// Ends the process, which is how a fuzzer reports.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace hiris::test
