#!/usr/bin/env bash
# Makes the packages backstitch and backstitch-hub for Debian, with the runtime of Swift in the program.
#
#   Packaging/build.sh [FOLDER]     FOLDER is .build/package unless given
#
# BACKSTITCH_BINARY names a program that is built already. The same commit, toolchain and path give the same bytes:
# all times are SOURCE_DATE_EPOCH, which is the commit's time unless it is set.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
folder=${1:-.build/package}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
umask 022
export LC_ALL=C.UTF-8 TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

for tool in dh dpkg-buildpackage python3 objdump strip; do
    command -v "$tool" >/dev/null || { echo "$tool is missing. Run sh Tests/prepare.sh --all" >&2; exit 1; }
done

binary=${BACKSTITCH_BINARY:-}
if [ -z "$binary" ]; then
    # The hashes of modules that the compiler would write into the program differ now and then where its code does not,
    # and the table of symbols has names of temporary files, with which the linker would identify the program.
    options=(-c release --product backstitch --static-swift-stdlib --scratch-path "$root/.build/static"
        -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
        -Xlinker --strip-all)
    # Some decisions of the compiler depend on where its memory lies, and on the order of its sets, which has a random
    # seed. Both are the same each time.
    export SWIFT_DETERMINISTIC_HASHING=1
    fixed=()
    if setarch --addr-no-randomize true 2>/dev/null; then fixed=(setarch --addr-no-randomize); fi
    ${fixed[@]+"${fixed[@]}"} swift build "${options[@]}"
    binary=$(swift build "${options[@]}" --show-bin-path)/backstitch
fi

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/backstitch"
cd "$tree/backstitch"
cp -r "$root/Packaging/debian" debian
cp "$root"/Packaging/{hub.conf,credentials.conf,nginx.conf,prometheus.yml,alerts.yml} .
install -m 0755 "$root/Packaging/backup.sh" backup
install -m 0755 "$binary" backstitch
strip --strip-unneeded --remove-section=.comment backstitch
# Where the toolchain was is nobody's business, and a library there must not be loaded.
if objdump -p backstitch | grep -E 'R(UN)?PATH' >/dev/null; then
    command -v patchelf >/dev/null || { echo "patchelf is missing. Run sh Tests/prepare.sh --all" >&2; exit 1; }
    patchelf --remove-rpath backstitch
fi
if objdump -p backstitch | grep -E 'NEEDED.*(swift|Foundation)'; then
    echo "The program needs a library of Swift, which Debian does not have." >&2
    exit 1
fi
version=$(./backstitch --version | cut -d' ' -f2)
./backstitch manual pages --date "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)"
swift_version=$(swift --version 2>/dev/null | sed -n 's/^Swift version \([0-9.]*\).*/\1/p')
"$root/Packaging/sbom.py" backstitch "$version" "$swift_version" >sbom.spdx.json
cat >debian/changelog <<CHANGELOG
backstitch ($version) unstable; urgency=medium

  * Version $version. CHANGELOG.md of the repository tells what changed.

 -- The Backstitch authors <backstitch@packages.debian.org>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
dpkg-buildpackage -b --no-sign -d >"$tree/log" 2>&1 || { cat "$tree/log" >&2; exit 1; }
rm -f "$folder"/*.deb
cp ../*.deb "$folder"
cp sbom.spdx.json "$folder"
cd "$folder"
sha256sum ./*.deb
