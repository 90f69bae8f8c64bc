#!/usr/bin/env python3
"""What small requests cost a hub beside its HTTP library alone, and what long polls take.

    requests.py --backstitch PROGRAM --raw PROGRAM [--rounds N] [--polls N] [--json]

Hub and `raw-http` run at once and get the same requests in turn, on eight kept connections each, so that what else the machine
does is shared by both. What counts is the time that their threads ran. Then 4,000 devices of many users wait at
the hub, and one record is written that all of them are told of: memory for each connection, and when the first and the last
were told. Logs and histograms are measured by a second hub that writes both logs.

Exit codes: 0 all bounds are kept, 1 one is not.
"""

import argparse
import http.client
import json
import os
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

CONNECTIONS = 8
REQUESTS = 250
EMPTY_BOUND, LOOKUP_BOUND = 1.5, 2.2
POLL_BYTES, FIRST_SECONDS, LAST_SECONDS = 16_000, 0.020, 1.0
DEVICES_PER_USER = 32
SIGNED_IN = 0


class Server:
    """A process that listens, and the time that its threads ran."""

    def __init__(self, words, **options):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, **options)
        self.sockets = []

    def connect(self, port):
        self.port = port
        for _ in range(CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets.append(connection)

    def seconds(self):
        # The clock of another process, as clock_getcpuclockid(3) names it.
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def cost(self, request):
        """Seconds of the processor for one of many requests, all connections at once."""
        before = self.seconds()
        for _ in range(REQUESTS):
            for connection in self.sockets:
                connection.sendall(request)
            for connection in self.sockets:
                read_reply(connection)
        return (self.seconds() - before) / (REQUESTS * len(self.sockets))

    def resident(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))


