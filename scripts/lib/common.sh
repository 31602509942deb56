# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154,SC2119,SC2120
# Shared by scripts/demo and scripts/test: messages, packages, compilers. Sourced, not run.

say() { printf '%s\n' "$*"; }
warn() { printf '\n!!! %s\n\n' "$*" >&2; }
die() {
  printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

# --- What must be there -------------------------------------------------------------------------
# has_header NAME: the C++ compiler finds it.
has_header() { printf '#include <%s>\n' "$1" | g++ -x c++ -std=c++20 -E - >/dev/null 2>&1; }

# True when the installed CMake is new enough for the presets.
has_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}

# True when clang++-14 links programs with libFuzzer.
has_libfuzzer() {
  local status=0 folder
  folder=$(mktemp -d)
  printf 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }\n' |
    clang++-14 -x c++ -fsanitize=fuzzer,address,undefined - -o "$folder/probe" || status=1
  rm -r "$folder"
  return $status
}

# is_there PACKAGE: what we use of that Debian package works, wherever it came from.
is_there() {
  case $1 in
    g++) command -v g++ ;;
    clang-14) command -v clang++-14 ;;
    libclang-rt-14-dev) has_libfuzzer ;;
    cmake) has_cmake ;;
    ninja-build) command -v ninja ;;
    libboost-context-dev) has_header boost/context/fiber.hpp ;;
    libcli11-dev) has_header CLI/CLI.hpp ;;
    nlohmann-json3-dev) has_header nlohmann/json.hpp ;;
    libgtest-dev) has_header gtest/gtest.h ;;
    libopenmpi-dev) command -v mpicxx ;;
    openmpi-bin) command -v mpirun ;;
    clang-format-14) command -v clang-format-14 ;;
    python3) command -v python3 ;;
    valgrind) command -v valgrind ;;
    debootstrap) command -v debootstrap ;;
    debian-archive-keyring) [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ;;
    *) return 1 ;;
  esac >/dev/null 2>&1
}

# need PACKAGE...: says which are missing, then installs them; without the right to, says how.
need() {
  local missing=() package
  for package in "$@"; do
    is_there "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "Nothing to install."
    return
  fi
  command -v apt-get >/dev/null ||
    die "missing: ${missing[*]} (names of Debian packages); this machine has no apt-get to install them with"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null ||
      die "missing: ${missing[*]}. Install them with: sudo apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo -n)
  fi
  say "Going to install with apt-get: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null ||
    warn "apt-get update failed; trying with the lists that are there"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    "${missing[@]}" </dev/null || die "apt-get could not install: ${missing[*]}"
  hash -r
  for package in "${missing[@]}"; do
    is_there "$package" || die "$package is installed but does not serve (CMake must be 3.25 or newer)"
  done
}

# --- Compilers of the GPU platforms -------------------------------------------------------------
# Prints the path of a nvcc, or nothing.
find_nvcc() {
  command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; } || true
}

# Prints the path of a hipcc, or nothing.
find_hipcc() {
  command -v hipcc || { [ -x /opt/rocm/bin/hipcc ] && echo /opt/rocm/bin/hipcc; } || true
}

# hipcc_serves HIPCC: it compiles for all architectures that we claim (Debian 12's own does not).
hipcc_serves() {
  local folder status=0
  folder=$(mktemp -d)
  printf '__global__ void kernel(int* p) { *p = 1; }\nint main() {}\n' >"$folder/probe.cpp"
  "$1" -x hip -std=c++20 --offload-arch=gfx90a --offload-arch=gfx942 --offload-arch=gfx950 \
    -c "$folder/probe.cpp" -o "$folder/probe.o" >/dev/null 2>&1 || status=1
  rm -r "$folder"
  return $status
}

# Prints cuda, amd or cpu: the best that this machine can both build for and run.
find_platform() {
  if [ -e /dev/nvidiactl ] && [ -n "$(find_nvcc)" ]; then
    echo cuda
  elif [ -e /dev/kfd ] && [ -n "$(find_hipcc)" ]; then
    echo amd
  else
    echo cpu
  fi
}
