"""The reference documentation of what programs import, as a site that DocC makes of the doc comments.

Usage: Tests/baseline/docs.py [--bin DIR] [TARGET]

Reads what is built (`swift build` first), leaves out what the files of exports don't name, and writes
the site to TARGET, .build/documentation unless said.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from surface import MODULES, ROOT, SOURCES, extract


def main(arguments):
    if arguments[:1] == ["--bin"]:
        bin_path, arguments = arguments[1], arguments[2:]
    else:
        command = ["swift", "build", "--package-path", ROOT, "--show-bin-path"]
        bin_path = subprocess.check_output(command, text=True).strip()
    target = arguments[0] if arguments else f"{ROOT}/.build/documentation"
    named = set()
    for exports in MODULES.values():
        with open(f"{ROOT}/{exports}", encoding="utf-8") as file:
            named |= set(re.findall(r"public import \w+ \w+\.(\w+)", file.read()))
    with tempfile.TemporaryDirectory() as folder:
        for module in SOURCES + list(MODULES):
            extract(bin_path, module, folder)
        for path in glob.glob(f"{folder}/*.symbols.json"):
            with open(path, encoding="utf-8") as file:
                graph = json.load(file)
            is_own = os.path.basename(path).split(".")[0].split("@")[0] in MODULES
            graph["symbols"] = [
                symbol
                for symbol in graph["symbols"]
                if not any(name.startswith("_") for name in symbol["pathComponents"])
                and (is_own or symbol["pathComponents"][0] in named)
            ]
            kept = {symbol["identifier"]["precise"] for symbol in graph["symbols"]}
            graph["relationships"] = [
                relation for relation in graph["relationships"] if relation["source"] in kept
            ]
            with open(path, "w", encoding="utf-8") as file:
                json.dump(graph, file)
        subprocess.check_call(
            ["docc", "convert", "--additional-symbol-graph-dir", folder, "--output-path", target]
            + ["--fallback-display-name", "Backstitch", "--transform-for-static-hosting"]
            + ["--fallback-bundle-identifier", "backstitch", "--diagnostic-level", "error"])
    print(f"The site is in {target}.")


main(sys.argv[1:])
