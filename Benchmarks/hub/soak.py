#!/usr/bin/env python3
"""Has users do all that they may for an hour, and looks at the memory of the hub.

    soak.py --backstitch PROGRAM [--minutes N] [--users N] [--postgresql] [--json]

Two clients of each user push, pull, look up, query, upload, delete, subscribe, make and delete zones and devices, and sign in with a
password again, in turns by chance; a device of each user waits for notifications. They use the same names again and again,
so that there is no more data after an hour than after some minutes. Every ten seconds the hub's own memory (RssAnon) is read, beside
what the hub says of itself.

The hub warms up in the first sixth of the time. Of what follows, the least of each minute counts, so that a burst of large replies is no
growth; of runs under an hour, the least of each sixtieth of the time. What has to hold: a line through these points rises by less than
64 KiB a minute; the last sixth has on average at most 1.05 times what the second had, and a MiB; no request failed otherwise than
by 429 or 503; and descriptors are not more at the end than in the second sixth, by ten. Runs under 30 minutes are too short for the
slope, which is told and does not count.

Exit codes: 0 all of it holds, 1 something does not.
"""

import argparse
import collections
import json
import os
import random
import statistics
import sys
import threading
import time
import urllib.parse

import attack
import running

SAMPLE_SECONDS = 10
SLOPE_KIB, RATIO, MORE_KIB, MORE_DESCRIPTORS = 64, 1.05, 1_024, 10
NAMES, FILES, SUBSCRIPTIONS = 400, 20, 20
ZONE = {"zoneID": {"zoneName": "z"}}
# Of an operation that meets another client's: a record, a zone or a subscription that is there or not there any more.
EXPECTED = {"NOT_FOUND", "EXISTS", "CONFLICT", "ZONE_NOT_FOUND", "TRY_AGAIN_LATER", "THROTTLED"}


class Failure(Exception):
    pass


