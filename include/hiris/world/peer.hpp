// SPDX-License-Identifier: MIT
/// @file
/// Who a rank is: host, process and device, as ranks tell each other.
///
///     if (world.peer(r).same_process(world.peer(world.rank()))) ...   // reached by plain pointer
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "hiris/error.hpp"
#include "hiris/platform/runtime_device.hpp"

namespace hiris {

/// Identity of a rank. Trivially copyable: it travels as bytes.
struct peer_info {
  std::array<char, 128> host;      ///< Host name and boot id, ended by a zero.
  std::int64_t process;            ///< Process id, as the process itself sees it.
  std::uint64_t process_nonce;     ///< Random, one a process: ids repeat in other namespaces.
  std::int32_t device;             ///< Ordinal of the device, as the process sees it.
  std::array<std::byte, 16> uuid;  ///< Of the device; the same device has the same in any process.

  bool same_host(const peer_info& other) const noexcept { return host == other.host; }
  bool same_process(const peer_info& other) const noexcept {
    return same_host(other) && process == other.process && process_nonce == other.process_nonce;
  }
  bool same_device(const peer_info& other) const noexcept {
    return same_host(other) && uuid == other.uuid;
  }
};

namespace detail {

/// Host name and boot id: the boot id tells apart machines that carry one name.
inline std::array<char, 128> host_id() {
  std::array<char, 65> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) name[0] = 0;
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  const std::string text = std::string(name.data()) + " (boot " + boot_id + ")";
  std::array<char, 128> id{};
  std::copy_n(text.begin(), std::min(text.size(), id.size() - 1), id.begin());
  return id;
}

/// Random number of this process.
inline std::uint64_t process_nonce() {
  static const std::uint64_t value = [] {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
      throw error(errc::runtime_failed, -1, "getrandom gave no random bytes; allowed are 8");
    return random;
  }();
  return value;
}

/// Identity of this rank on `device`, or on device `rank` modulo their number if `device` is -1.
/// @throws errc::unsupported, errc::invalid_argument as platform::describe.
inline peer_info identify_this_rank(int rank, int device) {
  if (device == -1) device = rank % std::max(platform::device_count(), 1);
  const platform::device_info info = platform::describe(device);
  return {host_id(), getpid(), process_nonce(), device, info.uuid};
}

}  // namespace detail
}  // namespace hiris
