#!/bin/sh
# Installs the libraries that the benchmarks link beside the Swift toolchain, with their headers.
set -eu
sh "$(dirname "$0")/../Tests/prepare.sh"
packages=
[ -f /usr/include/sqlite3.h ] || packages="$packages libsqlite3-dev"
[ -f /usr/include/rocksdb/c.h ] || packages="$packages librocksdb-dev"
if [ -z "$packages" ]; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Install SQLite and RocksDB with their headers, then run this again." >&2
    exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
# The names are words of this script.
# shellcheck disable=SC2086
$sudo apt-get install -y --no-install-recommends $packages ||
    { $sudo apt-get update && $sudo apt-get install -y --no-install-recommends $packages; }