def read_reply(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        data += receive(connection)
    head, body = data.split(b"\r\n\r\n", 1)
    if not head.startswith(b"HTTP/1.1 200 "):
        sys.exit(f"The answer was: {data[:400]!r}")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += receive(connection)
    return body


def receive(connection):
    part = connection.recv(1 << 20)
    if not part:
        sys.exit("A connection was closed.")
    return part


def request(method, target, body=b""):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.1\r\nHost: a\r\n{length}\r\n".encode() + body


class Hub(Server):
    def __init__(self, program, folder, users=1, options=()):
        names = [word for number in range(users) for word in ("--user", f"u{number}")]
        super().__init__(
            [program, "hub", "--dev", "--listen", "127.0.0.1:0", "--data", folder, *names, *options],
            stderr=subprocess.DEVNULL)
        self.told = json.loads(self.process.stdout.readline())
        self.root = f"/database/1/{self.told['container']}/{self.told['environment']}"
        self.connect(int(self.told["url"].rsplit(":", 1)[1]))
        self.http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def target(self, call, user=SIGNED_IN, start=None):
        secrets = urllib.parse.urlencode({
            "ckAPIToken": self.told["apiToken"], "ckWebAuthToken": self.told["users"][user]["webAuthToken"]})
        return f"{start or self.root}/{call}?{secrets}"

    def post(self, call, body, user=SIGNED_IN, start=None):
        self.http.request("POST", self.target(call, user, start), json.dumps(body))
        reply = self.http.getresponse()
        data = reply.read()
        if reply.status != 200 or b"serverErrorCode" in data:
            sys.exit(f"{call}: {reply.status} {data[:300]!r}")
        return json.loads(data)

    def save(self, database, name):
        fields = {"text": {"value": "some words of a record"}, "number": {"value": 7}}
        self.post(f"{database}/records/modify", {"operations": [
            {"operationType": "forceUpdate", "record": {"recordName": name, "recordType": "T", "fields": fields}}]})


def processor(options, folder):
    """The costs of requests: of each kind and round what hub, logging hub and library took."""
    hub = Hub(options.backstitch, f"{folder}/hub")
    logging = Hub(options.backstitch, f"{folder}/logging", options=[
        "--access-log", f"{folder}/access", "--audit-log", f"{folder}/audit"])
    raw = Server([options.raw], stdin=subprocess.PIPE)
    raw.connect(int(raw.process.stdout.readline()))
    rows = {}
    for server in (hub, logging):
        server.save("private", "one")
    body = json.dumps({"records": [{"recordName": "one"}]}).encode()
    size = len(json.dumps(hub.post("private/records/lookup", json.loads(body)), separators=(",", ":")))
    kinds = {
        "empty": lambda s: request("GET", "/healthz" if s is not raw else "/3"),
        "lookup": lambda s: request("POST", s.target("private/records/lookup") if s is not raw else f"/{size}", body),
    }
    for kind, make in kinds.items():
        rows[kind] = []
        for server in (hub, logging, raw):
            server.cost(make(server))
        for _ in range(options.rounds):
            rows[kind].append([server.cost(make(server)) for server in (hub, logging, raw)])
    for server in (hub, logging):
        server.process.terminate()
        server.process.wait()
    raw.process.communicate()
    return rows


def polls(options, folder):
    """Has many devices wait, and one write tell all of them."""
    users = -(-options.polls // DEVICES_PER_USER)
    hub = Hub(options.backstitch, f"{folder}/polls", users, [
        "--limit", f"connections={options.polls + 100}", "--limit", f"connectionsPerAddress={options.polls + 100}"])
    devices = f"/device/1/{hub.told['container']}/{hub.told['environment']}"
    paths = []
    for user in range(users):
        hub.post("public/subscriptions/modify", {"operations": [{"operationType": "create", "subscription": {
            "subscriptionID": f"s{user}", "subscriptionType": "query", "query": {"recordType": "T"},
            "firesOn": ["create", "update"]}}]}, user)
        for _ in range(min(DEVICES_PER_USER, options.polls - len(paths))):
            made = hub.post("tokens/create", {"apnsEnvironment": "development"}, user, devices)
            paths.append(urllib.parse.urlsplit(made["webcourierURL"]).path)
    idle = hub.resident()
    selector = selectors.DefaultSelector()
    for path in paths:
        connection = socket.create_connection(("127.0.0.1", hub.port))
        connection.sendall(request("GET", path))
        selector.register(connection, selectors.EVENT_READ)
    deadline = time.monotonic() + 30
    while waiting(hub) < len(paths) and time.monotonic() < deadline:
        time.sleep(0.2)
    taken = (hub.resident() - idle) / len(paths)
    began = time.monotonic()
    hub.save("public", "news")
    saved = time.monotonic() - began
    times = []
    while len(times) < len(paths) and time.monotonic() < began + 60:
        for key, _ in selector.select(1):
            data = key.fileobj.recv(1 << 16)
            times.append(time.monotonic() - began)
            if b'"ck"' not in data:
                sys.exit(f"A device was told: {data[:300]!r}")
            selector.unregister(key.fileobj)
    hub.process.terminate()
    hub.process.wait()
    return {
        "polls": len(paths), "told": len(times), "bytesEach": round(taken), "savedAfter": saved,
        "firstAfter": min(times, default=60), "lastAfter": max(times, default=60)}


def waiting(hub):
    hub.http.request("GET", "/metrics")
    text = hub.http.getresponse().read().decode()
    return next(int(float(line.split()[1])) for line in text.splitlines()
                if line.startswith("backstitch_hub_couriers_waiting "))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--raw", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--polls", type=int, default=4_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        rows = processor(options, folder)
        told = polls(options, folder)
    result = {"load": os.getloadavg()[0], **told}
    for kind, costs in rows.items():
        result[kind] = {
            "hubMicroseconds": statistics.median(row[0] for row in costs) * 1e6,
            "rawMicroseconds": statistics.median(row[2] for row in costs) * 1e6,
            "ratio": statistics.median(row[0] / row[2] for row in costs),
            "ratioWithLogs": statistics.median(row[1] / row[2] for row in costs)}
    kept = {
        "empty": result["empty"]["ratio"] <= EMPTY_BOUND, "lookup": result["lookup"]["ratio"] <= LOOKUP_BOUND,
        "bytesEach": told["bytesEach"] < POLL_BYTES, "firstAfter": told["firstAfter"] <= FIRST_SECONDS,
        "lastAfter": told["told"] == told["polls"] and told["lastAfter"] <= LAST_SECONDS}
    result["kept"] = kept
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name}: {value}")
    sys.exit(0 if all(kept.values()) else 1)


main()
