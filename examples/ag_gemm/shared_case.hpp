// SPDX-License-Identifier: MIT
/// @file
/// The random operands and the reference, once for all ranks: memory that threads share anyway and
/// processes inherit. Every rank fills its share, so nothing large is ever sent or computed twice.
///
///     shared_case data(options);                    // before the ranks start
///     data.fill<float16>(rank);    meet();          // in every rank
///     data.compute_reference<float16>(rank);  meet();
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>

#include "hiris/platform/float16.hpp"
#include "options.hpp"
#include "reference.hpp"

namespace ag_gemm {

/// Zeroed memory that stays shared with child processes. Pages are taken when first written.
template <class T>
class shared_array {
 public:
  explicit shared_array(std::int64_t n_elems)
      : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(n_elems, 1)) * sizeof(T)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~shared_array() { munmap(data_, bytes_); }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;

  T* data() const { return static_cast<T*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

/// A, B and the reference of C.
class shared_case {
 public:
  explicit shared_case(const options& o)
      : options_(o), a_(o.m * o.k), b_(o.k * o.n), reference_(o.verify ? o.m * o.n : 0) {}

  const std::uint16_t* a() const { return a_.data(); }           ///< [m, k]
  const std::uint16_t* b() const { return b_.data(); }           ///< [k, n] or [n, k]
  const double* reference() const { return reference_.data(); }  ///< [m, n], with --verify

  /// Writes this rank's share of A and B: numbers from [-1, 1), each a function of its place.
  template <class T>
  void fill(int rank) {
    fill_share<T>(a_.data(), options_.m * options_.k, 0x0a, rank);
    fill_share<T>(b_.data(), options_.k * options_.n, 0x0b, rank);
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
    multiply_columns(in, share(options_.n, rank), share(options_.n, rank + 1),
                     std::max(1, processors / options_.ranks), reference_.data());
  }

 private:
  std::int64_t share(std::int64_t total, int rank) const { return total * rank / options_.ranks; }

  template <class T>
  void fill_share(std::uint16_t* to, std::int64_t total, std::uint64_t stream, int rank) {
    const std::uint64_t key = options_.seed * 0x9e3779b97f4a7c15u + (stream << 56);
    for (std::int64_t i = share(total, rank); i < share(total, rank + 1); ++i) {
      std::uint64_t x = key + static_cast<std::uint64_t>(i) * 0xd1342543de82ef95u;
      x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9u;
      x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
      const float unit = static_cast<float>(x >> 40) * 0x1p-23f - 1.0f;
      to[i] = hiris::from_float<T>(unit).bits;
    }
  }

  options options_;
  shared_array<std::uint16_t> a_;
  shared_array<std::uint16_t> b_;
  shared_array<double> reference_;
};

}  // namespace ag_gemm
