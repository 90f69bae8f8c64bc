#!/bin/sh
# Installs the libraries that Backstitch needs beside the Swift toolchain, with their headers: liblmdb
# for the store, and for the hub and its client libmicrohttpd, libcurl, libcrypto and zlib.
set -eu
missing=
need() {
    for folder in /usr/include /usr/include/*-linux-gnu; do
        if [ -f "$folder/$1" ]; then return; fi
    done
    missing="$missing $2"
}
need lmdb.h liblmdb-dev
need microhttpd.h libmicrohttpd-dev
need curl/curl.h libcurl4-openssl-dev
need openssl/evp.h libssl-dev
need zlib.h zlib1g-dev
if [ -z "$missing" ]; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Install these or your system's equivalents, then run this again:$missing" >&2
    exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
# The names are words of this script.
# shellcheck disable=SC2086
$sudo apt-get install -y --no-install-recommends $missing ||
    { $sudo apt-get update && $sudo apt-get install -y --no-install-recommends $missing; }
