#!/usr/bin/env bash
# Runs the comparison on little data, and checks that it has every workload of every engine.
# The program itself fails where an engine gives a wrong answer.
set -euo pipefail
cd "$(dirname "$0")"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bench=$(swift build -c release --show-bin-path)/backstitch-bench

"$bench" compare --rounds 1 --records 2000 --json \
    --output "$folder/compare.json" --svg "$folder/compare.svg" >"$folder/printed.json"
cmp <(cat "$folder/compare.json" && echo) "$folder/printed.json"
grep -q '</svg>' "$folder/compare.svg"

for workload in a b b8 b64 c d-equality d-equality-typed d-range d-scan d-scan-2 d-sort d-sort-2 d-tomany e f g h; do
    found=$(grep -c "\"workload\" : \"$workload\"" "$folder/printed.json" || true)
    [ "$found" = 5 ] || { echo "$workload has $found engines of 5."; exit 1; }
done
for engine in backstitch lmdb-c sqlite-c sqlite-c-tuned rocksdb-c; do
    found=$(grep -c "\"engine\" : \"$engine\"" "$folder/printed.json" || true)
    [ "$found" -ge 17 ] || { echo "$engine has $found workloads of 17."; exit 1; }
done
echo "All engines have all workloads."
