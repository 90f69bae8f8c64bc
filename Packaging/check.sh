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
    systemd-analyze security --offline=true --threshold=15 --no-pager \
        "$scratch/backstitch-hub.service" | tail -n 1
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
    shellcheck --severity=warning ../dev build.sh check.sh test.sh debian/backstitch-hub.postinst debian/backstitch-hub.postrm
fi
echo "The packaging files are good; checks that were skipped: $skipped."
