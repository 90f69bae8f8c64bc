#!/usr/bin/env bash
# Runs the checks as on a new machine: a Debian 12 that has its base, the Swift toolchain of this machine, and a clone of the
# commit that is checked out. Shows that Tests/prepare.sh installs everything else.
#
#   Tests/machine/fresh.sh [--folder FOLDER] [COMMAND...]     COMMAND is .ci/run unless given
#
# FOLDER, .build/machine unless given, keeps the base. The machine is a copy of it that takes some gigabytes, and is removed in
# the end. Its mounts and processes are in namespaces of their own, and end with the command. Needs root, debootstrap, and
# what Tests/prepare.sh downloads. Ends as the command does.
set -euo pipefail
cd "$(dirname "$0")/../.."
. Tests/machine/system.sh

folder=.build/machine
if [ "${1:-}" = --folder ]; then
    [ $# -gt 1 ] || { echo "--folder needs a folder." >&2; exit 2; }
    folder=$2
    shift 2
fi
[ $# -gt 0 ] || set -- .ci/run
[ "$(id -u)" = 0 ] || { echo "Run it as root: it makes a system of its own in a folder." >&2; exit 2; }
for tool in debootstrap unshare git swift; do
    command -v "$tool" >/dev/null || { echo "$tool is missing. Run sh Tests/prepare.sh --all" >&2; exit 2; }
done
toolchain=$(swift -print-target-info | sed -n 's|.*"runtimeResourcePath": "\(.*\)/usr/lib/swift".*|\1|p')
[ -n "$toolchain" ] || { echo "The toolchain has no folder of its own that the machine could have." >&2; exit 2; }

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
scratch=$(mktemp -d "$folder/XXXXXX")
trap 'rm -rf --one-file-system "$scratch"' EXIT
root=$scratch/root
clean_system "$folder/base" "$root"
commit=$(git rev-parse HEAD)
git clone --quiet --no-tags "file://$PWD" "$root/backstitch"
git -C "$root/backstitch" checkout --quiet --detach "$commit"
# The authorities that this machine trusts besides Debian's, and how it gets into the network.
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
mapfile -t network < <(env | grep -iE '^((https?|no)_proxy|PIP_INDEX_URL)=' || true)

echo "A new machine runs '$*' at $commit."
# The first process of the namespace ends last, and with it all others and all mounts.
# shellcheck disable=SC2016
unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 toolchain=$2
    shift 2
    mkdir -p "$root$toolchain"
    mount --bind "$toolchain" "$root$toolchain"
    mount -o remount,bind,ro "$root$toolchain"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    cd /
    chroot "$root" /usr/bin/env -i "$@" || exit' bash "$root" "$toolchain" \
    HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${network[@]}" \
    PATH="$toolchain/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    sh -c 'cd /backstitch && exec "$@"' sh "$@"
