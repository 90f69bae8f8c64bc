#!/usr/bin/env python3
"""Pushes and pulls the same records through a Backstitch hub and through Kinto.

One client, one connection, the same records, one server after the other, in rounds. Requests are
spelled before the clock starts; replies are read and parsed within it. What is "served" is measured
until the last byte of each reply, without the parsing, which takes this client longer than a good
server. Kinto keeps its records in memory, the hub on the disk: an answer of the hub means that the
records are there after a power cut.

With --raw, the requests to the hub are sent once more to the HTTP library that it uses, which takes
them and answers as many bytes as the hub did, with nothing behind it. The hub's share is what is left
of its time without that; parsing is in neither.

    compare.py --backstitch PROGRAM [--kinto PROGRAM] [--raw PROGRAM] [--records N] [--rounds N] [--json]
"""

import argparse
import base64
import contextlib
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

PER_REQUEST = 200
PER_PAGE = 1000


def records(count):
    """Notes as an application has them: some text, a number, a date, a flag."""
    chance = random.Random(7)
    words = "the quick brown fox jumps over the lazy dog and runs away from it all".split()
    for number in range(count):
        yield f"note-{number:08}", {
            "title": f"Note {number}",
            "body": " ".join(chance.choices(words, k=24)),
            "rank": chance.randrange(1_000_000),
            "created": 1_700_000_000_000 + number * 1000,
            "isDone": chance.randrange(2),
        }


def parts(items):
    items = list(items)
    return [items[start : start + PER_REQUEST] for start in range(0, len(items), PER_REQUEST)]


