#!/usr/bin/env bash
# Installs the packages into a clean Debian, runs the hub there as its unit does, drives it with devices,
# serves the kept folder of a format, and removes everything. Needs root, and Debian's mirror.
#
#   Packaging/test.sh [FOLDER]      the packages that Packaging/build.sh made; .build/package unless given
#
# BACKSTITCH_COMPILE_TWICE=1 compiles the program a second time and compares (some minutes more). BACKSTITCH_ROOT names the clean system, which is made if it is missing, and kept; .build/debian unless given.
set -euo pipefail
cd "$(dirname "$0")/.."
. Tests/machine/system.sh
packages=${1:-.build/package}
[ "$(id -u)" = 0 ] || { echo "Run it as root: it makes a system of its own in a folder." >&2; exit 1; }
for tool in debootstrap lintian python3 setpriv; do
    command -v "$tool" >/dev/null ||
        { echo "$tool is missing. Run sh Tests/prepare.sh --all" >&2; exit 1; }
done

step() { printf '\n-- %s\n' "$1"; }
fail() { echo "FAILED: $1" >&2; exit 1; }

scratch=$(mktemp -d)
root=$scratch/root
configuration=/etc/backstitch/hub.conf
service=
cleanup() {
    if [ -n "$service" ]; then kill "$service" 2>/dev/null || true; fi
    umount "$root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$scratch"
}
trap cleanup EXIT

step "lintian"
lintian --fail-on error,warning --info "$packages"/*.deb

step "the same bytes again"
if [ "${BACKSTITCH_COMPILE_TWICE:-}" = 1 ]; then
    # The program too is compiled anew, at the same path and with nothing of the first time.
    mv .build/static "$scratch/static"
    Packaging/build.sh "$scratch/compiled" >/dev/null
    for deb in "$packages"/*.deb; do
        cmp "$deb" "$scratch/compiled/$(basename "$deb")" || fail "$deb is compiled differently"
    done
fi
# All that is made around the program is made anew, in another folder and later.
mkdir "$scratch/again"
dpkg-deb --fsys-tarfile "$packages"/backstitch_*.deb | tar -xO ./usr/bin/backstitch \
    >"$scratch/backstitch"
chmod +x "$scratch/backstitch"
date=$(dpkg-deb --fsys-tarfile "$packages"/backstitch_*.deb |
    tar -xO --wildcards './usr/share/doc/backstitch/changelog*' | zcat | sed -n 's/^ -- .*>  //p')
SOURCE_DATE_EPOCH=$(date -d "$date" +%s) BACKSTITCH_BINARY=$scratch/backstitch \
    Packaging/build.sh "$scratch/again" >/dev/null
for deb in "$packages"/*.deb; do
    cmp "$deb" "$scratch/again/$(basename "$deb")" || fail "$deb is made differently"
done

step "a clean system"
kept=${BACKSTITCH_ROOT:-.build/debian}
clean_system "$kept" "$root" --include=ca-certificates
mkdir -p "$root/packages"
cp "$packages"/*.deb "$root/packages"
mount -t proc proc "$root/proc"
clean=(/usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive)
as_user=(setpriv --reuid=backstitch --regid=backstitch --clear-groups)
inside() { chroot "$root" "${clean[@]}" "$@"; }
as_hub() { inside "${as_user[@]}" "$@"; }

step "installation"
inside apt-get update -qq
inside sh -c 'apt-get install -y --no-install-recommends /packages/*.deb' >"$scratch/apt" 2>&1 ||
    { tail -n 20 "$scratch/apt" >&2; fail "the packages can't be installed"; }
inside backstitch --version
[ -f "$root/usr/share/doc/backstitch/copyright" ] || fail "the licences are missing"
# It may be compressed, as documents are.
zcat -f "$root"/usr/share/doc/backstitch/sbom.spdx.json* >"$scratch/sbom.json"
Packaging/sbom.py --check "$scratch/sbom.json" "$root/usr/bin/backstitch" \
    "$root/usr/share/doc/backstitch/copyright" || fail "the list of what is inside is wrong"
dpkg-deb --contents "$packages"/backstitch_*.deb | grep 'man1/backstitch-hub.1.gz' >/dev/null ||
    fail "the manual page is missing"
[ "$(stat -c %a "$root/var/lib/backstitch")" = 700 ] || fail "others can read the data"
[ "$(inside stat -c %U /var/lib/backstitch)" = backstitch ] || fail "the data is somebody else's"

# Runs the command of the unit, as its user, and waits until it says that it is ready.
start() {
    local words listener
    words=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/backstitch-hub.service")
    rm -f "$root/run/notify" "$scratch/ready"
    python3 Packaging/notified.py "$root/run/notify" >"$scratch/ready" &
    listener=$!
    while [ ! -S "$root/run/notify" ]; do sleep 0.05; done
    # The words are those of the unit.
    # shellcheck disable=SC2086
    chroot "$root" "${clean[@]}" NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=30000000 \
        "${as_user[@]}" --no-new-privs --bounding-set=-all \
        $words >"$scratch/out" 2>"$scratch/err" &
    service=$!
    wait "$listener" || { cat "$scratch/err" >&2; fail "the hub did not say that it is ready"; }
    grep -q '^READY=1' "$scratch/ready" || fail "the hub said: $(cat "$scratch/ready")"
}
stop() {
    local code=0
    kill -TERM "$service"
    wait "$service" || code=$?
    service=
    [ "$code" = 0 ] || { cat "$scratch/err" >&2; fail "the hub ended with $code"; }
}
# Says what an address answers.
ask() { inside /usr/bin/perl -e '
    use IO::Socket::INET;
    my ($host, $path) = $ARGV[0] =~ m{^http://([^/]+)(/.*)$};
    my $socket = IO::Socket::INET->new($host) or die "nobody listens\n";
    print $socket "GET $path HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n";
    my $text = join "", <$socket>;
    die "refused\n" unless $text =~ m{^HTTP/1.1 200 };
    $text =~ s/^.*?\r\n\r\n//s;
    print $text;' "$1"; }

step "the first user"
inside backstitch hub serve --config /etc/backstitch/hub.conf --check-config
token=$(as_hub backstitch hub token --config /etc/backstitch/hub.conf 2>"$scratch/notice") ||
    { cat "$scratch/notice" >&2; fail "no token can be made"; }
as_hub backstitch hub user --config /etc/backstitch/hub.conf --user Ada 2>>"$scratch/notice" |
    sed 's/.*"webAuthToken":"\([^"]*\)".*/\1/' >"$root/root/web-token" ||
    { cat "$scratch/notice" >&2; fail "no user can be made"; }
