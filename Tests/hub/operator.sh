#!/bin/sh
# The way of somebody who runs a hub for the first time: configuration, user, two devices, a backup while the
# hub serves, a disaster, the restore, devices that go on with nothing lost, and a disk that fails for a moment.
#
#     Tests/hub/operator.sh PROGRAM
#
# PROGRAM is the built `backstitch`. All is in a temporary folder, and on the loopback. The hub and its backup run under the
# filters of system calls of their units, if this machine can make them (filtered.py).
set -eu

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
hub=
# A library that the hub is started with, if there is one.
preload=
# Ends the hub that was started here, and no other.
finish() {
    status=$?
    [ -z "$hub" ] || { kill -KILL "$hub" 2>/dev/null && wait "$hub" 2>/dev/null || true; }
    rm -rf "$work"
    exit $status
}
trap finish EXIT
fail() { echo "operator.sh: $1" >&2; exit 1; }
step() { echo "-- $1"; }
filters=yes
# Runs a program in place of this shell, under the filter of a unit.
under() {
    unit=$here/Packaging/debian/$1.service
    shift
    [ -z "$filters" ] || set -- python3 "$here/Tests/hub/filtered.py" "$unit" "$@"
    exec "$@"
}

cat >"$work/hub.conf" <<CONFIGURATION
[server]
listen = 127.0.0.1:0
[storage]
data = $work/hub
[limits]
session-days = 30
CONFIGURATION
backstitch() { "$program" "$@"; }
# Starts the hub at a free port and waits until it tells where it listens.
start() {
    mkfifo "$work/told"
    under backstitch-hub env ${preload:+"LD_PRELOAD=$preload"} FAIL_DISK="$work/failing" \
        "$program" hub serve --config "$work/hub.conf" --json >"$work/told" 2>"$work/log" &
    hub=$!
    read -r line <"$work/told" || fail "the hub did not start: $(cat "$work/log")"
    rm "$work/told"
    url=$(printf %s "$line" | sed 's/.*"url":"\([^"]*\)".*/\1/')
}
# Imports a device's store, with as many records of the fixture as told.
device() {
    head -n "$2" "$work/records.jsonl" >"$work/part.jsonl"
    backstitch import "$work/$1" "$work/part.jsonl" --create >/dev/null
}
synchronise() {
    backstitch sync "$work/$1" --url "$url" --api-token "$token" \
        --web-token-file "$work/web-token" --zone Notes --json >"$work/synced" ||
        fail "$1 did not sync: $(cat "$work/synced")"
    grep -q '"pending":0' "$work/synced" || fail "$1 has more to send: $(cat "$work/synced")"
}
same() {
    for store in "$1" "$2"; do backstitch export "$work/$store" >"$work/$store.jsonl"; done
    [ -s "$work/$1.jsonl" ] || fail "$1 has no records"
    cmp "$work/$1.jsonl" "$work/$2.jsonl" || fail "$1 and $2 differ"
}

step "the filters of system calls"
lacking=0
(under backstitch-hub true) 2>"$work/lacking" || lacking=$?
case $lacking in
0)
    # What an owner may do otherwise.
    if (under backstitch-hub chown "$(id -u)" "$work/hub.conf") 2>/dev/null; then fail "they refuse nothing"; fi
    ;;
3 | 127)
    filters=
    echo "SKIPPED: $(cat "$work/lacking"). The hub runs without the filter of its unit." >&2
    ;;
*) fail "$(cat "$work/lacking")" ;;
esac

step "configuration, API token and first user"
(under backstitch-hub "$program" hub serve --config "$work/hub.conf" --check-config) >/dev/null
token=$(backstitch hub token --config "$work/hub.conf" --label app 2>"$work/notice")
backstitch hub users add --config "$work/hub.conf" --user Ada --email ada@example.com >/dev/null
backstitch hub sessions add --config "$work/hub.conf" --user Ada >"$work/web-token"
backstitch hub users list --config "$work/hub.conf" | grep -q '^Ada ' || fail "Ada is not listed"
backstitch hub users code --config "$work/hub.conf" --user Ada | grep -qE '^[0-9A-Z]{4}(-[0-9A-Z]{4}){2}$' ||
    fail "there is no code for Ada"

step "two devices"
cp -r "$here/Tests/Fixtures/format-1/store" "$work/past"
backstitch rebuild "$work/past" >/dev/null # brings it to the present format
backstitch export "$work/past" --with-schema --output "$work/records.jsonl"
device first 3
device second 1
start
synchronise first
synchronise second
same first second

step "what the hub tells of itself"
if command -v perl >/dev/null && command -v promtool >/dev/null; then
    perl -MIO::Socket::INET -e '
        my $socket = IO::Socket::INET->new($ARGV[0]) or die "nobody listens\n";
        print $socket "GET /metrics HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n";
        local $/; my (undef, $figures) = split /\r\n\r\n/, <$socket>, 2; print $figures;' \
        "${url#http://}" >"$work/metrics"
    grep -q '^backstitch_hub_records_saved_total [1-9]' "$work/metrics" || fail "nothing was counted"
    promtool check metrics <"$work/metrics" || fail "the figures are not as Prometheus wants them"
else
    echo "SKIPPED: perl or promtool is missing, so that the figures were not checked." >&2
fi

step "a backup while the hub serves, as the timer has it made"
mkdir "$work/programs"
ln -s "$program" "$work/programs/backstitch"
(
    PATH=$work/programs:$PATH
    under backstitch-hub.backstitch-hub-backup "$here/Packaging/backup.sh" "$work/hub.conf" "$work/backups" 3
)
mv "$work"/backups/2*Z "$work/backup"
backstitch hub verify --backup "$work/backup"
[ -z "$(find "$work/backup" -perm /077)" ] || fail "others can read the backup"