class Connection:
    """A connection that is kept open."""

    def __init__(self, port, headers):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = headers
        # What was sent, and how many bytes came; and the time until they were there.
        self.exchanges = []
        self.seconds = 0

    def fetch(self, method, path, body=None):
        headers = dict(self.headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        start = time.monotonic()
        self.http.request(method, path, body, headers)
        reply = self.http.getresponse()
        data = reply.read()
        self.seconds += time.monotonic() - start
        if reply.status >= 400:
            sys.exit(f"{method} {path}: {reply.status} {data[:300]!r}")
        self.exchanges.append((body, len(data)))
        return reply, data

    def call(self, method, path, body=None):
        reply, data = self.fetch(method, path, body)
        return reply, json.loads(data)

    def forget(self):
        """The exchanges so far and their seconds, which are counted anew from here."""
        told = self.exchanges, self.seconds
        self.exchanges, self.seconds = [], 0
        return told


class Hub:
    """A Backstitch hub: records/modify and records/changes of a zone."""

    name = "hub"

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "hub", "--dev", "--user", "Ada", "--listen", "127.0.0.1:0", "--data", folder],
            stdout=subprocess.PIPE)
        told = json.loads(self.process.stdout.readline())
        secrets = urllib.parse.urlencode({
            "ckAPIToken": told["apiToken"],
            "ckWebAuthToken": told["users"][0]["webAuthToken"],
        })
        self.root = f"/database/1/{told['container']}/{told['environment']}/private"
        self.query = "?" + secrets
        port = int(told["url"].rsplit(":", 1)[1])
        # Pages of as many records as Kinto gives; without the header the hub gives 200, as CloudKit.
        self.connection = Connection(port, {"X-Backstitch-Extensions": "large-pages"})
        self.zone = {"zoneName": "notes"}
        self.post("zones/modify", json.dumps({
            "operations": [{"operationType": "create", "zone": {"zoneID": self.zone}}]}))

    def post(self, path, body):
        return self.connection.call("POST", f"{self.root}/{path}{self.query}", body)[1]

    def spell(self, part):
        def field(value):
            return {"value": value, "type": "STRING" if isinstance(value, str) else "INT64"}

        return json.dumps({
            "zoneID": self.zone,
            "operations": [
                {
                    "operationType": "create",
                    "record": {
                        "recordName": name, "recordType": "Note",
                        "fields": {key: field(value) for key, value in fields.items()},
                    },
                }
                for name, fields in part
            ],
        })

    def push(self, body):
        answers = self.post("records/modify", body)["records"]
        return sum("recordChangeTag" in answer for answer in answers)

    def pull(self):
        count, token = 0, None
        while True:
            zone = {"zoneID": self.zone, "resultsLimit": PER_PAGE}
            if token:
                zone["syncToken"] = token
            page = self.post("changes/zone", json.dumps({"zones": [zone]}))["zones"][0]
            count += len(page["records"])
            token = page["syncToken"]
            if not page["moreComing"]:
                return count

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Kinto:
    """A Kinto server with its backend in memory: the batch endpoint, and pages of a collection."""

    name = "kinto"

    def __init__(self, program, folder):
        settings = os.path.join(folder, "kinto.ini")
        subprocess.run(
            [program, "init", "--backend", "memory", "--cache-backend", "memory",
             "--host", "127.0.0.1", "--ini", settings],
            check=True, capture_output=True)
        with open(settings) as file:
            text = file.read()
        text = text.replace("# kinto.batch_max_requests = 25", f"kinto.batch_max_requests = {PER_REQUEST}")
        text = text.replace("# kinto.paginate_by =", f"kinto.paginate_by = {PER_PAGE}")
        text = text.replace("level = DEBUG", "level = ERROR").replace("level = INFO", "level = ERROR")
        with open(settings, "w") as file:
            file.write(text)
        port = 20_000 + os.getpid() % 20_000
        self.process = subprocess.Popen(
            [program, "start", "--ini", settings, "--port", str(port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        secret = base64.b64encode(b"ada:password").decode()
        self.connection = Connection(port, {"Authorization": "Basic " + secret})
        self.wait(port)
        account = json.dumps({"data": {"password": "password"}})
        anonymous = Connection(port, {})
        anonymous.call("PUT", "/v1/accounts/ada", account)
        self.root = "/buckets/default/collections/notes"
        self.connection.call("PUT", "/v1" + self.root, "{}")

    def wait(self, port):
        for _ in range(600):
            with contextlib.suppress(OSError):
                Connection(port, {}).call("GET", "/v1/")
                return
            time.sleep(0.1)
        sys.exit("Kinto does not start.")

    def spell(self, part):
        return json.dumps({
            "defaults": {"method": "PUT"},
            "requests": [
                {"path": f"{self.root}/records/{name}", "body": {"data": fields}}
                for name, fields in part
            ],
        })

    def push(self, body):
        answers = self.connection.call("POST", "/v1/batch", body)[1]["responses"]
        return sum(answer["status"] in (200, 201) for answer in answers)

    def pull(self):
        count, path = 0, f"/v1{self.root}/records?_sort=last_modified"
        while path:
            reply, page = self.connection.call("GET", path)
            count += len(page["data"])
            following = reply.getheader("Next-Page")
            path = following and urllib.parse.urlsplit(following)._replace(scheme="", netloc="").geturl()
        return count

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure(server, count):
    """Records per second, whole and served; the exchanges of push and pull, and their seconds."""
    bodies = [server.spell(part) for part in parts(records(count))]
    server.connection.forget()
    start = time.monotonic()
    pushed = sum(server.push(body) for body in bodies)
    between = time.monotonic()
    push = server.connection.forget()
    again = time.monotonic()
    pulled = server.pull()
    end = time.monotonic()
    pull = server.connection.forget()
    if (pushed, pulled) != (count, count):
        sys.exit(f"{server.name} took {pushed} and gave {pulled} of {count} records.")
    rates = {"push": count / (between - start), "pull": count / (end - again)}
    served = {"push": count / push[1], "pull": count / pull[1]}
    return {"whole": rates, "served": served}, {"push": push, "pull": pull}


def shares(program, exchanges):
    """How much of the hub's time is its own, for what was exchanged with it."""
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    connection = Connection(int(process.stdout.readline()), {})
    found = {}
    for work, (sent, seconds) in exchanges.items():
        for body, size in sent:
            connection.fetch("POST", f"/{size}", body)
        found[work] = 1 - connection.forget()[1] / seconds
    process.stdin.close()
    process.wait()
    return found


def medians(found):
    """The median rates of each server; and those of both works together, one after the other."""
    rates = {
        name: {work: statistics.median(values) for work, values in works.items()}
        for name, works in found.items()
    }
    for works in rates.values():
        works["both"] = 2 / (1 / works["push"] + 1 / works["pull"])
    ratios = {}
    if "kinto" in rates:
        ratios = {work: rates["hub"][work] / rates["kinto"][work] for work in rates["hub"]}
    return rates, ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--kinto")
    parser.add_argument("--raw")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    kinds = [(Hub, options.backstitch)] + ([(Kinto, options.kinto)] if options.kinto else [])
    found = {
        what: {kind.name: {"push": [], "pull": []} for kind, _ in kinds} for what in ("whole", "served")
    }
    own = {"push": [], "pull": []}
    for number in range(options.rounds):
        for kind, program in kinds:
            print(f"round {number + 1} of {options.rounds}: {kind.name}", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
                server = kind(program, folder)
                try:
                    rates, exchanges = measure(server, options.records)
                finally:
                    server.stop()
            for what, works in rates.items():
                for work, rate in works.items():
                    found[what][kind.name][work].append(rate)
            if kind is Hub and options.raw:
                for work, share in shares(options.raw, exchanges).items():
                    own[work].append(share)
    own = {work: statistics.median(values) for work, values in own.items() if values}
    (whole, ratios), (served, served_ratios) = medians(found["whole"]), medians(found["served"])
    if options.json:
        print(json.dumps({
            "records": options.records, "recordsPerSecond": whole, "servedPerSecond": served,
            "rounds": found, "ratios": ratios, "servedRatios": served_ratios, "hubShares": own}))
        return
    for what, rates, times in ("", whole, ratios), (", served", served, served_ratios):
        for work, rate in rates["hub"].items():
            line = f"{work}{what}: hub {rate:,.0f} records/s"
            if times:
                line += f", Kinto {rates['kinto'][work]:,.0f}, {times[work]:.1f} times"
            print(line)
    for work, share in own.items():
        print(f"{work}: the hub's own share of its time {share:.0%}")


if __name__ == "__main__":
    main()
