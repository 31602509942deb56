// SPDX-License-Identifier: MIT
/// @file
/// A communicator of the vendor's library of collectives: NCCL on cuda, RCCL on amd, which has the
/// same names.
///
/// Needs the library's header and the library; nothing in hiris includes this by itself. Only what
/// is used is here. Usage: collectives.hpp in the folder above.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "hiris/error.hpp"
#include "hiris/platform/config.hpp"
#include "hiris/platform/runtime_stream.hpp"
#if defined(HIRIS_PLATFORM_CUDA)
#include "hiris/platform/collectives_cuda.hpp"
#elif defined(HIRIS_PLATFORM_AMD)
#include "hiris/platform/collectives_amd.hpp"
#else
#error "hiris: the emulator has no library of collectives; leave this header out on cpu"
#endif

namespace hiris::platform {

/// What the ranks of a communicator have in common: made by one, told to the others as bytes.
using communicator_id = std::array<std::byte, NCCL_UNIQUE_ID_BYTES>;

/// Throws errc::runtime_failed unless `status` is success.
///
/// @param call The call that returned it, with the arguments that matter.
inline void check_collective(ncclResult_t status, const std::string& call,
                             ncclComm_t communicator = nullptr) {
  if (status == ncclSuccess) return;
  clear_last_error();
  throw error(errc::runtime_failed, -1,
              call + " returned " + std::to_string(static_cast<int>(status)) + ": " +
                  ncclGetErrorString(status) + "; " + ncclGetLastError(communicator));
}

/// A rank's end of a communicator, on the device that was current when it was made. Move-only.
class communicator {
 public:
  /// A new id. Caller: one rank.
  static communicator_id make_id() {
    ncclUniqueId id{};
    check_collective(ncclGetUniqueId(&id), "ncclGetUniqueId");
    communicator_id bytes{};
    std::memcpy(bytes.data(), &id, sizeof id);
    return bytes;
  }

  /// Joins. Returns once all ranks have: the library sets the limit of time.
  ///
  /// @pre All ranks are on devices of their own: the library hangs or fails otherwise.
  /// @throws errc::runtime_failed
  communicator(const communicator_id& id, int rank, int size) {
    ncclUniqueId same{};
    std::memcpy(&same, id.data(), sizeof same);
    check_collective(
        ncclCommInitRank(&handle_, size, same, rank),
        "ncclCommInitRank, rank " + std::to_string(rank) + " of " + std::to_string(size));
  }
  /// Gives up without waiting for the other ranks, which may have failed, unless finish() was
  /// called.
  ~communicator() {
    if (handle_ != nullptr) static_cast<void>(ncclCommAbort(handle_));
  }
  communicator(communicator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  communicator& operator=(communicator&& other) noexcept {
    communicator moved(std::move(other));
    std::swap(handle_, moved.handle_);
    return *this;
  }
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;

  /// Gathers on a stream. May be captured.
  ///
  /// @param mine [n_bytes]  @param all [size, n_bytes]
  /// @throws errc::runtime_failed
  void all_gather(stream on, const void* mine, void* all, std::size_t n_bytes) {
    check_collective(ncclAllGather(mine, all, n_bytes, ncclInt8, handle_, on),
                     "ncclAllGather of " + std::to_string(n_bytes) + " bytes a rank", handle_);
  }

  /// Leaves in order, when all that was gathered has arrived. Every rank calls it.
  void finish() {
    const ncclComm_t handle = std::exchange(handle_, nullptr);
    if (handle != nullptr) check_collective(ncclCommDestroy(handle), "ncclCommDestroy");
  }

 private:
  ncclComm_t handle_ = nullptr;
};

}  // namespace hiris::platform
