#!/bin/sh
# Installs the one library that Backstitch needs beside the Swift toolchain: liblmdb, with its header.
set -eu
if [ -f /usr/include/lmdb.h ]; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Install LMDB with its header (liblmdb-dev on Debian and Ubuntu), then run this again." >&2
    exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
$sudo apt-get install -y --no-install-recommends liblmdb-dev ||
    { $sudo apt-get update && $sudo apt-get install -y --no-install-recommends liblmdb-dev; }
