"""What the command writes as JSON: the keys of each command's output, and the types of their values.

Usage: Tests/baseline/outputs.py BACKSTITCH [--update]

Runs every command that takes --json over stores and a hub that it makes, and writes down what comes out
as JSON Schema. Compares that with Documentation/baseline/outputs.json, and ends with 1 if anything
differs: a key that is new, gone, of another type, or no longer always there.
"""

import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = f"{ROOT}/Documentation/baseline/outputs.json"

# Objects whose keys are data: names of attributes, kinds of faults.
MAPS = {"values", "base", "local", "server", "outcome", "faultsInjected", "conflicts"}
# The members by which a value is written; each value has one.
VALUES = {
    "bool", "int64", "double", "string", "bytes", "date", "decimal", "uuid", "reference", "location",
    "list", "duration", "null", "unknown", "asset",
}


def is_value(sample):
    return isinstance(sample, dict) and len(sample) == 1 and set(sample) <= VALUES


def type_name(sample):
    """Whole numbers and others are one type: 3.0 may be written as 3."""
    for kind, name in ((bool, "boolean"), (str, "string"), ((int, float), "number"), (list, "array")):
        if isinstance(sample, kind):
            return name
    return "null" if sample is None else "object"


def schema(samples, name=""):
    """The schema of values that stand in the same place."""
    kinds = sorted({type_name(sample) for sample in samples})
    result = {"type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [sample for sample in samples if isinstance(sample, dict)]
    lists = [element for sample in samples if isinstance(sample, list) for element in sample]
    if objects and all(map(is_value, objects)):
        return {"$ref": "#/$defs/value"}
    if objects and name in MAPS:
        parts = [part for sample in objects for part in sample.values()]
        if parts:
            result["additionalProperties"] = schema(parts)
    elif objects:
        keys = sorted({key for sample in objects for key in sample})
        result["properties"] = {
            key: schema([sample[key] for sample in objects if key in sample], key) for key in keys
        }
        result["required"] = [key for key in keys if all(key in sample for sample in objects)]
    if lists:
        result["items"] = schema(lists)
    return result


class Runner:
    """Runs commands, and keeps what they write."""

    def __init__(self, program):
        self.program = program
        self.outputs = {}

    def note(self, name, text):
        try:
            lines = [json.loads(line) for line in text.splitlines() if line]
        except json.JSONDecodeError:
            sys.exit(f"'{name}' wrote what is no JSON: {text[:500]}")
        if not lines:
            sys.exit(f"'{name}' wrote no JSON.")
        self.outputs.setdefault(name, []).extend(lines)

    def run(self, name, *words, codes=(0,)):
        command = [self.program, *name.split(), *words, "--json"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode not in codes:
            sys.exit(f"{' '.join(command)} ended with {result.returncode}: {result.stderr}")
        return result

    def collect(self, name, *words, codes=(0,), kept=None):
        """Runs a command, and keeps its output under its name, or another one."""
        self.note(kept or name, self.run(name, *words, codes=codes).stdout)


def packages():
    """A package index for the demo, small and always the same."""
    return "".join(
        f"Package: package-{number}\nVersion: 1.{number}\nArchitecture: all\nInstalled-Size: {number}\n"
        f"Maintainer: Ada <ada@example.org>\nDescription: number {number}\n\n"
        for number in range(1, 400)
    )


def stores(runner, folder):
    """Commands on stores that the demo makes."""
    index = f"{folder}/packages"
    with open(index, "w", encoding="utf-8") as file:
        file.write(packages())
    runner.collect("demo", "--input", index, "--keep", f"{folder}/kept")
    # Conflicts are in the journal of the device that met them.
    kept = [f"{folder}/kept/{name}" for name in ("a", "b")]
    store = next(path for path in kept if runner.run("conflicts", path).stdout)
    for name in ("inspect", "verify", "rebuild", "doctor"):
        runner.collect(name, store)
    runner.collect("assets", store, "--verify", "--orphans", "--evict", "0")
    runner.collect("demo", "--assets", kept="demo --assets")
    runner.collect("log", store)
    conflicts = runner.run("conflicts", store).stdout
    runner.note("conflicts", conflicts)
    first = json.loads(conflicts.splitlines()[0])
    runner.collect("history", store, first["entity"], first["record"])
    runner.collect("conflicts", store, "--undo", str(first["sequence"]), kept="conflicts --undo")
    runner.collect("query", store, first["entity"], "--limit", "20")
    runner.collect("query", store, first["entity"], "--count", kept="query --count")
    runner.collect("query", store, first["entity"], "--explain", kept="query --explain")
    runner.collect("backup", store, f"{folder}/copy")
    exported = f"{folder}/records.jsonl"
    runner.collect("export", store, "--output", exported)
    runner.collect("export", store, "--output", exported, "--resume", kept="export --resume")
    with_schema = f"{folder}/schema.jsonl"
    runner.run("export", store, "--with-schema", "--output", with_schema)
    with open(with_schema, "a", encoding="utf-8") as file:
        file.write("not a record\n")
    result = runner.run("import", f"{folder}/new", with_schema, "--create", codes=(1,))
    runner.note("import", result.stdout)
    runner.note("import: bad lines", result.stderr)
    runner.collect("compact", f"{folder}/copy", "--keep", "unsynced")
    damaged = f"{folder}/damaged"
    shutil.copytree(f"{folder}/copy", damaged)
    with open(f"{damaged}/data.mdb", "r+b") as file:
        file.seek(0, os.SEEK_END)
        # So much that some records are lost, some older, and some edits, wherever they lie.
        for page in range(20, file.tell() // 4096, 3):
            file.seek(page * 4096 + 1024)
            file.write(b"damage" * 500)
    runner.collect("doctor", damaged, codes=(1,))
    runner.collect("doctor", damaged, "--repair", kept="doctor --repair")
    studio = subprocess.Popen(
        [runner.program, "studio", store, "--json"], stdout=subprocess.PIPE, text=True)
    runner.note("studio", studio.stdout.readline())
    studio.terminate()
    studio.wait()
    runner.collect("simulate", "--seeds", "1..20")
    return f"{folder}/new"


def hub(runner, folder, store):
    """Commands on a hub, and a store that is synchronised with it."""
    data = f"{folder}/hub"
    place = ["--data", data, "--listen", "127.0.0.1:0"]
    runner.collect("hub --check-config", *place, kept="hub serve --check-config")
    process = subprocess.Popen(
        [runner.program, "hub", *place, "--dev", "--user", "Ada", "--metrics-listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        runner.note("hub serve --dev", line)
        document = json.loads(line)
        token = f"{folder}/token"
        with open(token, "w", encoding="utf-8") as file:
            file.write(document["users"][0]["webAuthToken"])
        runner.collect(
            "sync", store, "--url", document["url"], "--zone", "Notes", "--web-token-file", token,
            "--api-token", document["apiToken"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    runner.collect("hub token", *place[:2])
    runner.collect("hub user", *place[:2], "--user", "Bob")
    key = f"{folder}/key.pem"
    made = subprocess.run(
        ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"], capture_output=True, check=True)
    subprocess.run(["openssl", "ec", "-pubout", "-out", key], input=made.stdout, capture_output=True, check=True)
    runner.collect("hub key", *place[:2], "--public-key", key)
    for listing in ("users", "sessions", "tokens", "keys", "containers"):
        runner.collect(f"hub {listing} list", *place[:2])
    runner.collect("hub backup", *place[:2], "--backup", f"{folder}/hub-copy")
    runner.collect("hub verify", "--backup", f"{folder}/hub-copy")
    runner.collect("hub doctor", *place[:2])
    runner.collect("hub users remove", *place[:2], "--user", "Bob")


def main(program, *options):
    runner = Runner(os.path.abspath(program))
    with tempfile.TemporaryDirectory() as folder:
        hub(runner, folder, stores(runner, folder))
    parts = {name: schema(samples) for name, samples in sorted(runner.outputs.items())}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {
            "value": {
                "type": "object", "minProperties": 1, "maxProperties": 1,
                "propertyNames": {"enum": sorted(VALUES)},
            }
        },
        "properties": parts,
    }
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    # A type or a list of names fits on a line.
    new = re.sub(r"\[\s+((?:\"[^\"]*\",?\s*)+)\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)
    old = ""
    if os.path.exists(PATH):
        with open(PATH, encoding="utf-8") as file:
            old = file.read()
    changes = list(
        difflib.unified_diff(old.splitlines(True), new.splitlines(True), "promised", "now", n=4))
    sys.stdout.writelines(changes)
    if "--update" in options:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(new)
    elif changes:
        print("If that is meant, run it with --update, and say it in CHANGELOG.md.")
        sys.exit(1)


main(*sys.argv[1:])
