"""Measures how a store of format 1 becomes one of the present format.

    python3 Benchmarks/store/migration.py --old PROGRAM --new PROGRAM [--records 1000000] [--folder DIR]

The old program is a release build of backstitch of the last version that wrote format 1: the parent of the commit "Give
the rows of each entity a tree of their own" (821c0918). What lies between it and "Bring stores to format 2" wrote the
number 1 with rows in trees of their own, and is no version of either format.

The old program imports contacts of ten attributes, their id among them, two of which are indexed. The new one opens a
copy of the store, with an import of nothing, and verifies it. Then it opens another copy and is killed with SIGKILL in
the middle, or at the shares of the time that --kills names; it has to end what it began when it is run again, and
'verify' has to find nothing. --made takes a store of format 1 that is there already.

Told are seconds, bytes of the files, the most resident memory, and of that the most anonymous memory (RssAnon), asked
for every 20 ms: pages of the data file that are in memory count as resident.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

WORDS = (
    "asked twice at the an pays fair offer late on to Monday moved lives near station knows his way from work sends "
    "letters café her cousin plays piano returns calls before noon"
).split()
ATTRIBUTES = [
    ("firstName", 1, False), ("lastName", 1, False), ("email", 1, True), ("age", 5, True), ("balance", 7, False),
    ("active", 2, False), ("createdAt", 9, False), ("notes", 1, False), ("department", 1, False),
]


def schema():
    attributes = [
        {
            "field": {"rawValue": number}, "isDeclared": True, "name": name,
            "schema": {
                "hasDefault": False, "isIndexed": is_indexed, "isLossless": False, "isOptional": False,
                "name": name, "type": kind,
            },
        }
        for number, (name, kind, is_indexed) in enumerate(ATTRIBUTES, 1)
    ]
    contact = {"attributes": attributes, "isDeclared": True, "name": "Contact", "number": {"rawValue": 1}}
    return {"schema": {"entities": [contact]}}


def write_contacts(path, count):
    chance = random.Random(1)
    with open(path, "w") as file:
        print(json.dumps(schema()), file=file)
        for number in range(count):
            record = "%08X-%04X-4%03X-A%03X-%012X" % (
                chance.getrandbits(32), chance.getrandbits(16), chance.getrandbits(12), chance.getrandbits(12),
                number)
            first, last = chance.choice(WORDS).title(), chance.choice(WORDS).title() + chance.choice(WORDS)
            values = {
                "firstName": {"string": first}, "lastName": {"string": last},
                "email": {"string": f"{first}.{last}.{number}@example.org".lower()},
                "age": {"int64": chance.randrange(count // 100 + 1)},
                "balance": {"double": chance.randrange(1_000_000) / 100},
                "active": {"bool": chance.random() < 0.5},
                "createdAt": {"date": 1_700_000_000_000 + chance.randrange(10**10)},
                "notes": {"string": " ".join(chance.choice(WORDS) for _ in range(18))},
                "department": {"string": f"department {number % 1_000}"},
            }
            print(json.dumps({"entity": "Contact", "record": record, "values": values}), file=file)


def sizes(store):
    found = [os.stat(os.path.join(store, name)) for name in os.listdir(store)]
    return sum(s.st_size for s in found), sum(s.st_blocks * 512 for s in found)


def run(words, kill_after=None):
    """Runs a program; returns its seconds, what it had of memory at most, and what it printed."""
    anonymous = 0
    start = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if kill_after is not None and time.monotonic() - start > kill_after:
                process.kill()
            try:
                with open(f"/proc/{process.pid}/status") as file:
                    for line in file:
                        if line.startswith("RssAnon"):
                            anonymous = max(anonymous, int(line.split()[1]) << 10)
            except OSError:
                pass
            time.sleep(0.02)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        text = process.stdout.read()
    return process.returncode, seconds, usage.ru_maxrss << 10, anonymous, text


def expect(result, code, what):
    if result[0] != code:
        sys.exit(f"{what} ended with {result[0]} and not {code}: {result[4]}")
    return result


def told(name, result, store=None):
    line = f"{name}: {result[1]:.1f} s, {result[2] / 1e6:,.0f} MB resident, {result[3] / 1e6:,.0f} MB anonymous"
    if store:
        length, blocks = sizes(store)
        line += f"; files {length / 1e6:,.1f} MB, {blocks / 1e6:,.1f} MB on the disk"
    print(line, flush=True)


def copy(store, to):
    shutil.copytree(store, to)
    os.sync()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folder")
    parser.add_argument("--made")
    parser.add_argument("--kills", default="0.5")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        nothing = os.path.join(folder, "nothing")
        open(nothing, "w").close()
        old = wanted.made or os.path.join(folder, "old")
        if not wanted.made:
            lines = os.path.join(folder, "contacts.jsonl")
            write_contacts(lines, wanted.records)
            made = expect(run([wanted.old, "import", old, lines, "--create"]), 0, "The old program's import")
            os.remove(lines)
            told("the old program imports", made, old)
        store = os.path.join(folder, "store")

        copy(old, store)
        moved = expect(run([wanted.new, "import", store, nothing]), 0, "The new program's opening")
        told("the new program brings it to its format", moved, store)
        told("and verifies it", expect(run([wanted.new, "verify", store]), 0, "verify"), store)
        again = expect(run([wanted.new, "import", store, nothing]), 0, "The second opening")
        told("it opens once more", again)
        shutil.rmtree(store)

        for share in map(float, wanted.kills.split(",")):
            copy(old, store)
            seconds = moved[1]
            while (killed := run([wanted.new, "import", store, nothing], kill_after=seconds * share))[0] == 0:
                # It was faster this time.
                seconds = killed[1]
                shutil.rmtree(store)
                copy(old, store)
            expect(killed, -9, "The kill")
            told(f"it is killed after {share:.0%} of the time", killed, store)
            beside = sorted(name for name in os.listdir(folder) if name not in ("store", "old", "nothing"))
            print(f"  beside the store: {beside or 'nothing'}")
            ended = expect(run([wanted.new, "import", store, nothing]), 0, "The opening after the kill")
            told("  it is run again", ended, store)
            told("  and verifies", expect(run([wanted.new, "verify", store]), 0, "verify after the kill"))
            beside = sorted(name for name in os.listdir(folder) if name not in ("store", "old", "nothing"))
            if beside:
                sys.exit(f"There is something left beside the store: {beside}")
            shutil.rmtree(store)
    print("passed")


if __name__ == "__main__":
    main()
