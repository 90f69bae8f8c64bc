# shellcheck shell=bash
# For scripts that need a Debian 12 of their own, which source this. Needs root, debootstrap, and Debian's mirror.

# Copies a clean system to a folder that is not there yet: clean_system BASE FOLDER [OPTION...]
# If BASE is missing, debootstrap makes it with the options; it is kept.
clean_system() {
    local base=$1 folder=$2
    if [ ! -e "$base/etc/debian_version" ]; then
        rm -rf --one-file-system "$base" "$base.new"
        debootstrap --variant=minbase "${@:3}" bookworm "$base.new" http://deb.debian.org/debian >/dev/null
        mv "$base.new" "$base"
    fi
    cp -a "$base" "$folder"
    cp /etc/resolv.conf /etc/hosts "$folder/etc" 2>/dev/null || true
    # An installation starts no service.
    printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
    chmod +x "$folder/usr/sbin/policy-rc.d"
}
