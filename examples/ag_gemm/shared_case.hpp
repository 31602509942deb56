// SPDX-License-Identifier: MIT
/// @file
/// The random operands and the reference, once for all ranks of this host: threads share them
/// anyway, processes by a memory file that they inherit. Every rank writes its share, so nothing
/// large is sent or computed twice. Ranks that another launcher started have their own, whole.
///
///     shared_case data(options, memory_of_this_process());
///     data.fill<float16>(rank);               meet();          // in every rank
///     data.compute_reference<float16>(rank);  meet();
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "hiris/error.hpp"
#include "hiris/platform/float16.hpp"
#include "options.hpp"
#include "reference.hpp"

namespace ag_gemm {

/// Name of the variable by which a rank finds the memory file of its parent.
inline constexpr const char* memory_variable = "AG_GEMM_MEMORY_FD";

/// Zeroed memory that processes share. Pages are taken when first touched, and nothing is left
/// behind when the last process has ended, however it ended.
class shared_memory {
 public:
  /// @param file A memory file, or -1 to share with threads of this process only.
  /// @throws errc::out_of_memory naming the bytes.
  shared_memory(std::int64_t n_bytes, int file)
      : n_bytes_(static_cast<std::size_t>(n_bytes)),
        data_(mmap(nullptr, n_bytes_, PROT_READ | PROT_WRITE,
                   (file < 0 ? MAP_ANONYMOUS : 0) | MAP_SHARED | MAP_NORESERVE, file, 0)) {
    if (data_ == MAP_FAILED) throw no_room(n_bytes);
  }
  ~shared_memory() { munmap(data_, n_bytes_); }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  /// What to throw after a call that has set errno.
  static hiris::error no_room(std::int64_t n_bytes) {
    return {hiris::errc::out_of_memory, -1,
            "the operands and the reference need " + std::to_string(n_bytes) +
                " bytes of the host's memory: " + std::strerror(errno)};
  }

  template <class T>
  T* at(std::int64_t offset_bytes) const {
    return reinterpret_cast<T*>(static_cast<char*>(data_) + offset_bytes);
  }

 private:
  std::size_t n_bytes_;
  void* data_;
};

/// A, B and the reference of C.
class shared_case {
 public:
  /// @param file A memory file of `bytes_of(o)` bytes, or -1.
  /// @param sharers Ranks that see this memory and write a share of it each.
  shared_case(const options& o, int file, int sharers)
      : options_(o), sharers_(sharers), memory_(bytes_of(o), file) {}

  /// A, B and, with --verify, the reference, each on pages of its own.
  ///
  /// @throws errc::invalid_argument naming the sizes, if 62 bits do not count the bytes.
  static std::int64_t bytes_of(const options& o) {
    const double m = static_cast<double>(o.m), n = static_cast<double>(o.n),
                 k = static_cast<double>(o.k);
    if (2 * m * k + 2 * k * n + 8 * m * n > 0x1p62)
      throw hiris::error(hiris::errc::invalid_argument, -1,
                         "m, n and k are " + std::to_string(o.m) + ", " + std::to_string(o.n) +
                             " and " + std::to_string(o.k) +
                             ": A, B and the reference would have more than 2^62 bytes, which is "
                             "the most allowed");
    return b_offset(o) + pages(2 * o.k * o.n) + (o.verify ? 8 * o.m * o.n : 0);
  }

  const std::uint16_t* a() const { return memory_.at<std::uint16_t>(0); }  ///< [m, k]
  /// [k, n] or [n, k]
  const std::uint16_t* b() const { return memory_.at<std::uint16_t>(b_offset(options_)); }
  /// [m, n], with --verify
  double* reference() const {
    return memory_.at<double>(b_offset(options_) + pages(2 * options_.k * options_.n));
  }

  /// Writes this rank's share of A and B: numbers from [-1, 1), each a function of its place.
  template <class T>
  void fill(int rank) {
    fill_share<T>(memory_.at<std::uint16_t>(0), options_.m * options_.k, 0x0a, rank);
    fill_share<T>(memory_.at<std::uint16_t>(b_offset(options_)), options_.k * options_.n, 0x0b,
                  rank);
  }

  /// Writes this rank's columns of the reference, with its share of the processors.
  template <class T>
  void compute_reference(int rank) {
    const auto values = std::make_unique<value_table>();
    for (std::size_t bits = 0; bits < values->size(); ++bits)
      (*values)[bits] = hiris::to_float(T{static_cast<std::uint16_t>(bits)});
    const operands in{options_.m,  options_.n, options_.k,
                      a(),         b(),        options_.b_layout == layout::nk,
                      values.get()};
    const int processors = static_cast<int>(std::thread::hardware_concurrency());
    const range columns = share(options_.n, rank);
    multiply_columns(in, columns.begin, columns.end, std::max(1, processors / sharers_),
                     reference());
  }

 private:
  static std::int64_t pages(std::int64_t bytes) { return (bytes + 4095) / 4096 * 4096; }
  static std::int64_t b_offset(const options& o) { return pages(2 * o.m * o.k); }

  struct range {
    std::int64_t begin, end;
  };
  /// A rank's share of `total`; one that shares with nobody has all of it.
  range share(std::int64_t total, int rank) const {
    if (sharers_ == 1) return {0, total};
    return {total * rank / sharers_, total * (rank + 1) / sharers_};
  }

  template <class T>
  void fill_share(std::uint16_t* to, std::int64_t total, std::uint64_t stream, int rank) {
    const std::uint64_t key = options_.seed * 0x9e3779b97f4a7c15u + (stream << 56);
    const range mine = share(total, rank);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      std::uint64_t x = key + static_cast<std::uint64_t>(i) * 0xd1342543de82ef95u;
      x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9u;
      x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
      const float unit = static_cast<float>(x >> 40) * 0x1p-23f - 1.0f;
      to[i] = hiris::from_float<T>(unit).bits;
    }
  }

  options options_;
  int sharers_;
  shared_memory memory_;
};

}  // namespace ag_gemm
