#!/usr/bin/env python3
"""Measures hubs over a folder and over PostgreSQL, with many clients at once.

Starts a PostgreSQL server of its own, in a temporary folder and at a socket alone, which keeps what it commits;
hubs over it, one or two; and a hub over a folder. Clients run beside them on the same machine, so the figures
are of all together: what counts are the ratios, and the processor time that hub and database need for a request.

    scale.py --program PROGRAM [--seconds N] [--clients 1,8,64] [--rounds N] [--json]

Each client writes one record a request ("one"), 200 ("many") or reads a page of 200 ("page"), in a database of its
own or all in the same one. With --rounds writes alone are measured, at a hub over a folder and one over PostgreSQL in turn, so
many times, and their processor time is compared: what else the machine does is then shared by both.
Needs what Tests/prepare.sh --all installs.
"""

import argparse
import glob
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

USERS = 64


def processor_seconds(process):
    """The processor time of a process and of those that it started, in seconds."""
    ticks = os.sysconf("SC_CLK_TCK")
    own, total = {process}, 0.0
    stats = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                stats[int(name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / ticks,
                                    (int(fields[13]) + int(fields[14])) / ticks)
            except OSError:
                pass
    for number, (parent, used, waited) in stats.items():
        if number in own or parent in own:
            total += used + (waited if number == process else 0)
    return total


class Database:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="bs-scale-", dir="/tmp")
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.be = []
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self.be = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = self.folder + "/data"
        subprocess.run(self.be + [programs + "/initdb", "--no-sync", "-D", data, "-U", "postgres",
                                  "--auth=trust", "--no-locale"], check=True, stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            self.be + [programs + "/postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses=",
                       "-c", "shared_buffers=256MB", "-c", "max_connections=200"],
            stderr=open(self.folder + "/log", "w"))
        while subprocess.run([programs + "/pg_isready", "-q", "-h", self.folder]).returncode:
            time.sleep(0.1)
        self.psql = [programs + "/psql", "-h", self.folder, "-U", "postgres", "-Atc"]
        self.address = f"host={self.folder} dbname=postgres user=postgres"

    def seconds(self):
        return processor_seconds(self.process.pid)

    def query(self, sql):
        return subprocess.run(self.psql + [sql], check=True, capture_output=True, text=True).stdout.strip()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