class User:
    """One client of a user."""

    def __init__(self, document, number, seed):
        self.document, self.number, self.chance = document, number, random.Random(seed)
        self.user = dict(document["users"][number])
        self.address = f"127.0.3.{1 + seed}"
        self.token = None
        self.connect()

    def connect(self):
        self.client = attack.Client(self.document, self.address, self.user)

    def call(self, call, body, database="private"):
        status, reply = self.client.call(database, call, body)
        return self.checked(call, status, reply)

    def checked(self, call, status, reply):
        """The reply; nil where the hub was too busy."""
        if status in (429, 503):
            return None
        answer = json.loads(reply) if reply[:1] == b"{" else {}
        codes = {item["serverErrorCode"] for value in answer.values() if isinstance(value, list)
                 for item in value if isinstance(item, dict) and "serverErrorCode" in item}
        if status != 200 or codes - EXPECTED:
            raise Failure(f"{call}: {status} {reply[:300]!r}")
        return answer

    def push(self):
        fields = lambda: {
            "s": attack.text(" ".join(f"word{self.chance.randrange(500)}" for _ in range(20))),
            "n": {"value": self.chance.randrange(10**6), "type": "INT64"},
        }
        names = self.chance.sample(range(NAMES), self.chance.choice([1, 20, 200]))
        operations = [attack.operation(f"r{name}", fields()) for name in names]
        self.call("records/modify", {"operations": operations, "atomic": False, **ZONE})
        shared = attack.operation(f"p{self.number}-{self.chance.randrange(NAMES)}", fields())
        self.call("records/modify", {"operations": [shared]}, "public")

    def delete(self):
        names = self.chance.sample(range(NAMES), 20)
        operations = [{"operationType": "forceDelete", "record": {"recordName": f"r{name}"}} for name in names]
        self.call("records/modify", {"operations": operations, "atomic": False, **ZONE})

    def pull(self):
        # A new device begins anew now and then.
        if self.chance.random() < 0.05:
            self.token = None
        while True:
            body = {**ZONE, **({"syncToken": self.token} if self.token else {})}
            answer = self.call("changes/zone", {"zones": [body]})
            if not answer or "syncToken" not in answer["zones"][0]:
                return
            self.token = answer["zones"][0]["syncToken"]
            if not answer["zones"][0]["moreComing"]:
                return

    def look_up(self):
        names = self.chance.sample(range(NAMES), 50)
        self.call("records/lookup", {"records": [{"recordName": f"r{name}"} for name in names], **ZONE})

    def query(self):
        database, zone = self.chance.choice([("private", ZONE), ("public", {})])
        sorts = [{"fieldName": self.chance.choice("sn"), "ascending": self.chance.choice([True, False])}]
        body = {**attack.query(sortBy=self.chance.choice([[], sorts])), **zone}
        for _ in range(3):
            answer = self.call("records/query", body, database)
            if not answer or "continuationMarker" not in answer:
                return
            body["continuationMarker"] = answer["continuationMarker"]

    def upload(self):
        name = f"f{self.chance.randrange(FILES)}"
        answer = self.call("assets/upload", {"tokens": [{"recordName": name, "fieldName": "f"}], **ZONE})
        if not answer:
            return
        target = urllib.parse.urlsplit(answer["tokens"][0]["url"]).path
        content = self.chance.randbytes(self.chance.choice([1_000, 50_000, 1_000_000]))
        answer = self.checked("upload", *self.client.request("POST", target, content))
        if answer:
            file = {"f": {"value": answer["singleFile"], "type": "ASSETID"}}
            self.call("records/modify", {"operations": [attack.operation(name, file)], **ZONE})

    def download(self):
        body = {"records": [{"recordName": f"f{self.chance.randrange(FILES)}"}], **ZONE}
        answer = self.call("records/lookup", body) or {"records": [{}]}
        file = answer["records"][0].get("fields", {}).get("f")
        if file:
            target = urllib.parse.urlsplit(file["value"]["downloadURL"].replace("${f}", "file")).path
            status, _ = self.client.request("GET", target)
            # Another client may have put a new file in its place.
            if status not in (200, 404, 429, 503):
                raise Failure(f"download: {status}")

    def subscribe(self):
        name, kind = f"s{self.chance.randrange(SUBSCRIPTIONS)}", self.chance.choice(["create", "delete"])
        subscription = {
            "subscriptionID": name, "subscriptionType": "query", "query": {"recordType": "Doc"},
            "firesOn": ["create", "update", "delete"], "notificationInfo": {"alertBody": "x" * 100},
        }
        self.call("subscriptions/modify", {"operations": [{"operationType": kind, "subscription": subscription}]})
        self.call("subscriptions/list", {})

    def zones(self):
        kind, name = self.chance.choice(["create", "delete"]), f"q{self.chance.randrange(10)}"
        self.call("zones/modify", {"operations": [{"operationType": kind, "zone": {"zoneID": {"zoneName": name}}}]})
        self.call("changes/database", {})

    def sign_in(self):
        """A new session takes the place of the old one, on a new connection."""
        status, _, headers = sign_in(self.client, self.document, self.user["name"])
        if status in (429, 503):
            return
        if status != 303:
            raise Failure(f"sign-in: {status}")
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(headers["Location"]).query)
        self.user["webAuthToken"] = query["ckWebAuthToken"][0]
        self.client.close()
        self.connect()

    KINDS = [
        (push, 10), (pull, 10), (look_up, 10), (query, 8), (upload, 4), (download, 4), (delete, 3), (subscribe, 2), (zones, 2),
        (sign_in, 0.2),
    ]

    def run(self, until, counts, failures):
        kinds, weights = zip(*self.KINDS)
        while time.monotonic() < until:
            kind = self.chance.choices(kinds, weights)[0]
            try:
                kind(self)
                counts[kind.__name__] += 1
            except (OSError, Failure, KeyError, ValueError) as error:
                counts["failed"] += 1
                if len(failures) < 20:
                    failures.append(f"{kind.__name__}: {error!r}")
            time.sleep(0.02)

    def wait_for_news(self, until, counts, failures):
        """A device that waits; a new one takes its place now and then."""
        start = f"/device/{self.client.start.removeprefix('/database/')}/tokens/create?{self.client.query}"
        turn = 0
        while time.monotonic() < until:
            try:
                if turn % 100 == 0:
                    made = self.checked("tokens/create", *self.client.request("POST", start, b'{"apnsEnvironment":"development"}'))
                    if not made:
                        continue
                    target = urllib.parse.urlsplit(made["webcourierURL"]).path
                turn += 1
                status, reply = self.client.request("GET", target)
                counts["news" if reply else "noNews"] += 1
            except (OSError, Failure) as error:
                # Nothing came while the client waits for an answer.
                if not isinstance(error, TimeoutError):
                    counts["failed"] += 1
                    failures.append(f"news: {error!r}")