as_hub backstitch hub users list --config /etc/backstitch/hub.conf | grep '^Ada ' >/dev/null ||
    fail "the user is not listed"
as_hub backstitch hub sessions list --config /etc/backstitch/hub.conf | grep ' Ada ' >/dev/null ||
    fail "the session is not listed"
as_hub backstitch hub users code --config /etc/backstitch/hub.conf --user Ada 2>>"$scratch/notice" |
    grep -E '^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$' >/dev/null || fail "no code can be made"
echo "correct horse 1" >"$root/root/password"
inside chmod 644 /root/password
as_hub backstitch hub users password --config /etc/backstitch/hub.conf --user Ada --password-file - \
    <"$root/root/password" 2>>"$scratch/notice" || fail "no password can be set"
grep -q '"event":"passwordChanged"' "$scratch/notice" || fail "the audit log lacks the password"
if grep -q "correct horse" "$scratch/notice"; then fail "a password was logged"; fi
grep -q '"event":"userSignedIn"' "$scratch/notice" || fail "the audit log lacks the user"
if grep -qF "$(cat "$root/root/web-token")" "$scratch/notice"; then fail "a token was logged"; fi

step "the unit's command, and two devices"
start
[ "$(ask http://127.0.0.1:8480/healthz)" = ok ] || fail "the hub is not healthy"
ask http://127.0.0.1:9480/ready | grep ready >/dev/null || fail "the hub is not ready"
if ask http://127.0.0.1:8480/metrics 2>/dev/null; then fail "everybody can read /metrics"; fi
cp -r Tests/Fixtures/format-1/store "$scratch/past"
"$scratch/backstitch" rebuild "$scratch/past" >/dev/null # brings it to the present format
"$scratch/backstitch" export "$scratch/past" --with-schema --output "$scratch/records.jsonl"
# The schema, and records that have all that it asks for; one of them comes later.
head -n 3 "$scratch/records.jsonl" >"$root/root/records.jsonl"
head -n 1 "$scratch/records.jsonl" >"$root/root/schema.jsonl"
sed -n '1p;4p' "$scratch/records.jsonl" >"$root/root/later.jsonl"
inside backstitch import /root/first /root/records.jsonl --create >/dev/null
inside backstitch import /root/second /root/schema.jsonl --create >/dev/null
synchronise() {
    inside backstitch sync "/root/$1" --url http://127.0.0.1:8480 --api-token "$token" \
        --web-token-file /root/web-token --zone Notes --json
}
synchronise first
synchronise second
for device in first second; do inside backstitch export "/root/$device" >"$scratch/$device"; done
[ -s "$scratch/first" ] || fail "there were no records"
cmp "$scratch/first" "$scratch/second" || fail "the devices differ"
ask http://127.0.0.1:9480/metrics >"$scratch/metrics"
grep -q '^backstitch_hub_records_saved_total [1-9]' "$scratch/metrics" || fail "nothing was counted"
if command -v promtool >/dev/null; then
    promtool check metrics <"$scratch/metrics"
else
    echo "SKIPPED: promtool is missing, so that the metrics were not checked." >&2
fi

