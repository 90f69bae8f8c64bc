#!/usr/bin/env bash
# Checks what can be checked of the packaging files without building anything, in a few seconds. A tool
# that is missing is told, and its check left out: sh Tests/prepare.sh --all installs all.
set -euo pipefail
cd "$(dirname "$0")"

skipped=0
have() {
    if command -v "$1" >/dev/null; then return 0; fi
    echo "SKIPPED: $1 is missing, so that $2 was not checked." >&2
    skipped=$((skipped + 1))
    return 1
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if have systemd-analyze "the unit"; then
    # The threshold is ten times the figure that is printed.
    cp debian/backstitch-hub.service "$scratch"
    cp debian/backstitch-hub.backstitch-hub-backup.service "$scratch/backstitch-hub-backup.service"
    for unit in backstitch-hub backstitch-hub-backup; do
        systemd-analyze security --offline=true --threshold=15 --no-pager "$scratch/$unit.service" | tail -n 1
    done
    # Of what it forbids the hub calls nice, which is the system call setpriority, and setrlimit, which it can do without.
    # If the last line, which decides, did not allow the former, reads would be as urgent as writes, and nobody would notice.
    grep '^SystemCallFilter=' debian/backstitch-hub.service | tail -n 1 | grep -qx 'SystemCallFilter=setpriority' ||
        { echo "The unit forbids setpriority." >&2; exit 1; }
    calls=$(systemd-analyze syscall-filter @privileged @resources | sed -n 's/^ *\([a-z_0-9]\{1,\}\)$/\1/p' | paste -sd'|')
    if grep -rnE "(^|[^a-zA-Z_])($calls)\(" ../Sources | grep -v -e ' nice(\$0)' -e ' setrlimit(resource, '; then
        echo "The unit forbids these calls." >&2
        exit 1
    fi
    # Both units read the place of the credentials: what is written there counts for both.
    place=$scratch/root/$(sed -n 's/^credentials.conf //p' debian/backstitch-hub.install)
    mkdir -p "$place" "$scratch/root/usr/lib/systemd/system"
    cp "$scratch"/*.service "$scratch/root/usr/lib/systemd/system"
    printf '[Service]\nUMask=0000\n' >"$place/credentials.conf"
    for unit in backstitch-hub backstitch-hub-backup; do
        systemd-analyze --root="$scratch/root" security --offline=true --no-pager "$unit.service" |
            grep 'UMask=.*world-writable' >/dev/null || { echo "$unit has no credentials." >&2; exit 1; }
    done
    systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' debian/backstitch-hub.backstitch-hub-backup.timer)" \
        >/dev/null
fi
# The list of what is inside is right of one program, and wrong of another.
if have objdump "the list of what is inside" && have dpkg-query "the list of what is inside"; then
    SOURCE_DATE_EPOCH=0 ./sbom.py "$(command -v openssl)" 1 1 >"$scratch/sbom"
    ./sbom.py --check "$scratch/sbom" "$(command -v openssl)" debian/copyright
    if ./sbom.py --check "$scratch/sbom" /bin/sh debian/copyright 2>/dev/null; then
        echo "The list of another program was taken for right." >&2
        exit 1
    fi
fi
if have promtool "the alerts"; then promtool check rules alerts.yml; fi
if have nginx "the place in nginx"; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=hub.example.com \
        -keyout "$scratch/key.pem" -out "$scratch/cert.pem" 2>/dev/null
    sed -e "s|/etc/ssl/certs/hub.example.com.pem|$scratch/cert.pem|" \
        -e "s|/etc/ssl/private/hub.example.com.key|$scratch/key.pem|" \
        -e "s|/var/log/nginx|$scratch|" nginx.conf >"$scratch/hub.conf"
    echo "pid $scratch/pid; error_log $scratch/error; events {} http { include $scratch/hub.conf; }" \
        >"$scratch/nginx.conf"
    nginx -t -q -c "$scratch/nginx.conf"
    # What it writes down has no token, also where the hub does not answer: nobody listens at port 9.
    sed -i -e '/listen \[::\]:443/d' -e 's/listen 443/listen 127.0.0.1:18443/' -e 's/127.0.0.1:8480/127.0.0.1:9/' \
        "$scratch/hub.conf"
    sed -i 's|{ include|{ client_body_temp_path '"$scratch"'/body; include|' "$scratch/nginx.conf"
    nginx -c "$scratch/nginx.conf"
    answer=$(printf 'GET /database/1/a?ckAPIToken=SECRET HTTP/1.1\r\nHost: hub.example.com\r\nReferer: https://SECRET\r\nConnection: close\r\n\r\n' |
        openssl s_client -quiet -connect 127.0.0.1:18443 2>/dev/null | head -n 1) || true
    kill "$(cat "$scratch/pid")"
    case $answer in *" 502 "*) ;; *) echo "nginx answered: $answer" >&2; exit 1 ;; esac
    grep -q ' 502 ' "$scratch/backstitch.log" || { echo "nginx logged nothing." >&2; exit 1; }
    if grep -rl SECRET "$scratch"; then echo "nginx wrote a token down." >&2; exit 1; fi
fi
# Neither the log's form nor a header that goes on has the address, in which there are tokens.
if grep -E '\$(request|request_uri|args|query_string|uri|http_referer)([^_a-z]|$)' nginx.conf; then
    echo "The place in nginx would log or pass on addresses, which have tokens." >&2
    exit 1
fi
# The commands that the guide gives are those that the test runs.
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' ../Documentation/guides/operating.md |
    while IFS= read -r line; do
        grep -qF -- "$line" test.sh || { echo "test.sh does not run what the guide has: $line" >&2; exit 1; }
    done
if have shellcheck "the scripts"; then
    shellcheck --severity=warning ../dev ../.ci/* ./*.sh ../Tests/*.sh ../Tests/*/*.sh ../Benchmarks/*.sh ../Examples/*.sh debian/backstitch-hub.postinst debian/backstitch-hub.postrm
fi
echo "The packaging files are good; checks that were skipped: $skipped."
