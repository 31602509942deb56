// SPDX-License-Identifier: MIT
// Runs a fuzzer over files, for compilers without libFuzzer: a corpus stays a test everywhere.
//
//     x_fuzz FOLDER      exit 0 if no input of it breaks anything
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::printf("%s\n", entry.path().filename().c_str());  // the last line names a crash
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++inputs;
  }
  if (inputs == 0) std::fprintf(stderr, "no inputs in %s\n", argv[1]);
  return inputs == 0 ? 1 : 0;
}
