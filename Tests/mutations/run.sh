#!/usr/bin/env bash
# Counts the seeds that the simulation needs to find deliberate bugs.
#
# Tests/mutations/run.sh [--json] [--seeds N] [--scratch FOLDER | --in-place] [--package-path FOLDER] [NAME...]
#
# Each patch beside this file is one bug. They are put into a copy of the package one after another:
# apply, build, simulate seeds 1..N (2000 unless given) until one fails, revert. NAME picks the patches
# whose names begin with it. With --scratch the copy is kept in a folder, so that a later run builds
# less; with --in-place the bugs are put into the package itself and taken out again, which builds the
# least. --package-path names a package that depends on this one, whose release build has the program.
# A program that is ended by a signal, or hangs, is found too, without a seed. A patch that begins with
# a line "# simulate OPTION..." is searched for with these options, and one that begins with
# "# suite FILTER" by "swift test --filter FILTER" instead of the simulation, with the variables of a
# line "# environment NAME=VALUE...".
#
# Exit codes: 0 every bug was found; 1 one was not, or the package fails without any; 2 it could not be run.
set -euo pipefail
# A bug may leave something unused, which is no reason not to look for it.
unset BACKSTITCH_WARNINGS
folder=$(cd "$(dirname "$0")" && pwd)
package=$(cd "$folder/../.." && pwd)

fail() { echo "run.sh: $1" >&2; exit 2; }

json=false seeds=2000 scratch="" in_place=false names=() release=(-c release --product backstitch)
while [ $# -gt 0 ]; do
    case $1 in
    --json) json=true ;;
    --seeds) [ $# -gt 1 ] || fail "--seeds needs a number."; seeds=$2; shift ;;
    --scratch) [ $# -gt 1 ] || fail "--scratch needs a folder."; scratch=$2; shift ;;
    --in-place) in_place=true ;;
    --package-path) [ $# -gt 1 ] || fail "--package-path needs a folder."; release+=(--package-path "$2"); shift ;;
    -*) fail "There is no option $1." ;;
    *) names+=("$1") ;;
    esac
    shift
done
case $seeds in '' | *[!0-9]* | 0) fail "--seeds takes a number from 1 on, and not '$seeds'." ;; esac

patches=()
for name in "${names[@]:-}"; do
    found=("$folder/$name"*.patch)
    [ -e "${found[0]}" ] || fail "There is no patch whose name begins with '$name'."
    patches+=("${found[@]}")
done

applied="" temporary=""
# An interrupted run leaves no bug behind.
trap '[ -z "$applied" ] || revert; [ -z "$temporary" ] || rm -rf "$temporary"' EXIT
if [ -z "$scratch" ]; then scratch=$(mktemp -d) temporary=$scratch; fi
mkdir -p "$scratch"
scratch=$(cd "$scratch" && pwd)
for tool in patch timeout swift; do
    command -v "$tool" >/dev/null || fail "$tool is not installed."
done

revert() {
    patch -d "$copy" -p1 -s --batch --no-backup-if-mismatch -R <"$applied"
    applied=
}

files() { (cd "$1" && find Package.swift Sources Tests -type f -o -type l); }

if $in_place; then
    copy=$package
else
    copy=$scratch/package
    mkdir -p "$copy/Sources" "$copy/Tests"
    # Brings the copy up to date. Files that are the same stay as they are, so that little is built anew.
    files "$package" | while read -r file; do
        cmp -s "$package/$file" "$copy/$file" && continue
        mkdir -p "$(dirname "$copy/$file")"
        cp -P "$package/$file" "$copy/$file"
    done
    files "$copy" | while read -r file; do [ -e "$package/$file" ] || rm "$copy/$file"; done
fi