def sign_in(client, document, name):
    """As attack.sign_in, with the headers of the reply."""
    status, body = attack.sign_in(client, document, name, running.PASSWORD)
    return status, body, client.headers


def sample(hub, client):
    """What the hub takes up now, in KiB and things."""
    values = {}
    with open(f"/proc/{hub.pid}/status") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name in ("RssAnon", "VmRSS", "Threads"):
                values[name] = int(value.split()[0])
    values["descriptors"] = len(os.listdir(f"/proc/{hub.pid}/fd"))
    try:
        status, body = client.request("GET", "/metrics")
        for line in body.decode().splitlines():
            if line.startswith(("process_resident_memory_bytes ", "backstitch_hub_connections ", "backstitch_hub_couriers_waiting ")):
                name, value = line.split()
                values[name] = float(value)
    except OSError:
        pass
    return values


def slope(points):
    """By how much a line through points rises, in one unit of the first coordinate."""
    if len(points) < 2:
        return 0
    return statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope


def judge(samples, minutes, failed):
    """What the samples say: pairs of minutes since the beginning and values."""
    part = minutes / 6
    def mean(name, start, end):
        values = [value[name] for time, value in samples if start <= time < end]
        return statistics.mean(values) if values else 0
    unit = min(1, minutes / 60)
    least = {}
    for time, value in samples:
        if time >= part:
            key = int(time / unit)
            least[key] = min(least.get(key, value["RssAnon"]), value["RssAnon"])
    rise = slope([(key * unit, value) for key, value in sorted(least.items())])
    def floor(start, end):
        values = [value for key, value in least.items() if start <= key * unit < end]
        return statistics.mean(values) if values else 0
    second, last = floor(part, 2 * part), floor(5 * part, minutes + unit)
    descriptors = mean("descriptors", part, 2 * part), mean("descriptors", 5 * part, minutes + unit)
    kept = {
        "slope": minutes < 30 or rise < SLOPE_KIB, "last": 0 < last <= RATIO * second + MORE_KIB,
        "descriptors": descriptors[1] <= descriptors[0] + MORE_DESCRIPTORS, "failed": failed == 0,
    }
    return {
        "slopeKiBPerMinute": round(rise, 1), "secondSixthKiB": round(second), "lastSixthKiB": round(last),
        "mostKiB": max((value["RssAnon"] for _, value in samples), default=0),
        "descriptors": [round(count) for count in descriptors], "kept": kept, "holds": all(kept.values()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--users", type=int, default=6)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--json", action="store_true", help="no line for each minute")
    arguments = parser.parse_args()
    names = [f"u{number}" for number in range(arguments.users)]
    with running.hub(arguments, names, ["--callback", "http://127.0.0.1:1/signed-in"]) as (hub, document):
        result = run(hub, document, arguments)
    attack.tell(result, arguments)


def run(hub, document, arguments):
    start = time.monotonic()
    until = start + 60 * arguments.minutes
    counts, failures, samples = collections.Counter(), [], []
    threads = []
    for number in range(arguments.users):
        first = User(document, number, 3 * number)
        first.call("zones/modify", {"operations": [{"operationType": "create", "zone": ZONE}]})
        clients = [first.run, User(document, number, 3 * number + 1).run, User(document, number, 3 * number + 2).wait_for_news]
        threads += [threading.Thread(target=work, args=(until, counts, failures), daemon=True) for work in clients]
    for thread in threads:
        thread.start()
    client = attack.Client(document, "127.0.3.250")
    told = 0
    while time.monotonic() < until and hub.poll() is None:
        samples.append(((time.monotonic() - start) / 60, sample(hub, client)))
        if not arguments.json and samples[-1][0] >= told:
            told += 1
            print(f"{samples[-1][0]:.1f} min: {samples[-1][1]}", flush=True)
        time.sleep(SAMPLE_SECONDS)
    if hub.poll() is not None:
        failures.append(f"The hub ended with {hub.returncode}.")
        counts["failed"] += 1
    for thread in threads:
        thread.join(2 * attack.PATIENCE)
    for failure in failures[:20]:
        print(failure, file=sys.stderr)
    return {
        "storage": "postgresql" if arguments.postgresql else "folder", "minutes": arguments.minutes, "users": arguments.users,
        "done": dict(counts), "samples": len(samples), "loadAverage": os.getloadavg()[0],
        **judge(samples, arguments.minutes, counts["failed"]),
    }


if __name__ == "__main__":
    main()
