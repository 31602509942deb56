// SPDX-License-Identifier: MIT
// Variables with anything in them: what is read is consistent, or an error names the variable.
#include <cstdlib>
#include <string>

#include "bytes.hpp"
#include "hiris/bootstrap/environment.hpp"
#include "hiris/platform/cpu/options.hpp"

using namespace hiris;

namespace {

/// Sets a variable to the text up to its first zero byte, or removes it.
void set(const char* name, test::fuzz_bytes& input) {
  if (name == nullptr) return;
  if (input.number(3) == 0)
    unsetenv(name);
  else
    setenv(name, input.text(24).c_str(), 1);
}

/// Runs `read`; what it throws names what is allowed.
template <class Read>
void refuses_or(Read&& read) {
  try {
    read();
  } catch (const error& e) {
    test::require(e.code() == errc::invalid_argument, "it is the argument's fault");
    test::require(std::string(e.what()).find("allowed") != std::string::npos ||
                      std::string(e.what()).find("it must be") != std::string::npos,
                  "the error says what is allowed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::fuzz_bytes input(data, size);
  for (const detail::launcher_variables& v : detail::launchers)
    for (const char* name : {v.rank, v.size, v.local_rank, v.local_size, v.hosts}) set(name, input);
  set("HIRIS_TIMEOUT_S", input);
  refuses_or([] {
    const environment e = read_environment();
    test::require(is_launched(), "what is read was set");
    test::require(e.size >= 1 && e.rank >= 0 && e.rank < e.size, "the rank is below the size");
    test::require(e.local_rank >= 0 && e.local_rank < e.size, "the local rank is below the size");
    test::require(e.time_limit.count() >= 1, "a limit is a time");
  });
  set("HIRIS_CPU_DEVICES", input);
  const std::uint64_t devices = platform::cpu::environment_number("HIRIS_CPU_DEVICES", 8, 0, 64);
  test::require(devices <= 64, "an option of the emulator is in its range");
  for (const char* name :
       {"HIRIS_TOKEN", "HIRIS_ADDR", "HIRIS_PORT", "MASTER_ADDR", "MASTER_PORT", "HIRIS_LISTEN_FD"})
    set(name, input);
  refuses_or([&] {
    const tcp_options at = detail::read_meeting_point({"fuzz", input.number(1), 2, 0, true});
    test::require(at.token.size() >= min_token_bytes, "a token is long enough");
    test::require(at.port >= 1 && !at.address.empty(), "there is a place to meet");
    test::require(at.listener == -1, "nobody listens in this process");
  });
  return 0;
}
