#!/usr/bin/env bash
# bare_root.sh RELEASE [COMMAND ...] - tries this tree on a fresh Debian: by default `make demo`, twice.
#
# In:  bookworm or trixie; root, debootstrap and a network. The commit that is checked out, not the working files.
#      BARE_ROOTS: where the roots are kept (build/bare); a release's pristine root is made once and copied for each try.
#      This machine's apt mirror, certificates and pip settings go along, and the folders of wheels that pip names.
# Out: what the commands print, each with its time; the exit status of the first that failed. The copy is removed.
set -eu
release=${1:?which release: bookworm or trixie}
shift
[ $# -gt 0 ] || set -- "make demo" "make demo"
tree=$(cd "$(dirname "$0")/.." && pwd)
roots=${BARE_ROOTS:-$tree/build/bare}
pristine=$roots/$release
mirror=$(sed -n 's/^URIs: *//p; s/^deb  *\(http[^ ]*\).*/\1/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
mkdir -p "$roots"

if [ ! -e "$pristine/etc/debian_version" ]; then
    echo "Making a root of $release"
    rm -rf "$pristine.new"
    # What the first lines of the README ask for, and nothing else.
    debootstrap --variant=minbase --include=ca-certificates,python3,gcc,make "$release" "$pristine.new" \
        "${mirror:-http://deb.debian.org/debian}" >"$roots/$release.log" 2>&1 || { tail "$roots/$release.log"; exit 1; }
    mv "$pristine.new" "$pristine"
fi

root=$(mktemp -d "$roots/try-$release.XXXXXX")
finish() {
    umount -l "$root/proc" "$root/dev" "$root/sys" 2>/dev/null || true
    mountpoint -q "$root/proc" || rm -rf --one-file-system "$root"
}
trap finish EXIT
cp -a "$pristine/." "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"

cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp -a /etc/ssl/certs/. "$root/etc/ssl/certs/" 2>/dev/null || true
for settings in /etc/pip.conf /root/.config/pip /etc/apt/apt.conf.d/*check* /etc/apt/auth.conf.d/*; do
    [ -e "$settings" ] && mkdir -p "$root/${settings%/*}" && cp -a "$settings" "$root/${settings%/*}/"
done
for wheels in ${PIP_FIND_LINKS:-}; do
    [ -d "$wheels" ] && mkdir -p "$root$wheels" && cp -a "$wheels/." "$root$wheels/"
done
git clone -q --no-hardlinks "$tree" "$root/root/flagprof"

for command in "$@"; do
    printf '\n[%s] $ %s\n' "$release" "$command"
    begin=$(date +%s)
    status=0
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
        $(env | grep -E '^(PIP|SSL|REQUESTS|CURL)_' || true) \
        chroot "$root" /bin/sh -c "cd /root/flagprof && $command" </dev/null || status=$?
    echo "[$release] status $status after $(($(date +%s) - begin)) s"
    [ "$status" -eq 0 ] || exit "$status"
done