class Hub:
    def __init__(self, program, folder, storage):
        words = [program, "hub", "--dev", "--listen", "127.0.0.1:0", "--data", folder,
                 "--limit", "requestsPerAddress=1000", "--limit", "connectionsPerAddress=1000"]
        for number in range(USERS):
            words += ["--user", f"user {number}"]
        self.process = subprocess.Popen(words + storage, stdout=subprocess.PIPE)
        self.told = json.loads(self.process.stdout.readline())
        self.port = int(self.told["url"].rsplit(":", 1)[1])

    def seconds(self):
        return processor_seconds(self.process.pid)

    def figure(self, name):
        """What the hub says of itself by a name."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/metrics")
        for line in connection.getresponse().read().decode().splitlines():
            if line.startswith(name + " "):
                return int(float(line.split()[1]))
        return 0

    def round_trips(self):
        return self.figure("backstitch_hub_storage_round_trips_total")

    def waiting(self):
        return self.figure("backstitch_hub_couriers_waiting")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Client:
    def __init__(self, hub, user):
        told = hub.told
        secrets = urllib.parse.urlencode({
            "ckAPIToken": told["apiToken"], "ckWebAuthToken": told["users"][user]["webAuthToken"]})
        self.root = f"/database/1/{told['container']}/{told['environment']}/private"
        self.query = "?" + secrets
        self.http = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=120)

    def post(self, call, body):
        self.http.request("POST", f"{self.root}/{call}{self.query}", body)
        reply = self.http.getresponse()
        data = reply.read()
        if reply.status != 200 or b"serverErrorCode" in data:
            sys.exit(f"{call}: {reply.status} {data[:300]!r}")


def saves(name, start, count):
    text = "the quick brown fox jumps over the lazy dog and runs away from it all " * 4
    return json.dumps({"zoneID": {"zoneName": "z"}, "operations": [
        {"operationType": "forceUpdate", "record": {
            "recordName": f"{name}-{number:07}", "recordType": "Note", "fields": {
                "body": {"value": text, "type": "STRING"}, "rank": {"value": number, "type": "INT64"}}}}
        for number in range(start, start + count)]})


def zones():
    return json.dumps({"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": "z"}}}]})


def requests(kind, number, turn):
    if kind == "page":
        return "changes/zone", json.dumps({"zones": [{"zoneID": {"zoneName": "z"}, "resultsLimit": 200}]})
    if kind == "one":
        return "records/modify", saves(f"one-{number}", turn % 500, 1)
    return "records/modify", saves(f"many-{number}", turn % 10 * 200, 200)


def measure(hubs, database, kind, count, shares, seconds):
    """What requests of so many clients took."""
    clients = [Client(hubs[number % len(hubs)], 0 if shares else number) for number in range(count)]
    times, ends = [[] for _ in clients], time.monotonic() + 1 + seconds
    begin = time.monotonic() + 1

    def run(number):
        turn = 0
        while time.monotonic() < ends:
            call, body = requests(kind, number, turn)
            turn += 1
            start = time.monotonic()
            clients[number].post(call, body)
            if time.monotonic() >= begin:
                times[number].append(time.monotonic() - start)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(max(0, begin - time.monotonic()))
    used = [sum(hub.seconds() for hub in hubs), database.seconds() if database else 0.0]
    trips = sum(hub.round_trips() for hub in hubs)
    syncs = database and int(database.query("SELECT wal_sync FROM pg_stat_wal"))
    for thread in threads:
        thread.join()
    all_times = sorted(value for part in times for value in part)
    total = len(all_times)
    if total == 0:
        sys.exit(f"No request of {kind} with {count} clients ended. Give more --seconds.")
    found = {
        "kind": kind, "clients": count, "databases": "one" if shares else "own", "hubs": len(hubs),
        "storage": "postgresql" if database else "folder", "requestsPerSecond": round(total / seconds, 1),
        "p50Milliseconds": round(all_times[total // 2] * 1e3, 2),
        "p99Milliseconds": round(all_times[total * 99 // 100] * 1e3, 2),
        "hubMilliseconds": round((sum(hub.seconds() for hub in hubs) - used[0]) / total * 1e3, 3)}
    if database:
        found["databaseMilliseconds"] = round((database.seconds() - used[1]) / total * 1e3, 3)
        found["roundTrips"] = round((sum(hub.round_trips() for hub in hubs) - trips) / total, 2)
        if kind != "page":
            found["syncs"] = round(
                (int(database.query("SELECT wal_sync FROM pg_stat_wal")) - syncs) / total, 2)
    return found


def compare(arguments, counts):
    """The processor time of writes over a folder and over PostgreSQL, in turn."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        database = Database()
        storage = ["--storage", database.address]
        subprocess.run([arguments.program, "hub", "migrate"] + storage, check=True)
        setups = [(Hub(arguments.program, folder + "/hub", []), None),
                  (Hub(arguments.program, folder + "/files", storage), database)]
        for hub, _ in setups:
            for user in range(USERS):
                Client(hub, user).post("zones/modify", zones())
        for kind in ("one", "many"):
            for count in counts:
                found = []
                for _ in range(arguments.rounds):
                    own, far = [measure([hub], database, kind, count, False, arguments.seconds)
                                for hub, database in setups]
                    found.append((own["hubMilliseconds"], far["hubMilliseconds"], far["databaseMilliseconds"]))
                medians = [statistics.median(times) for times in zip(*found)]
                ratios = sorted((hub + server) / own for own, hub, server in found)
                row = {"kind": kind, "clients": count, "folderMilliseconds": medians[0],
                       "hubMilliseconds": medians[1], "databaseMilliseconds": medians[2],
                       "ratio": round(statistics.median(ratios), 2),
                       "ratios": [round(ratio, 2) for ratio in ratios]}
                print(json.dumps(row) if arguments.json else
                      " ".join(f"{key}={value}" for key, value in row.items()), flush=True)
        for hub, _ in setups:
            hub.stop()
        database.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    counts = [int(text) for text in arguments.clients.split(",")]
    if arguments.rounds:
        return compare(arguments, counts)
    rows = []
    for setup in ("folder", "postgresql", "two hubs"):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            database = None if setup == "folder" else Database()
            storage = ["--storage", database.address] if database else []
            if database:
                subprocess.run([arguments.program, "hub", "migrate"] + storage, check=True)
            hubs = [Hub(arguments.program, folder, storage) for _ in range(2 if setup == "two hubs" else 1)]
            for user in range(USERS):
                client = Client(hubs[0], user)
                client.post("zones/modify", zones())
                client.post("records/modify", saves("first", 0, 200))
            for kind in ("one", "many", "page"):
                for shares in (False, True):
                    for count in counts:
                        row = measure(hubs, database, kind, count, shares, arguments.seconds)
                        rows.append(row)
                        if not arguments.json:
                            print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True)
            for hub in hubs:
                hub.stop()
            if database:
                database.stop()
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
