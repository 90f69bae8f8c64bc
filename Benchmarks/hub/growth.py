#!/usr/bin/env python3
"""Watches how large a database of a hub becomes while its records are updated for long.

Starts a PostgreSQL server of its own and a hub over it, as scale.py does, fills it, and updates records at a steady
pace. Each minute it prints what the table, its index and the entries in them take.

    growth.py --program PROGRAM [--minutes N] [--records N] [--pace RECORDS-A-SECOND]

At the end the table is written anew (VACUUM FULL), which shows how small it can be. Exit codes: 0 the table is at most
twice as large as that after the last minute, 1 it is larger.
"""

import argparse
import subprocess
import sys
import tempfile
import time

from scale import Client, Database, Hub, saves, zones

SIZES = """
SELECT pg_relation_size('backstitch_entries'), pg_relation_size('backstitch_entries_pkey'),
(SELECT sum(length(k) + length(v) + 8) FROM backstitch_entries),
pg_relation_size('backstitch_partitions'), (SELECT count(*) FROM backstitch_entries)
"""


def sizes(database):
    """Bytes of the table, of its index, of what is in them, of the partitions' table; and how many entries."""
    return [int(text) for text in database.query(SIZES).split("|")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--pace", type=int, default=500)
    arguments = parser.parse_args()
    users, batch = 16, 20
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        database = Database()
        storage = ["--storage", database.address]
        subprocess.run([arguments.program, "hub", "migrate"] + storage, check=True)
        hub = Hub(arguments.program, folder, storage)
        clients = [Client(hub, user) for user in range(users)]
        each = arguments.records // users
        for client in clients:
            client.post("zones/modify", zones())
            for start in range(0, each, 200):
                client.post("records/modify", saves("note", start, min(200, each - start)))
        begin, turn, updated = time.monotonic(), 0, 0
        for minute in range(1, arguments.minutes + 1):
            while time.monotonic() < begin + 60 * minute:
                # Some records are changed more often than others.
                place = (turn * 7_919) % each if turn % 2 else (turn * 31) % max(1, each // 10)
                start = min(place, each - batch)
                clients[turn % users].post("records/modify", saves("note", start, batch))
                turn, updated = turn + 1, updated + batch
                time.sleep(max(0, begin + updated / arguments.pace - time.monotonic()))
            table, index, live, partitions, entries = sizes(database)
            print(f"minute={minute} updated={updated} entries={entries} live={live} table={table} index={index} "
                  f"partitions={partitions} table/live={table / live:.2f} all/live={(table + index) / live:.2f}",
                  flush=True)
        database.query("VACUUM FULL backstitch_entries")
        small, smallIndex = sizes(database)[:2]
        ratio = (table + index) / (small + smallIndex)
        print(f"anew: table={small} index={smallIndex} ratio={ratio:.2f}", flush=True)
        hub.stop()
        database.stop()
    sys.exit(0 if ratio <= 2 else 1)


if __name__ == "__main__":
    main()
