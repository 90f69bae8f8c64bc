#!/usr/bin/env python3
"""Compares the processor time that two versions of the hub need for the same ordinary requests.

Both hubs run at once, each with a folder of its own, and get the same requests from one client on kept
connections, one by one in turn, so that what else the machine does is shared by both. What counts is the time
that a hub's threads ran. A ratio above 1 says that the second is slower.

    ordinary.py --before PROGRAM --after PROGRAM [--rounds N] [--json]

Prints for each kind of request, and for all, the median of the ratios and the 95 % interval of their mean.
Exit codes: 0 the interval of all lies below 1.05, 1 it does not.
"""

import argparse
import http.client
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

BOUND = 1.05
# Two sides, 95 %, by degrees of freedom (Student's t).
T = {4: 2.776, 9: 2.262, 14: 2.145, 19: 2.093, 29: 2.045}


class Hub:
    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "hub", "--dev", "--user", "Ada", "--listen", "127.0.0.1:0", "--data", folder],
            stdout=subprocess.PIPE)
        told = json.loads(self.process.stdout.readline())
        secrets = urllib.parse.urlencode({
            "ckAPIToken": told["apiToken"], "ckWebAuthToken": told["users"][0]["webAuthToken"]})
        self.root = f"/database/1/{told['container']}/{told['environment']}/private"
        self.query = "?" + secrets
        port = int(told["url"].rsplit(":", 1)[1])
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        zones = [{"operationType": "create", "zone": {"zoneID": {"zoneName": name}}}
                 for name in ("fixed", "growing")]
        self.post("zones/modify", json.dumps({"operations": zones}))
        for start in range(0, 2_000, 200):
            self.post("records/modify", saves("fixed", "fixed", start, 200))

    def post(self, call, body):
        self.http.request("POST", f"{self.root}/{call}{self.query}", body)
        reply = self.http.getresponse()
        data = reply.read()
        if reply.status != 200 or b"serverErrorCode" in data:
            sys.exit(f"{call}: {reply.status} {data[:300]!r}")

    def seconds(self):
        """The time that all threads of the process ran."""
        # The clock of another process, as clock_getcpuclockid(3) names it.
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def saves(zone, name, start, count):
    chance = random.Random(start)
    words = "the quick brown fox jumps over the lazy dog and runs away from it all".split()
    return json.dumps({"zoneID": {"zoneName": zone}, "operations": [
        {"operationType": "forceUpdate", "record": {
            "recordName": f"{name}-{number:07}", "recordType": "Note", "fields": {
                "title": {"value": f"Note {number}", "type": "STRING"},
                "body": {"value": " ".join(chance.choices(words, k=24)), "type": "STRING"},
                "rank": {"value": number % 100, "type": "INT64"}}}}
        for number in range(start, start + count)]})


def work(number):
    """The requests of a round by kind: calls and bodies, spelled before the time is taken."""
    zone = {"zoneID": {"zoneName": "fixed"}}
    names = [{"recordName": f"fixed-{place:07}"} for place in range(0, 2_000, 100)]
    query = {"recordType": "Note", "filterBy": [
        {"comparator": "LESS_THAN", "fieldName": "rank", "fieldValue": {"value": 5, "type": "INT64"}}]}
    sort = {**query, "sortBy": [{"fieldName": "title", "ascending": True}]}
    return {
        "modify of 200": [
            ("records/modify", saves("growing", "note", (40 * number + part) * 200, 200))
            for part in range(40)],
        "modify of 1": [
            ("records/modify", saves("growing", "one", 1_500 * number + part, 1)) for part in range(1_500)],
        "changes/zone": [("changes/zone", json.dumps({"zones": [zone]}))] * 800,
        "records/lookup of 20": [("records/lookup", json.dumps({"records": names, **zone}))] * 1_500,
        "records/query": [("records/query", json.dumps({"query": query, **zone}))] * 40,
        "records/query, sorted": [("records/query", json.dumps({"query": sort, **zone}))] * 40,
    }


def summary(ratios):
    logs = [math.log(ratio) for ratio in ratios]
    mean, half = statistics.mean(logs), 0.0
    if len(logs) > 1:
        t = T.get(len(logs) - 1, 2.776 if len(logs) < 10 else 2.145)
        half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    return {"median": round(statistics.median(ratios), 3), "from": round(math.exp(mean - half), 3),
            "to": round(math.exp(mean + half), 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    ratios = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        hubs = [Hub(arguments.before, folder + "/before"), Hub(arguments.after, folder + "/after")]
        for number in range(arguments.rounds):
            times = [{}, {}]
            for kind, requests in work(number).items():
                starts = [hub.seconds() for hub in hubs]
                for place, (call, body) in enumerate(requests):
                    for hub in hubs if place % 2 else reversed(hubs):
                        hub.post(call, body)
                for index, hub in enumerate(hubs):
                    times[index][kind] = hub.seconds() - starts[index]
            for kind in times[0]:
                ratios.setdefault(kind, []).append(times[1][kind] / times[0][kind])
            ratios.setdefault("all", []).append(sum(times[1].values()) / sum(times[0].values()))
            print(f"round {number + 1}: {ratios['all'][-1]:.3f}", file=sys.stderr)
        for hub in hubs:
            hub.stop()
    found = {kind: summary(values) for kind, values in ratios.items()}
    if arguments.json:
        print(json.dumps(found))
    else:
        for kind, values in found.items():
            print(f"{kind}: {values['median']} ({values['from']} to {values['to']})")
    sys.exit(0 if found["all"]["to"] < BOUND else 1)


if __name__ == "__main__":
    main()
