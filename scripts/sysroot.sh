#!/usr/bin/env bash
# sysroot.sh [FOLDER] - brings the libraries of a 64-bit Arm Debian that FlagProf is built against, without touching this
# system: its own list of architectures, its packages and apt's lists stay as they are.
#
# In:  the folder (build/sysroot), apt-get and this system's own apt sources; root is not needed.
#      scripts/packages.txt: whatever of `build` and `test` is seen by a header is a library, and is taken for Arm.
# Out: FOLDER, for cmake/aarch64-linux-gnu.cmake and qemu-aarch64 -L. Nothing is done when it holds the same packages
#      already. Exit status 1 with apt's own words where they cannot be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-${here%/scripts}/build/sysroot}
# The C library itself, and the C++ runtime for what is written in C++.
packages="libc6-dev libstdc++6 $(awk '($1 == "build" || $1 == "test") && $3 ~ /^header:/ { print $2 }' "$here/packages.txt")"
packages=$(echo $packages)
told=$root/packages
[ "$(cat "$told" 2>/dev/null)" != "$packages" ] || exit 0

[ -e "$told" ] || [ ! -e "$root" ] \
    || { echo "sysroot.sh: $root is there and was not made by this script" >&2; exit 1; }
command -v apt-get >/dev/null \
    || { echo "sysroot.sh: this system has no apt-get. FLAGPROF_SYSROOT names an Arm system's root." >&2; exit 1; }
echo "Fetching libraries for 64-bit Arm"
work=$root.new
rm -rf "$root" "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/root"
: >"$work/apt/status" # nothing is installed, so everything that is needed is fetched
apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::State::lists="$work/apt/lists" \
        -o Dir::Cache="$work/apt" -o Dir::Cache::archives="$work/apt/archives" -o Acquire::Languages=none \
        -o Acquire::Retries=3 -o APT::Sandbox::User=root -o Debug::NoLocking=true "$@" >>"$work/apt.log" 2>&1
}
# shellcheck disable=SC2086
apt update && apt install --download-only --no-install-recommends $packages \
    || { tail -n 5 "$work/apt.log" >&2; echo "sysroot.sh: apt-get could not bring these for arm64: $packages" >&2; exit 1; }
for package in "$work"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" \
        | tar -x -C "$work/root" --no-same-owner --keep-directory-symlink --exclude='./usr/share' --exclude='./usr/bin'
done
# Since Debian 13 the loader lies below /usr, and /lib is a link that comes with no package.
[ -e "$work/root/lib" ] || ln -s usr/lib "$work/root/lib"
echo "$packages" >"$work/root/packages"
mv "$work/root" "$root"
rm -rf "$work"
