"""What the command promises to programs: its commands, options, exit statuses and keys of JSON.

Usage: Tests/baseline/commands.py BACKSTITCH [--update]

All of that is in the help of the commands. Compares it with Documentation/baseline/commands.txt, and ends
with 1 if anything differs.
"""

import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = f"{ROOT}/Documentation/baseline/commands.txt"


def text_of(program, words):
    result = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    return result.stdout


def commands(text):
    """The words that a help lists as commands: two spaces, a word, and at least two spaces."""
    section = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, re.MULTILINE)
    return re.findall(r"^  ([a-z][a-z-]*)\b", section.group(1), re.MULTILINE) if section else []


def lines(program, words=()):
    text = text_of(program, words)
    yield f"== backstitch {' '.join(words)}".rstrip() + "\n"
    yield from (line.rstrip() + "\n" for line in text.splitlines())
    for word in commands(text):
        yield from lines(program, (*words, word))


def main(program, *options):
    new = list(lines(os.path.abspath(program)))
    old = []
    if os.path.exists(PATH):
        with open(PATH, encoding="utf-8") as file:
            old = file.readlines()
    changes = list(difflib.unified_diff(old, new, "promised", "now", n=1))
    sys.stdout.writelines(changes)
    if "--update" in options:
        with open(PATH, "w", encoding="utf-8") as file:
            file.writelines(new)
    elif changes:
        print("If that is meant, run it with --update, and say it in CHANGELOG.md.")
        sys.exit(1)


main(*sys.argv[1:])
