"""Measures how long a store takes to open when its process was killed while operations waited in the journal.

    python3 Benchmarks/store/opening.py BENCH [--rounds 20] [--folder DIR]

BENCH is a release build of backstitch-bench. It saves contacts, is killed with SIGKILL once so many transactions were
acknowledged, and another process opens the store and counts them. For the largest number of operations another program
holds the lock of LMDB's writers, so that nothing is put into the data file before the kill: gcc makes it, and needs
LMDB's header. A median of 20 ms or more is a failure, and so is a transaction that is missing or there in part.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MILLISECONDS_MAX = 20
HOLDER = """
#include <lmdb.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    MDB_env *env;
    MDB_txn *txn;
    if (count != 2 || mdb_env_create(&env) || mdb_env_set_maxdbs(env, 512)
        || mdb_env_set_mapsize(env, (size_t)1 << 30) || mdb_env_open(env, words[1], 0, 0600)
        || mdb_txn_begin(env, NULL, 0, &txn))
        return 1;
    puts("held");
    fflush(stdout);
    for (;;) pause();
}
"""


class Holder:
    """Holds the lock of LMDB's writers, in a process that is killed at the end."""

    def __init__(self, folder):
        self.program = os.path.join(folder, "holder")
        subprocess.run(
            ["gcc", "-O1", "-x", "c", "-", "-llmdb", "-o", self.program], input=HOLDER, text=True, check=True)

    def begin(self, store):
        process = subprocess.Popen([self.program, store], stdout=subprocess.PIPE)
        if process.stdout.readline() != b"held\n":
            sys.exit("The lock of LMDB's writers could not be taken.")
        return process


def save(bench, store, transactions, each, holder=None, before=0, patience=None):
    """Saves until so many transactions were acknowledged, or none is any more; kills; returns the number."""
    with subprocess.Popen(
            [bench, "save-and-wait", store, str(transactions), str(each), "full"],
            stdout=subprocess.PIPE) as process:
        os.set_blocking(process.stdout.fileno(), False)
        acknowledged, held, text, waited = 0, None, b"", 0
        while acknowledged < transactions and waited < 1500:
            more = process.stdout.read() or b""
            text += more
            acknowledged = int(text.rstrip(b"\n").split(b"\n")[-1]) if text.endswith(b"\n") else acknowledged
            if holder and held is None and acknowledged >= before:
                held = holder.begin(store)
            if more:
                waited = 0
                continue
            waited += 1
            if process.poll() is not None:
                sys.exit("It ended by itself.")
            # Nothing for long means that it can't go on.
            time.sleep(0.001)
        process.kill()
        process.wait()
        text += process.stdout.read() or b""
    if held:
        held.kill()
        held.wait()
    lines = text[: text.rfind(b"\n") + 1].split()
    return int(lines[-1]) if lines else 0


def measure(name, bench, folder, rounds, transactions, each, holder=None, before=0):
    times, counts = [], []
    for _ in range(rounds):
        store = os.path.join(folder, "store")
        acknowledged = save(bench, store, transactions, each, holder, before)
        found = json.loads(subprocess.run(
            [bench, "time-to-open", store], check=True, stdout=subprocess.PIPE).stdout)
        # The one that was under way may be there.
        if not acknowledged <= found["transactions"] <= acknowledged + 1 or found["partial"]:
            sys.exit(f"{name}: {acknowledged} transactions were acknowledged, and there is {found}.")
        times.append(found["nanoseconds"] / 1e6)
        counts.append(acknowledged - before)
        shutil.rmtree(store)
    median = statistics.median(times)
    print(
        f"| {name} | {min(counts)} to {max(counts)} × {each} | {median:.1f} ms | {max(times):.1f} ms |", flush=True)
    return median


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder")
    wanted = parser.parse_args()
    wanted.bench = os.path.abspath(wanted.bench)
    print("| what waits | transactions × operations | median | worst |")
    print("|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        holder = Holder(folder)
        medians = [
            # Some commits go into the data file before the journal takes them.
            measure("a run of saves", wanted.bench, folder, wanted.rounds, 514, 1),
            measure("512 saves", wanted.bench, folder, wanted.rounds, 516, 1, holder, 4),
            measure("all that fit, one save each", wanted.bench, folder, wanted.rounds, 5_000, 1, holder, 4),
            measure("all that fit, 10 saves each", wanted.bench, folder, wanted.rounds, 5_000, 10, holder, 4),
            measure("all that fit, 60 saves each", wanted.bench, folder, wanted.rounds, 5_000, 60, holder, 4),
        ]
    if max(medians) >= MILLISECONDS_MAX:
        sys.exit(f"A store took {max(medians):.1f} ms to open at the median, of {MILLISECONDS_MAX} at most.")


if __name__ == "__main__":
    main()
