#!/bin/sh
# A hub over PostgreSQL is backed up while devices write, its database and its files are lost, and both are
# restored: what was acknowledged before the backup began is there, and devices go on with nothing lost.
#
#     Tests/hub/postgresql.sh PROGRAM HOST [USER]
#
# PROGRAM is the built `backstitch`. HOST is the host, or the folder of the socket, of a PostgreSQL server whose
# role USER (postgres unless given) may make databases; two are made, and removed at the end.
set -eu

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
host=$2
role=${3:-postgres}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
hub=
writer=
export PGHOST="$host" PGUSER="$role"
for folder in /usr/lib/postgresql/*/bin; do PATH=$PATH:$folder; done
ln -s "$program" "$work/backstitch"
PATH=$work:$PATH
first="operations_$$"
second="operations_$$_restored"
finish() {
    status=$?
    for process in $writer $hub; do kill -KILL "$process" 2>/dev/null && wait "$process" 2>/dev/null || true; done
    for database in "$first" "$second"; do dropdb --if-exists --force "$database" 2>/dev/null || true; done
    rm -rf "$work"
    exit $status
}
trap finish EXIT
fail() { echo "postgresql.sh: $1" >&2; exit 1; }
step() { echo "-- $1"; }
# Writes the configuration of a hub over a database.
configure() {
    cat >"$work/hub.conf" <<CONFIGURATION
[server]
listen = 127.0.0.1:0
[storage]
storage = host=$host user=$role dbname=$1
data = $work/files
CONFIGURATION
}
start() {
    rm -f "$work/told"
    mkfifo "$work/told"
    backstitch hub serve --config "$work/hub.conf" --json >"$work/told" 2>"$work/log" &
    hub=$!
    read -r line <"$work/told" || fail "the hub did not start: $(cat "$work/log")"
    url=$(printf %s "$line" | sed 's/.*"url":"\([^"]*\)".*/\1/')
    echo "$url" >"$work/url"
}
folder_record() { printf '{"entity":"Folder","record":"%s","values":{"name":{"string":"%s"}}}\n' "$1" "$1"; }
synchronise() {
    backstitch sync "$work/$1" --url "$(cat "$work/url")" --api-token "$token" \
        --web-token-file "$work/web-token" --zone Notes --json >"$work/$1.synced" 2>&1 &&
        grep -q '"pending":0' "$work/$1.synced"
}
names() { backstitch export "$work/$1" | sed -n 's/.*"record":"\([^"]*\)".*/\1/p' | sort; }

step "a hub over PostgreSQL, and a device that writes all the time"
createdb "$first"
configure "$first"
mkdir "$work/files"
backstitch hub migrate --config "$work/hub.conf"
token=$(backstitch hub token --config "$work/hub.conf" --label app 2>/dev/null)
backstitch hub users add --config "$work/hub.conf" --user Ada >/dev/null
backstitch hub sessions add --config "$work/hub.conf" --user Ada >"$work/web-token"
start
cp -r "$here/Tests/Fixtures/format-1/store" "$work/past"
backstitch rebuild "$work/past" >/dev/null # brings it to the present format
backstitch export "$work/past" --with-schema --output "$work/records.jsonl"
head -n 1 "$work/records.jsonl" >"$work/schema.jsonl"
for device in writer reader; do backstitch import "$work/$device" "$work/schema.jsonl" --create >/dev/null; done
synchronise reader || fail "a device did not sync: $(cat "$work/reader.synced")"
(
    number=0
    while [ ! -e "$work/enough" ] && [ "$number" -lt 200 ]; do
        number=$((number + 1))
        { cat "$work/schema.jsonl"; folder_record "w$number"; } >"$work/next.jsonl"
        backstitch import "$work/writer" "$work/next.jsonl" >/dev/null
        synchronise writer || exit 1
        echo "w$number" >>"$work/acknowledged"
    done
) &
writer=$!
while [ "$(wc -l <"$work/acknowledged" 2>/dev/null || echo 0)" -lt 5 ]; do
    kill -0 "$writer" 2>/dev/null || fail "the writer ended: $(cat "$work/writer.synced" "$work/log")"
    sleep 0.1
done

step "a backup meanwhile, with the password as a credential"
sort "$work/acknowledged" >"$work/before"
mkdir "$work/credentials"
# A server that lets the role in without a password asks for none.
printf '%s\n' "${PGPASSWORD:-none}" >"$work/credentials/password"
{
    cat "$work/hub.conf"
    echo "storage-password = credential:password"
} >"$work/credentials.conf"
if (unset CREDENTIALS_DIRECTORY && "$here/Packaging/backup.sh" "$work/credentials.conf" "$work/none" 2) >/dev/null 2>&1; then
    fail "a backup was made without the credential that its configuration names"
fi
CREDENTIALS_DIRECTORY=$work/credentials "$here/Packaging/backup.sh" "$work/credentials.conf" "$work/backups" 2
[ -z "$(find "$work/backups" -perm /077)" ] || fail "others can read the backup"
touch "$work/enough"
wait "$writer" || fail "the writer failed: $(cat "$work/writer.synced" "$work/log")"
writer=

step "a disaster: the hub is killed, its database and its files are lost"
kill -KILL "$hub"
wait "$hub" 2>/dev/null || true
hub=
dropdb --force "$first"
rm -rf "$work/files"

step "the restore into another database"
backup=$(find "$work/backups" -maxdepth 1 -name '2*Z')
createdb "$second"
pg_restore --dbname="$second" --no-owner --exit-on-error "$backup/database.dump"
mkdir "$work/files"
[ ! -e "$backup/assets.tar" ] || tar --extract --file="$backup/assets.tar" --directory="$work/files"
configure "$second"
backstitch hub epoch --config "$work/hub.conf"
backstitch hub doctor --config "$work/hub.conf" >/dev/null || fail "the restored hub is damaged"
start

step "what was acknowledged before the backup is there"
backstitch import "$work/fresh" "$work/schema.jsonl" --create >/dev/null
synchronise fresh || fail "a new device did not sync: $(cat "$work/fresh.synced")"
names fresh >"$work/restored"
[ -z "$(comm -23 "$work/before" "$work/restored")" ] ||
    fail "acknowledged and lost: $(comm -23 "$work/before" "$work/restored" | tr '\n' ' ')"

step "devices go on, and nothing is lost"
for device in writer reader fresh; do
    synchronise "$device" || fail "$device did not sync: $(cat "$work/$device.synced")"
done
sort "$work/acknowledged" >"$work/all"
for device in writer reader fresh; do
    names "$device" >"$work/names"
    cmp "$work/all" "$work/names" || fail "$device does not have what was acknowledged"
done

backstitch hub verify --config "$work/hub.conf" >/dev/null || fail "the hub is damaged while it serves"

step "old backups go, and one that can't be made leaves nothing"
for _ in 1 2; do sleep 1; "$here/Packaging/backup.sh" "$work/hub.conf" "$work/backups" 2 >/dev/null; done
[ "$(find "$work/backups" -maxdepth 1 -name '2*Z' | wc -l)" = 2 ] || fail "not two backups stay"
kill -TERM "$hub"
wait "$hub" || fail "the hub ended with an error: $(cat "$work/log")"
hub=
dropdb --force "$second"
if "$here/Packaging/backup.sh" "$work/hub.conf" "$work/backups" 2 >/dev/null 2>&1; then
    fail "a database that is not there was backed up"
fi
[ "$(find "$work/backups" -mindepth 1 -maxdepth 1 ! -name .lock | wc -l)" = 2 ] || fail "something was left behind"
echo "Nothing was lost."
