# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154,SC2119,SC2120
# A folder with a small Debian of its own that has a ROCm compiler. Sourced by scripts/test.
#
# Debian 12's own hipcc is too old (ROCm 5.2). The next release's is ROCm 6.4 or newer and cannot be
# mixed into this system, so it lives under build/rocm-root: about 2 minutes and 1.5 GB, once.
#
# Every mount (/proc and the repository) is made in a mount namespace of the command that needs it
# and ends with that command, however it ends: nothing is ever left mounted.

rocm_root=${HIRIS_ROCM_ROOT:-$repository/build/rocm-root}  # checkouts may share one
rocm_release=forky
rocm_packages=(hipcc librocprim-dev libamdhip64-dev cmake ninja-build libgtest-dev libcli11-dev
  nlohmann-json3-dev python3)

# Prints the address of the Debian mirror that apt uses here, or nothing (debootstrap's default).
# Reads both formats of apt's sources, without comments, disabled entries and other archives.
debian_mirror() {
  local apt=${1:-/etc/apt}
  {
    cat "$apt"/sources.list "$apt"/sources.list.d/*.list 2>/dev/null |
      sed -n 's/#.*//; s/^[[:space:]]*deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?\([^[:space:]]*\).*/\2/p'
    local file
    for file in "$apt"/sources.list.d/*.sources; do
      [ -e "$file" ] || continue
      awk 'function flush() { if (on) printf "%s", uris; uris = ""; on = 1 }
           BEGIN { on = 1 }
           /^#/ { next }
           /^[[:space:]]*$/ { flush(); next }
           /^[^[:space:]]/ { key = tolower($1) }
           tolower($0) ~ /^enabled:[[:space:]]*no/ { on = 0 }
           key == "uris:" { for (i = 1; i <= NF; i++) if ($i !~ /^[Uu][Rr][Ii]s:/) uris = uris $i "\n" }
           END { flush() }' "$file"
    done
  } | sed -n 's#^\(https\?://[^[:space:]]*/debian\)/\?$#\1#p' | head -n 1
}

# in_rocm_root COMMAND...: runs it inside, in this folder, with the repository at its own path.
in_rocm_root() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --propagation private -- bash -c '
    set -e
    root=$1 repository=$2 folder=$3
    shift 3
    mkdir -p "$root$repository"
    mount -t proc proc "$root/proc"
    mount --bind "$repository" "$root$repository"
    exec chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp \
      LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      sh -c '\''cd "$1" && shift && exec "$@"'\'' sh "$folder" "$@"
  ' bash "$rocm_root" "$repository" "$PWD" "$@" </dev/null
}

# True when this user may make the root folder and mount in it.
may_make_rocm_root() { [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; }

# Makes the root folder, or does nothing where a complete one is there.
make_rocm_root() {
  local complete=$rocm_root/.complete wanted="$rocm_release ${rocm_packages[*]}"
  if [ -e "$complete" ] && [ "$(cat "$complete")" = "$wanted" ]; then
    say "Using the ROCm root folder $rocm_root"
    return
  fi
  if grep -qF " $rocm_root/" /proc/self/mounts; then
    die "something is mounted inside $rocm_root; unmount it first"
  fi
  rm -rf --one-file-system "$rocm_root"
  mkdir -p "$rocm_root"

  local mirror
  mirror=$(debian_mirror)
  say "Going to make a ROCm root folder, $rocm_root (1.5 GB):"
  say "  Debian $rocm_release from ${mirror:-the default mirror of debootstrap}, with ${rocm_packages[*]}"
  # debootstrap of an older release does not know this one's name; the script is that of sid.
  unshare --mount --propagation private -- debootstrap --variant=minbase --include=ca-certificates \
    "$rocm_release" "$rocm_root" "$mirror" /usr/share/debootstrap/scripts/sid </dev/null ||
    return 1
  # A mirror's release file can be past its date.
  echo 'Acquire::Check-Valid-Until "false";' >"$rocm_root/etc/apt/apt.conf.d/99hiris"
  apt-config dump 2>/dev/null | grep -E '^Acquire::https?::Proxy' >>"$rocm_root/etc/apt/apt.conf.d/99hiris" || true
  in_rocm_root apt-get update -q || return 1
  in_rocm_root apt-get install -y -q --no-install-recommends "${rocm_packages[@]}" || return 1
  in_rocm_root hipcc --version || return 1
  printf '%s\n' "$wanted" >"$complete"
}
