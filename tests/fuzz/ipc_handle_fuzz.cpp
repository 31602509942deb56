// SPDX-License-Identifier: MIT
// Handles of the emulator with anything in them: none maps memory that was not exported.
#include <cstring>

#include "bytes.hpp"
#include "hiris/error.hpp"
#include "hiris/platform/runtime.hpp"

using namespace hiris;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::fuzz_bytes input(data, size);
  const bool has_magic = input.number(7) != 0;
  auto handle = input.take<platform::ipc_handle>();
  const auto magic = platform::cpu::ipc_contents::expected_magic;
  if (has_magic) std::memcpy(handle.bytes.data(), &magic, sizeof magic);
  try {
    platform::ipc_open(handle);
    test::require(false, "nothing was exported to this process");
  } catch (const error& e) {
    test::require(e.code() == errc::mapping_failed, "the mapping is refused");
  }
  return 0;
}
