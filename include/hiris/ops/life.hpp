// SPDX-License-Identifier: MIT
/// @file
/// Whether an op may still be called. Ranks count calls each for itself; once one has failed on a
/// rank, the counts no longer agree, and nothing but a new op on all ranks brings them together.
///
///     op_life life(heap, "flash_decode");
///     life.require();                      // throws what has failed, and from then on always
///     life.launching([&] { launch(); });
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/world.hpp"

namespace hiris {

/// The life of an op on one rank. The heap must outlive it.
class op_life {
 public:
  /// @param op Its name, for errors; a literal.
  op_life(const symmetric_heap& heap, const char* op)
      : heap_(heap), op_(op), resets_(heap.fault_resets()) {}

  /// @throws errc::timed_out, and what else symmetric_heap::check throws, once a wait has failed;
  ///         errc::timed_out from then on, and if the fault was reset meanwhile.
  void require() {
    if (dead_ || heap_.fault_resets() != resets_)
      throw error(errc::timed_out, heap_.ranks().rank(),
                  "this " + std::string(op_) +
                      " has failed before, or a fault of its heap was reset since it was built; "
                      "build a new one on all ranks");
    try {
      heap_.check();
    } catch (...) {
      dead_ = true;
      throw;
    }
  }

  /// Runs the launches of a call. If one fails, peers wait for what never comes: the op is dead.
  template <class F>
  void launching(F&& f) {
    dead_ = true;
    std::forward<F>(f)();
    dead_ = false;
  }

 private:
  const symmetric_heap& heap_;
  const char* op_;
  std::uint64_t resets_;
  bool dead_ = false;
};

}  // namespace hiris
