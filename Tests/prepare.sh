#!/bin/sh
# Installs what the build and .ci/run need beside the Swift toolchain, on a clean Debian too: libraries with their headers
# (liblmdb for the store, libmicrohttpd, libcurl, libcrypto and zlib for the hub and its client, libpq for hubs that share a
# database), what the toolchain itself needs, and a few tools. It ends at once if nothing is missing.
#
# With --browser also a browser and what drives it, with --bucket a stand-in for Amazon S3, with --api a program that makes requests of
# a description. With --all also what the longer checks need: a PostgreSQL server, tools that make and check packages, and that look at
# figures, and all of these.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../.build/python
more=${1:-}
missing=
need() {
    for folder in /usr/include /usr/include/*-linux-gnu /usr/lib/gcc/*/*; do
        if [ -f "$folder/$1" ]; then return; fi
    done
    missing="$missing $2"
}
need lmdb.h liblmdb-dev
need microhttpd.h libmicrohttpd-dev
need curl/curl.h libcurl4-openssl-dev
need openssl/evp.h libssl-dev
need zlib.h zlib1g-dev
need postgresql/libpq-fe.h libpq-dev
# The toolchain links with these, and with the linker that gcc brings.
need stdio.h libc6-dev
need libgcc.a gcc
# Libraries that the toolchain itself loads.
absent=$(ldd "$(dirname "$(readlink -f "$(command -v swift)")")/swift-package" 2>/dev/null | sed -n 's/ => not found//p')
for library in $absent; do
    case $library in
    libncurses.so.*) missing="$missing libncurses6" ;;
    libsqlite3.so.*) missing="$missing libsqlite3-0" ;;
    libxml2.so.*) missing="$missing libxml2" ;;
    esac
done
tool() {
    if ! command -v "$1" >/dev/null 2>&1; then missing="$missing $2"; fi
}
tool pkg-config pkg-config
tool git git
tool patch patch
tool python3 python3
tool openssl openssl
case "$more" in
'') ;;
--all | --browser | --bucket | --api)
    python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
    # pip asks over TLS.
    [ -f /etc/ssl/certs/ca-certificates.crt ] || missing="$missing ca-certificates"
    ;;
*)
    echo "There is no option '$more'. Give --browser, --bucket, --api, --all, or none." >&2
    exit 2
    ;;
esac
if [ "$more" = --all ] || [ "$more" = --browser ]; then
    tool chromium chromium
    tool chromedriver chromium-driver
fi
if [ "$more" = --all ]; then
    tool dh debhelper
    tool lintian lintian
    tool debootstrap debootstrap
    tool patchelf patchelf
    tool promtool prometheus
    tool nginx nginx-light
    tool shellcheck shellcheck
    tool mandoc mandoc
    tool zsh zsh
    tool fish fish
    tool buildah buildah
    # Its programs are in a folder of their own.
    set -- /usr/lib/postgresql/*/bin/initdb
    if [ ! -x "$1" ]; then missing="$missing postgresql"; fi
fi
if [ -n "$missing" ]; then
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
fi
# Packages of pinned versions, for these checks alone.
packages() {
    "$python/bin/python" -c "import $1" 2>/dev/null ||
        { python3 -m venv "$python" && "$python/bin/pip" install --quiet -r "$here/$2/requirements.txt"; }
}
if [ "$more" = --all ] || [ "$more" = --browser ]; then packages selenium browser; fi
if [ "$more" = --all ] || [ "$more" = --bucket ]; then packages moto bucket; fi
if [ "$more" = --all ] || [ "$more" = --api ]; then packages schemathesis api; fi
