// SPDX-License-Identifier: MIT
/// @file
/// How ranks tell each other that a step failed: its outcome as bytes, and the agreement on it.
///
///     detail::outcome mine;
///     mine.run([&] { risky(); });
///     detail::agree(boot, mine, "the risky step");   // throws on every rank if it threw on any
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "hiris/bootstrap/bootstrap.hpp"
#include "hiris/bootstrap/detail/received.hpp"
#include "hiris/error.hpp"

namespace hiris::detail {

/// What a body returned; a reference stays one.
template <class T>
struct held {
  T value;
};

/// A text of bounded length that travels as bytes. A longer one is cut; `hash` covers all of it.
struct wire_text {
  std::array<char, 1000> chars{};
  std::uint64_t length = 0;
  std::uint64_t hash = 0;

  void assign(std::string_view text) {
    length = text.size();
    hash = 14695981039346656037u;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    chars.fill(0);
    std::copy_n(text.begin(), std::min(text.size(), chars.size()), chars.begin());
  }
  std::string text() const {
    const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(length, chars.size()));
    return std::string(chars.data(), kept) + (kept < length ? " ..." : "");
  }
  bool operator==(const wire_text&) const = default;
};

/// How a step ended on one rank. Trivially copyable.
struct outcome {
  std::uint8_t failed = 0;  ///< 0 or 1.
  errc code = errc::runtime_failed;
  wire_text text;

  /// Runs `body` and keeps what it throws.
  template <class Body>
  void run(Body&& body) {
    try {
      body();
    } catch (const error& e) {
      keep(e.code(), without_prefix(e));
    } catch (const std::bad_alloc&) {
      keep(errc::out_of_memory, "host memory is exhausted");
    } catch (const std::exception& e) {
      keep(errc::runtime_failed, e.what());
    } catch (...) {
      keep(errc::runtime_failed, "an exception that is not a std::exception");
    }
  }

 private:
  void keep(errc why, std::string_view what) {
    failed = 1;
    code = why;
    text.assign(what);
  }

  /// The sentence alone: the prefix is put on again where it is thrown on every rank.
  static std::string without_prefix(const error& e) {
    const std::string what = e.what();
    const std::string prefix = error(e.code(), e.rank(), "").what();
    return what.compare(0, prefix.size(), prefix) == 0 ? what.substr(prefix.size()) : what;
  }
};

/// Collective: throws the failure of the lowest rank that has one, the same on every rank.
inline void agree(bootstrap& boot, const outcome& mine, std::string_view step) {
  std::vector<outcome> all(static_cast<std::size_t>(boot.size()));
  boot.all_gather(&mine, all.data(), sizeof mine, step);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].failed > 1 || all[r].code > errc::runtime_failed)
      throw told_wrongly(
          static_cast<int>(r), step,
          "outcome " + std::to_string(all[r].failed) + " with code " +
              std::to_string(static_cast<int>(all[r].code)),
          "0 or 1 with a code up to " + std::to_string(static_cast<int>(errc::runtime_failed)));
    if (all[r].failed == 1)
      throw error(all[r].code, static_cast<int>(r), std::string(step) + ": " + all[r].text.text());
  }
}

/// Collective: throws errc::mismatch on every rank unless all pass the same `value`.
inline void agree_on_text(bootstrap& boot, std::string_view step, std::string_view name,
                          std::string_view value) {
  struct claim {
    wire_text name, value;
  } mine;
  mine.name.assign(name);
  mine.value.assign(value);
  std::vector<claim> all(static_cast<std::size_t>(boot.size()));
  boot.all_gather(&mine, all.data(), sizeof mine, step);
  const auto describe = [&](std::size_t r) {
    return all[r].name.text() + " is " + all[r].value.text() + " on rank " + std::to_string(r);
  };
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r].name != all[0].name || all[r].value != all[0].value)
      throw error(errc::mismatch, static_cast<int>(r),
                  std::string(step) + ": " + describe(0) + ", but " + describe(r) +
                      "; it must be the same on all ranks");
}

}  // namespace hiris::detail