step "a backup while the hub serves, a disaster, and the restore"
as_hub backstitch hub backup --config /etc/backstitch/hub.conf --backup /var/lib/backstitch/backup
as_hub backstitch hub verify --backup /var/lib/backstitch/backup
for unit in backstitch-hub-backup.service backstitch-hub-backup.timer; do
    [ -f "$root/lib/systemd/system/$unit" ] || fail "the package lacks $unit"
done
grep -qxF "ExecStart=/usr/lib/backstitch-hub/backup /etc/backstitch/hub.conf /var/lib/backstitch/backups 7" \
    "$root/lib/systemd/system/backstitch-hub-backup.service" || fail "the unit's command is another one"
[ -f "$root/etc/systemd/system/backstitch-.service.d/credentials.conf" ] || fail "the units have no credentials"
as_hub /usr/lib/backstitch-hub/backup /etc/backstitch/hub.conf /var/lib/backstitch/backups 7
[ "$(inside find /var/lib/backstitch/backups -maxdepth 1 -name '2*Z' | wc -l)" = 1 ] || fail "there is no backup"
# What a device sends after it, the backup lacks.
inside backstitch import /root/first /root/later.jsonl >/dev/null
synchronise first >/dev/null
inside backstitch export /root/first >"$scratch/first"
[ "$(wc -l <"$scratch/first")" -gt "$(wc -l <"$scratch/second")" ] || fail "nothing came later"
kill -KILL "$service"
wait "$service" 2>/dev/null || true
service=
as_hub backstitch hub restore --backup /var/lib/backstitch/backup --data /var/lib/backstitch/restored
as_hub backstitch hub doctor --data /var/lib/backstitch/restored
rm -r "$root/var/lib/backstitch/hub"
mv "$root/var/lib/backstitch/restored" "$root/var/lib/backstitch/hub"
as_hub backstitch hub doctor --config /etc/backstitch/hub.conf
start
synchronise first >/dev/null
synchronise second >/dev/null
for device in first second; do inside backstitch export "/root/$device" >"$scratch/$device.restored"; done
cmp "$scratch/first" "$scratch/first.restored" || fail "the restore lost records"
cmp "$scratch/first.restored" "$scratch/second.restored" || fail "the devices differ after the restore"
stop

step "an upgrade: the settings and the data stay"
echo "# Kept." >>"$root$configuration"
inside sh -c 'dpkg --force-confold -i /packages/*.deb' >/dev/null
grep -q Kept "$root$configuration" || fail "the configuration was overwritten"
start
synchronise second >/dev/null
stop

step "the kept folder of this format is served"
mv "$root/var/lib/backstitch/hub" "$root/var/lib/backstitch/newer"
cp -r Tests/Fixtures/format-1/hub "$root/var/lib/backstitch/hub"
inside chown -R backstitch:backstitch /var/lib/backstitch
as_hub backstitch doctor /var/lib/backstitch/hub
start
[ "$(ask http://127.0.0.1:8480/healthz)" = ok ] || fail "the kept hub is not healthy"
stop

step "the container"
if command -v buildah >/dev/null; then
    # The base is the clean system, so that no registry is asked.
    base=$(buildah from scratch)
    buildah add --quiet "$base" "$kept" / >/dev/null
    buildah commit --quiet "$base" localhost/debian:12-slim >/dev/null
    buildah rm "$base" >/dev/null
    sed 's|FROM debian:12-slim|FROM localhost/debian:12-slim|' Packaging/Containerfile >"$scratch/Containerfile"
    buildah build --quiet --network=host --isolation=chroot --tag localhost/backstitch:test \
        -f "$scratch/Containerfile" "$packages" >/dev/null || fail "the container can't be built"
    container=$(buildah from localhost/backstitch:test)
    buildah run --isolation=chroot "$container" /usr/bin/backstitch --version ||
        fail "the program does not run in the container"
    [ "$(buildah inspect --format '{{.OCIv1.Config.User}}' "$container")" = 10001:10001 ] ||
        fail "the container runs as somebody else"
    buildah rm "$container" >/dev/null
    buildah rmi localhost/backstitch:test localhost/debian:12-slim >/dev/null
else
    echo "SKIPPED: buildah is missing, so that the container was not built." >&2
fi

step "removal"
inside apt-get remove -y backstitch-hub >/dev/null 2>&1
[ -f "$root$configuration" ] || fail "a removal took the configuration"
[ ! -e "$root/lib/systemd/system/backstitch-hub.service" ] || fail "the unit is still there"
inside apt-get purge -y backstitch-hub backstitch >"$scratch/purge" 2>&1
[ ! -e "$root$configuration" ] || fail "a purge left the configuration"
[ ! -e "$root/usr/bin/backstitch" ] || fail "a purge left the program"
[ -f "$root/var/lib/backstitch/hub/data.mdb" ] || fail "a purge took the data"
grep -q 'stays in /var/lib/backstitch' "$scratch/purge" || fail "nobody says that the data stays"

step "done"
