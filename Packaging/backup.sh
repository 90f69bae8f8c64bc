#!/bin/sh
# Makes a backup of the hub that a configuration names, and removes the oldest ones.
#
#   backup.sh [CONFIGURATION [FOLDER [NUMBER]]]
#
# FOLDER gets a folder for each backup, named by its time (UTC), of which the last NUMBER stay. A backup appears
# when it is whole. Of a hub over PostgreSQL it has a dump of the database, made by pg_dump in one
# snapshot, and after that the files: a hub keeps each for an hour after its last record, so that all that the dump names
# are there if copying them takes less.
set -eu
umask 077
configuration=${1:-/etc/backstitch/hub.conf}
folder=${2:-/var/lib/backstitch/backups}
number=${3:-7}
case $number in
'' | *[!0-9]* | 0) echo "How many backups stay? Give a number from 1 on, and not '$number'." >&2; exit 2 ;;
esac
[ -r "$configuration" ] || { echo "There is no configuration '$configuration' to read." >&2; exit 2; }

# The value of a key. The service has checked the file.
value() { sed -n "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*//p" "$configuration" | sed 's/[[:space:]]*$//' | tail -n 1; }

backstitch hub serve --config "$configuration" --check-config >/dev/null
mkdir -p "$folder"
# What a run that was ended left; one at a time makes backups.
exec 9>"$folder/.lock"
flock -n 9 || { echo "Another backup is being made in '$folder'." >&2; exit 1; }
rm -rf "$folder"/.making-*
name=$(date -u +%Y%m%dT%H%M%SZ)
[ ! -e "$folder/$name" ] || { echo "There is a backup '$folder/$name' already." >&2; exit 1; }

storage=$(value storage)
if [ -z "$storage" ]; then
    backstitch hub backup --config "$configuration" --backup "$folder/$name"
else
    making=$folder/.making-$name
    mkdir "$making"
    password=$(value storage-password)
    case $password in
    '') ;;
    # A password has no place among arguments, which every user of the machine sees.
    credential:*) PGPASSWORD=$(cat "$CREDENTIALS_DIRECTORY/${password#credential:}"); export PGPASSWORD ;;
    *) PGPASSWORD=$(cat "$password"); export PGPASSWORD ;;
    esac
    # Also where the disk gets full, nothing stays.
    trap 'rm -rf "$making"' EXIT
    began=$(date +%s)
    pg_dump --format=custom --file="$making/database.dump" --dbname="$storage"
    unset PGPASSWORD
    pg_restore --list "$making/database.dump" >/dev/null
    data=$(value data)
    if [ -d "$data/assets" ]; then
        # 1: a file went that the dump does not name, or it would still be kept.
        code=0
        tar --create --file="$making/assets.tar" --directory="$data" --exclude=assets/incoming assets || code=$?
        [ "$code" -le 1 ] || exit "$code"
    fi
    [ $(($(date +%s) - began)) -lt 3600 ] ||
        { echo "The backup took more than an hour, so that files may be missing. Use a quicker disk." >&2; exit 1; }
    sync "$making"/*
    mv "$making" "$folder/$name"
    sync "$folder"
    trap - EXIT
    echo "Copied the database and its files to '$folder/$name'."
fi

# The names are made above, and sort by time.
find "$folder" -maxdepth 1 -name '[0-9]*T[0-9]*Z' | sort -r | tail -n +"$((number + 1))" |
    while IFS= read -r old; do rm -rf "$old"; done
