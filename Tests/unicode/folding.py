#!/usr/bin/env python3
"""Writes Sources/BackstitchCore/Values/Folding/TextFolding+Table.swift.

The table says what scalars become where case and accents don't count: the simple case folding of their full
canonical decomposition, without the marks that are accents. Those are nonspacing marks of a combining class
other than 0 (vowel signs and the like), 7 (nuktas), 8 (voicing of kana) and 9 (viramas), which make another
letter. Hangul syllables stay whole.

    python3 Tests/unicode/folding.py           # writes it
    python3 Tests/unicode/folding.py --check   # fails if it is not what this would write

Another version of Unicode gives another table: then raise `TextFolding.version`, so that stores build their
indexes again.
"""

import pathlib
import sys
import unicodedata

TARGET = pathlib.Path(__file__).parents[2] / "Sources/BackstitchCore/Values/Folding/TextFolding+Table.swift"
UNICODE = "14.0.0"


def is_accent(character):
    return unicodedata.category(character) == "Mn" and unicodedata.combining(character) not in (0, 7, 8, 9)


def simple_fold(character):
    folded = character.casefold()
    if len(folded) == 1:
        return folded
    lower = character.lower()
    return lower if len(lower) == 1 else character


def fold(character):
    current = character
    while True:
        parts = unicodedata.normalize("NFD", current)
        parts = "".join(simple_fold(part) for part in parts if not is_accent(part))
        parts = unicodedata.normalize("NFD", parts)
        if parts == current:
            return parts
        current = parts


def entries():
    for number in range(0x80, 0x110000):
        if 0xD800 <= number <= 0xDFFF or 0xAC00 <= number <= 0xD7A3:
            continue
        character = chr(number)
        if unicodedata.category(character) in ("Cn", "Co"):
            continue
        folded = fold(character)
        # What is canonically equivalent compares as equal anyway.
        if unicodedata.normalize("NFC", folded) != unicodedata.normalize("NFC", character):
            yield number, [ord(part) for part in folded]


def runs():
    """Runs of scalars at equal distances that become others at an equal distance, or nothing."""
    singles, run = [], None
    for number, folded in entries():
        if len(folded) > 1:
            sys.exit("U+%04X becomes several scalars, for which the table has no place." % number)
        target = folded[0] if folded else None
        if run:
            step = number - run[-1][0]
            first = run[1][0] - run[0][0] if len(run) > 1 else step
            same = (target is None and run[-1][1] is None) or (
                target is not None and run[-1][1] is not None and target - number == run[-1][1] - run[-1][0]
            )
            if step == first and step in (1, 2) and same:
                run.append((number, target))
                continue
        if run:
            singles.append(run)
        run = [(number, target)]
    singles.append(run)
    rows = []
    for run in singles:
        step = run[1][0] - run[0][0] if len(run) > 1 else 1
        rows.append((run[0][0], run[-1][0], step, run[0][1]))
    return rows


def text():
    rows = runs()
    lines = [
        "// Made by Tests/unicode/folding.py from Unicode %s. Don't change it by hand." % UNICODE,
        "",
        "extension TextFolding {",
        "    /// Runs of scalars: the first, the last, the distance between them, and what the first becomes;",
        "    /// 0 for nothing.",
        "    static let runs: [UInt32] = [",
    ]
    words = []
    for first, last, step, target in rows:
        words += ["0x%X" % first, "0x%X" % last, "%d" % step, "0x%X" % (target or 0)]
    lines += wrap(words)
    lines += ["    ]", "}", ""]
    return "\n".join(lines)


def wrap(words):
    lines, line = [], "       "
    for word in words:
        if len(line) + len(word) + 2 > 100:
            lines.append(line)
            line = "       "
        line += " " + word + ","
    lines.append(line)
    return lines


def main():
    if unicodedata.unidata_version != UNICODE:
        print("This Python has Unicode %s, and the table is of %s: nothing is compared."
              % (unicodedata.unidata_version, UNICODE))
        return
    made = text()
    if "--check" in sys.argv:
        if TARGET.read_text() != made:
            sys.exit("%s is not what this program writes. Run it without --check." % TARGET)
    else:
        TARGET.write_text(made)


main()
