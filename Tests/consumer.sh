#!/usr/bin/env bash
# Shows that the package works as a versioned dependency: a package of its own, with the strictest
# settings of the compiler, declares entities.
#
# Usage: Tests/consumer.sh        (tests the commit that is checked out; needs no network)
set -euo pipefail

root="$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)"
scratch="$(mktemp -d)"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$scratch"' EXIT

git clone --quiet --no-tags "file://$root" "$scratch/backstitch"
git -C "$scratch/backstitch" checkout --quiet --detach "$(git -C "$root" rev-parse HEAD)"
git -C "$scratch/backstitch" tag 1.0.0

mkdir -p "$scratch/consumer/Sources/Consumer"
cat >"$scratch/consumer/Package.swift" <<MANIFEST
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Consumer",
    dependencies: [.package(url: "file://$scratch/backstitch", from: "1.0.0")],
    targets: [
        .executableTarget(
            name: "Consumer",
            dependencies: [.product(name: "Backstitch", package: "backstitch")],
            swiftSettings: [
                .defaultIsolation(MainActor.self), .strictMemorySafety(),
                .treatAllWarnings(as: .error),
            ]),
        .executableTarget(
            name: "FirstPage",
            dependencies: [.product(name: "Backstitch", package: "backstitch")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ]
)
MANIFEST
cat >"$scratch/consumer/Sources/Consumer/main.swift" <<'SOURCE'
import Backstitch
import Foundation

@Entity struct Department {
    var id = ID()
    var name: String
    @Relationship(inverse: \Employee.department) var employees: ToMany<Employee>
}

@Entity("Person") struct Employee {
    var id = ID()
    @Attribute(.indexed) var name: String
    var salary: Decimal = 0
    @Relationship(onDelete: .cascade) var department: Department.ID?
}

let engines = Department(id: "engines", name: "Engines")
let ada = Employee(name: "Ada", department: engines.id)
for attribute in Employee.entitySchema.attributes {
    print("\(Employee.entityName).\(attribute.name): \(attribute.type)")
}
let _: ToMany<Employee> = engines.employees
precondition(ada.id < Employee.ID())

// The bytes of an export need no `unsafe`.
func lines(of store: Store) throws -> [UInt8] {
    var lines: [UInt8] = []
    try store.export { part in lines += part }
    try store.exportOutbox { part in lines += part }
    return lines
}
SOURCE

# The first program of the README, word for word; the page leaves it to the reader where the store is.
mkdir "$scratch/consumer/Sources/FirstPage"
awk '/^```swift$/ { inside = ++count == 1; next } /^```$/ { inside = 0 } inside' \
    "$scratch/backstitch/README.md" >"$scratch/consumer/Sources/FirstPage/main.swift"
cat >"$scratch/consumer/Sources/FirstPage/Folder.swift" <<'SOURCE'
import Foundation

let directory = URL(filePath: CommandLine.arguments[1])
SOURCE

expected="Person.name: string
Person.salary: decimal
Person.department: reference"

options=(--quiet --package-path "$scratch/consumer" --cache-path "$scratch/cache")
swift build "${options[@]}"
actual="$(swift run --skip-build "${options[@]}" Consumer)"
if [[ "$actual" != "$expected" ]]; then
    diff <(echo "$expected") <(echo "$actual") >&2 || true
    echo "The consumer printed something else." >&2
    exit 1
fi

# The page's program prints how many records there are "now, and again after every change", also one of
# another process; it runs until it is ended.
prints() {
    local line
    read -r line <&"$1" || line="nothing"
    [[ "$line" == "$2" ]] || { echo "The README's program printed $line in place of $2." >&2; exit 1; }
}
page="$(swift build --package-path "$scratch/consumer" --cache-path "$scratch/cache" --show-bin-path)/FirstPage"
exec {first}< <(exec timeout 3600 stdbuf -oL "$page" "$scratch/todos")
pids+=($!)
prints "$first" 1
exec {second}< <(exec timeout 3600 stdbuf -oL "$page" "$scratch/todos")
pids+=($!)
prints "$second" 2
prints "$first" 2
kill "${pids[@]}"
pids=()

# What only the compiler can know is reported at the line that is wrong.
cat >"$scratch/consumer/Sources/Consumer/Wrong.swift" <<'SOURCE'
import Backstitch

enum Kind: String { case small, large }

@Entity struct Office {
    var id = ID()
    @Relationship(inverse: \Worker.ofice) var workers: ToMany<Worker>
}

@Entity struct Worker {
    var id = ID()
    var office: Office.ID?
    var kind: Kind
}
SOURCE
if errors="$(swift build "${options[@]}" 2>&1)"; then
    echo "Wrong entities build." >&2
    exit 1
fi
for message in \
    "Wrong.swift:7:28: error: value of type 'Worker' has no member 'ofice'" \
    "an enum is stored by its raw values: conform it to EnumAttributeValue"; do
    if [[ "$errors" != *"$message"* ]]; then
        printf '%s\n' "$errors" "The compiler does not report: $message" >&2
        exit 1
    fi
done
echo "A package that depends on Backstitch by version builds and runs."