step "a backup whose configuration names credentials"
if command -v openssl >/dev/null; then
    mkdir "$work/credentials"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=hub.example.com \
        -keyout "$work/credentials/tls.key" -out "$work/credentials/tls.crt" 2>/dev/null
    {
        cat "$work/hub.conf"
        printf '[tls]\ntls-cert = credential:tls.crt\ntls-key = credential:tls.key\n'
    } >"$work/credentials.conf"
    # The first of them as a unit with LoadCredential= has it made, the second one without.
    (
        PATH=$work/programs:$PATH CREDENTIALS_DIRECTORY=$work/credentials
        export CREDENTIALS_DIRECTORY
        under backstitch-hub.backstitch-hub-backup "$here/Packaging/backup.sh" "$work/credentials.conf" "$work/secured" 3
    )
    backstitch hub verify --backup "$work"/secured/2*Z
    if (
        PATH=$work/programs:$PATH
        unset CREDENTIALS_DIRECTORY
        under backstitch-hub.backstitch-hub-backup "$here/Packaging/backup.sh" "$work/credentials.conf" "$work/lacking-credentials" 3
    ) >/dev/null 2>"$work/refused"; then
        fail "a backup was made without the credentials that its configuration names"
    fi
    grep -q 'credential:tls.crt' "$work/refused" || fail "the refusal does not name the credential: $(cat "$work/refused")"
else
    echo "SKIPPED: openssl is missing, so that no backup was made with credentials." >&2
fi

step "what a device sends after it"
# A record that the backup lacks, and a later version of one that it has.
{
    head -n 1 "$work/records.jsonl"
    sed -n 4p "$work/records.jsonl"
    sed -n 2p "$work/records.jsonl" | sed 's/"values":{"name":{"string":"f1"}/"values":{"name":{"string":"later"}/'
} >"$work/later.jsonl"
backstitch import "$work/first" "$work/later.jsonl" >/dev/null
synchronise first

step "a disaster: the hub is killed, and its folder lost"
kill -KILL "$hub"
wait "$hub" 2>/dev/null || true
hub=
rm -rf "$work/hub"

step "the restore"
backstitch hub restore --config "$work/hub.conf" --backup "$work/backup" >/dev/null
backstitch hub doctor --config "$work/hub.conf"
start

step "devices go on, and nothing is lost"
backstitch export "$work/first" >"$work/before.jsonl"
synchronise first
synchronise second
same first second
cmp "$work/before.jsonl" "$work/first.jsonl" || fail "what a device had sent was lost"
grep -q later "$work/second.jsonl" || fail "the other device lacks what was sent after the backup"

step "the disk fails while a device saves: the hub ends with a code of its own, and has all when it starts again"
cat >"$work/failing.c" <<'CODE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
// Whether writes and syncs fail: for as long as a file is there.
static int fails(void) {
    const char *path = getenv("FAIL_DISK");
    if (path == NULL || access(path, F_OK) != 0) return 0;
    errno = EIO;
    return 1;
}
ssize_t pwrite(int f, const void *b, size_t n, off_t o) { return fails() ? -1 : REAL(pwrite)(f, b, n, o); }
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) { return fails() ? -1 : REAL(pwrite64)(f, b, n, o); }
ssize_t pwritev(int f, const struct iovec *v, int n, off_t o) { return fails() ? -1 : REAL(pwritev)(f, v, n, o); }
ssize_t pwritev64(int f, const struct iovec *v, int n, off64_t o) { return fails() ? -1 : REAL(pwritev64)(f, v, n, o); }
int fsync(int f) { return fails() ? -1 : REAL(fsync)(f); }
int fdatasync(int f) { return fails() ? -1 : REAL(fdatasync)(f); }
CODE
gcc -shared -fPIC -o "$work/failing.so" "$work/failing.c"
kill -TERM "$hub"
wait "$hub" || fail "the hub ended with an error: $(cat "$work/log")"
preload=$work/failing.so
start
synchronise first
{
    head -n 1 "$work/records.jsonl"
    sed -n 2p "$work/records.jsonl" | sed 's/"values":{"name":{"string":"f1"}/"values":{"name":{"string":"last"}/'
} >"$work/last.jsonl"
backstitch import "$work/first" "$work/last.jsonl" >/dev/null
touch "$work/failing"
if backstitch sync "$work/first" --url "$url" --api-token "$token" \
    --web-token-file "$work/web-token" --zone Notes >"$work/synced" 2>&1; then
    fail "a save was acknowledged that the disk refused"
fi
code=0
wait "$hub" || code=$?
hub=
[ "$code" = 75 ] || fail "the hub ended with $code: $(cat "$work/log")"
rm "$work/failing"
preload=
start
synchronise first
synchronise second
same first second
grep -q last "$work/second.jsonl" || fail "the other device lacks what was saved while the disk failed"

step "a user is removed"
backstitch hub users remove --config "$work/hub.conf" --user Ada
if backstitch sync "$work/first" --url "$url" --api-token "$token" \
    --web-token-file "$work/web-token" --zone Notes >"$work/synced" 2>&1; then
    fail "the session of a user who was removed counts"
fi
backstitch hub verify --config "$work/hub.conf"
kill -TERM "$hub"
wait "$hub" || fail "the hub ended with an error: $(cat "$work/log")"
hub=
echo "Nothing was lost."