# Builds the copy and simulates, with the options after the first argument; sets seed and check of the
# first failure, empty where there is none.
simulate() {
    seed="" check=""
    if ! (cd "$copy" && swift build "${release[@]}") >"$scratch/build.log" 2>&1; then
        cat "$scratch/build.log" >&2
        fail "$1 does not build."
    fi
    local code=0 output binary
    binary=$(cd "$copy" && swift build "${release[@]}" --show-bin-path)/backstitch
    output=$(timeout 1800 "$binary" simulate --seeds "1..$seeds" \
        --until-failure --failures "$scratch/failures.txt" "${@:2}" 2>/dev/null) || code=$?
    case $code in
    0) ;;
    1)
        local line
        line=$(grep -m 1 '^Seed ' <<<"$output")
        seed=$(cut -d ' ' -f 2 <<<"$line")
        check=$(sed 's/^Seed [0-9]* failed: //; s/\. backstitch simulate .*//' <<<"$line")
        ;;
    124) seed=0 check="hangs" ;;
    2) fail "$1: the simulation could not be run." ;;
    *) seed=0 check="is ended by a signal ($((code - 128)))" ;;
    esac
}

# Runs the tests that a filter names, with the variables after it; sets check to the first one that fails, empty where there is none.
# They have to pass without the bug, which is looked at once for each filter.
run_suite() {
    seed="" check=""
    local code=0
    if ! (cd "$copy" && swift build --build-tests) >"$scratch/build.log" 2>&1; then
        cat "$scratch/build.log" >&2
        fail "$1 does not build."
    fi
    (cd "$copy" && timeout 1800 env "${@:3}" swift test --skip-build --filter "$2") >"$scratch/test.log" 2>&1 || code=$?
    grep -qE 'Test run with [1-9][0-9]* tests?' "$scratch/test.log" || [ "$code" != 0 ] ||
        fail "$1: no test is named '$2'."
    case $code in
    0) ;;
    1)
        check=$(sed -nE 's/^.* (Test|Suite) (.*) failed after .*$/\2/p' "$scratch/test.log" | head -n 1)
        check="$2: ${check:-fails}"
        ;;
    124) check="$2: hangs" ;;
    *) check="$2: is ended by a signal ($((code - 128)))" ;;
    esac
}

rows=() survivors=0
row() {
    if $json; then
        rows+=("{\"mutation\":\"$1\",\"seeds\":${2:-null},\"check\":\"${3//\"/\\\"}\"}")
    else
        printf '%-32s %6s  %s\n' "$1" "${2:--}" "$3"
    fi
}

suites=()
for patch in "${patches[@]}"; do
    filter=$(sed -n '1s/^# suite //p' "$patch")
    [ -z "$filter" ] || suites+=("$filter")
done
if [ "${#suites[@]}" -lt "${#patches[@]}" ]; then
    simulate "the package without a bug"
    [ -z "$seed" ] || { echo "run.sh: seed $seed fails without a bug: $check" >&2; exit 1; }
fi
for filter in $(printf '%s\n' ${suites[@]+"${suites[@]}"} | sort -u); do
    run_suite "the package without a bug" "$filter"
    [ -z "$check" ] || { echo "run.sh: a test fails without a bug: $check" >&2; exit 1; }
done
$json || printf '%-32s %6s  %s\n' mutation seeds check
for patch in "${patches[@]}"; do
    name=$(basename "$patch" .patch)
    patch -d "$copy" -p1 -s --batch --no-backup-if-mismatch <"$patch" || fail "$name does not apply; make it anew."
    applied=$patch
    filter=$(sed -n '1s/^# suite //p' "$patch")
    if [ -n "$filter" ]; then
        read -ra variables < <(sed -n 's/^# environment //p' "$patch") || variables=()
        run_suite "$name" "$filter" ${variables[@]+"${variables[@]}"}
    else
        read -ra options < <(sed -n '1s/^# simulate //p' "$patch") || options=()
        simulate "$name" ${options[@]+"${options[@]}"}
    fi
    revert
    if [ -z "$check" ]; then
        survivors=$((survivors + 1))
        check="survives ${filter:-$seeds seeds}"
    fi
    row "$name" "$seed" "$check"
done
if $json; then (IFS=, && printf '{"mutations":[%s],"survivors":%d}\n' "${rows[*]}" "$survivors"); fi
[ "$survivors" = 0 ]
