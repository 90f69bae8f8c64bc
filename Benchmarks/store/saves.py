"""Measures what a durable save costs a disk: bytes, flushes and time, of Backstitch beside SQLite.

    python3 Benchmarks/store/saves.py BENCH [--rounds 3] [--saves 8192] [--records 100000] [--megabytes 1024]

BENCH is a release build of backstitch-bench. The stores are on a file system of their own (ext4 on a loop device, which
takes root), so that the counters of the device are theirs alone. What is written counts until a store is closed and all
is in its place: Backstitch's records are in the data file then, and SQLite's WAL is in the database. More than
25,000 bytes a save by Backstitch is a failure.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

BYTES_MAX = 25_000


class LoopDisk:
    """An ext4 file system on a loop device, which goes away again whatever happens."""

    def __init__(self, folder, megabytes):
        self.image = os.path.join(folder, "disk")
        self.path = os.path.join(folder, "mounted")
        self.device = None
        self.is_mounted = False
        self.megabytes = megabytes

    def __enter__(self):
        try:
            with open(self.image, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, self.megabytes << 20)
            found = subprocess.run(
                ["losetup", "--find", "--show", self.image], check=True, capture_output=True, text=True)
            self.device = found.stdout.strip()
            # What ext4 does later on by itself would count as somebody's.
            subprocess.run(
                ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.device], check=True)
            os.mkdir(self.path)
            subprocess.run(["mount", self.device, self.path], check=True)
            self.is_mounted = True
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", self.path], check=False)
        if self.device:
            subprocess.run(["losetup", "--detach", self.device], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--saves", type=int, default=8192)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--engines", default="backstitch,sqlite-c")
    wanted = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory() as folder, LoopDisk(folder, wanted.megabytes) as disk:
        run = subprocess.run(
            [wanted.bench, "saves", "--directory", disk.path, "--rounds", str(wanted.rounds),
             "--saves", str(wanted.saves), "--records", str(wanted.records),
             "--engines", wanted.engines, "--json"],
            check=True, stdout=subprocess.PIPE, text=True)
    figures = {}
    for figure in json.loads(run.stdout):
        figures.setdefault(figure["workload"], {})[figure["engine"]] = figure
    engines = wanted.engines.split(",")
    print(f"| each save; median of {wanted.rounds} rounds (best to worst) |" + "".join(f" {e} |" for e in engines))
    print("|---|" + "---:|" * len(engines))
    for workload, row in figures.items():
        def text(value):
            return {"ns": f"{value / 1000:,.0f} µs", "bytes": f"{value:,.0f} bytes"}.get(
                row[engines[0]]["unit"], f"{value:.2f}")
        print(f"| {workload} |" + "".join(
            f" {text(row[e]['median'])} ({text(row[e]['min'])} to {text(row[e]['max'])}) |" for e in engines))
    written = figures.get("written", {}).get("backstitch")
    if written and written["median"] > BYTES_MAX:
        sys.exit(f"Backstitch wrote {written['median']:,.0f} bytes a save, of {BYTES_MAX:,} at most.")


if __name__ == "__main__":
    main()
