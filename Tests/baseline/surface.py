"""The public surface as text: what a program sees that imports one of the modules below.

Usage: Tests/baseline/surface.py [--update] [--bin DIR]

Reads the symbol graphs of what is built (`swift build` first), leaves out comments, names that begin
with an underscore and what conformances add, and keeps what the module's file of exports names. Without
--update it compares that with Documentation/baseline/MODULE.txt, says what is added, changed or gone, and
ends with 1 if anything is.
"""

import difflib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = ["BackstitchCore", "BackstitchLog", "BackstitchStore", "BackstitchSync"]
MODULES = {
    "Backstitch": "Sources/Backstitch/Backstitch.swift",
    "BackstitchRepair": "Sources/BackstitchRepair/BackstitchRepair.swift",
    "BackstitchService": "Sources/BackstitchService/BackstitchService.swift",
    "BackstitchViews": "Sources/BackstitchViews/BackstitchViews.swift",
}
TYPES = {"struct", "enum", "class", "protocol", "actor", "typealias", "macro"}


def extract(bin_path, module, folder):
    """Has the compiler write the symbol graph of a module."""
    maps = [
        argument
        for path in glob.glob(f"{ROOT}/Sources/*/module.modulemap")
        for argument in ("-Xcc", f"-fmodule-map-file={path}")
    ]
    target = json.loads(subprocess.check_output(["swift", "-print-target-info"]))
    subprocess.check_call(
        ["swift", "symbolgraph-extract", "-module-name", module, "-I", f"{bin_path}/Modules"]
        + ["-target", target["target"]["unversionedTriple"], "-minimum-access-level", "public"]
        + ["-skip-synthesized-members", "-output-dir", folder] + maps)


def symbols(folder):
    """Every public symbol: its path, its kind, and its declaration on one line."""
    for path in sorted(glob.glob(f"{folder}/*.symbols.json")):
        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        for symbol in graph["symbols"]:
            names = symbol["pathComponents"]
            if any(name.startswith("_") for name in names):
                continue
            text = "".join(part["spelling"] for part in symbol["declarationFragments"])
            for extension in [symbol.get("swiftExtension")]:
                for rule in (extension or {}).get("constraints", []):
                    relation = {"conformance": ":", "superclass": ":", "sameType": "=="}
                    text += f" [{rule['lhs']} {relation[rule['kind']]} {rule['rhs']}]"
            kind = symbol["kind"]["identifier"].removeprefix("swift.")
            yield tuple(names), kind, re.sub(r"\s+", " ", text)


def surface(all_symbols, module, exports):
    """The lines of a module's baseline, and how many types they name: outside of others, and inside."""
    with open(f"{ROOT}/{exports}", encoding="utf-8") as file:
        named = set(re.findall(r"public import \w+ \w+\.(\w+)", file.read()))
    own = all_symbols.get(module, [])
    lines, outer, inner = set(), set(), set()
    for source in SOURCES:
        for names, kind, text in all_symbols[source]:
            if names[0] in named:
                lines.add(f"{'.'.join(names)}\t{text}")
                if kind in TYPES:
                    (inner if len(names) > 1 else outer).add(names)
    for names, kind, text in own:
        lines.add(f"{'.'.join(names)}\t{text}")
        if kind in TYPES:
            (inner if len(names) > 1 else outer).add(names)
    missing = {name for name in named if not name.startswith("_")} - {names[0] for names in outer}
    if missing:
        sys.exit(f"{exports} names what is not public: {', '.join(sorted(missing))}")
    head = f"# {module}: {len(outer)} types, {len(inner)} more inside of them\n"
    return [head] + [line + "\n" for line in sorted(lines)]


def main(arguments):
    update = "--update" in arguments
    if "--bin" in arguments:
        bin_path = arguments[arguments.index("--bin") + 1]
    else:
        command = ["swift", "build", "--package-path", ROOT, "--show-bin-path"]
        bin_path = subprocess.check_output(command, text=True).strip()
    graphs = {}
    for module in SOURCES + list(MODULES):
        with tempfile.TemporaryDirectory() as folder:
            extract(bin_path, module, folder)
            graphs[module] = list(symbols(folder))
    differs = False
    for module, exports in MODULES.items():
        path = f"{ROOT}/Documentation/baseline/{module}.txt"
        new = surface(graphs, module, exports)
        old = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.readlines()
        changes = [
            line
            for line in difflib.unified_diff(old, new, n=0)
            if line[0] in "+-" and line[:3] not in ("+++", "---")
        ]
        if not changes:
            continue
        differs = True
        gone = {line[1:].split("\t")[0] for line in changes if line[0] == "-"}
        come = {line[1:].split("\t")[0] for line in changes if line[0] == "+"}
        print(f"{module}: adds {len(come - gone)}, changes {len(come & gone)}, breaks {len(gone - come)}")
        sys.stdout.writelines("  " + line for line in changes)
        if update:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(new)
    if differs and not update:
        print("If that is meant, run Tests/baseline/surface.py --update, and say it in CHANGELOG.md.")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
