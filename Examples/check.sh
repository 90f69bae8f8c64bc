#!/bin/sh
# Runs the examples, and compares what they print.
set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

swift build
bin=$(swift build --show-bin-path)

# Compares standard input with the output of a command.
prints() {
    cat >"$scratch/expected"
    "$@" | tr '\r' '\n' >"$scratch/seen"
    diff -u "$scratch/expected" "$scratch/seen" || { echo "'$*' printed something else."; exit 1; }
}

prints "$bin/inspections" <<'TEXT'
sites with the code B-17: 1
office: Rust at both bearings, severe
tablet after the upgrade: ["Rust at both bearings"], [inspections.Version2.Severity.severe]
after the deletion: 0 inspections, 0 repairs
TEXT

todo="$bin/reminders $scratch/reminders"
$todo add 'Buy milk' Home
$todo add 'Call the bank'
prints $todo search 'mil' <<'TEXT'
[ ] Buy milk
TEXT
$todo 'done' 'Buy milk'
$todo remove 'Call the bank'
prints $todo list <<'TEXT'
Nothing.
TEXT
$todo undo
$todo undo
prints $todo list <<'TEXT'
[ ] Buy milk
[ ] Call the bank
TEXT

printf '{"639-3":[{"alpha_3":"deu","name":"German","type":"L"},{"alpha_3":"lat","name":"Latin","type":"H"}]}' >"$scratch/file"
prints "$bin/languages" "$scratch/languages" "$scratch/file" <<'TEXT'

2 of 2
2 languages, 2 of them new or changed
by kind: H: 1, L: 1
TEXT
prints "$bin/languages" "$scratch/languages" "$scratch/file" <<'TEXT'

2 of 2
2 languages, 0 of them new or changed
by kind: H: 1, L: 1
TEXT
echo "All examples print what they should."
