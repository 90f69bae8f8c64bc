#!/usr/bin/env python3
"""Attacks a hub in ways that need raw sockets, many addresses or a process of its own.

Each attack runs against one hub, while a bystander at another address saves records. Afterwards the hub
has to be alive, with the descriptors and connections it had before, and every save has to be there. What
an attack is answered is checked where it is certain. How long saves took is told, and no verdict.

    audit.py --backstitch PROGRAM [--scale N] [--only NAME]... [--json]

--scale multiplies how often attacks repeat themselves; 1 takes about a minute. Exit codes: 0 nothing was
found, 1 something was.
"""

import argparse
import http.client
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

PATIENCE = 60


def zone_id(name="z"):
    return {"zoneID": {"zoneName": name}}


def record(name, fields=None, kind="forceUpdate", record_type="T"):
    return {
        "operationType": kind,
        "record": {"recordName": name, "recordType": record_type, "fields": fields or {}},
    }


class Hub:
    """A hub in a process of its own, and who may use it."""

    def __init__(self, program, folder, options=(), launcher=()):
        self.log = open(os.path.join(folder, "log"), "w+b")
        self.process = subprocess.Popen(
            [*launcher, program, "hub", "--data", os.path.join(folder, "hub"), "--listen", "127.0.0.1:0",
             "--dev", "--user", "Ada", "--user", "Bob", *options],
            stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"The hub did not start: {self.complaints()}")
        self.document = json.loads(line)
        self.port = urllib.parse.urlsplit(self.document["url"]).port
        self.root = f"/database/1/{self.document['container']}/{self.document['environment']}"

    def complaints(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def target(self, database, call, user=None):
        query = {"ckAPIToken": self.document["apiToken"]}
        if user is not None:
            query["ckWebAuthToken"] = self.document["users"][user]["webAuthToken"]
        return f"{self.root}/{database}/{call}?{urllib.parse.urlencode(query)}"

    def status(self, name):
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Client:
    """Sends calls on a connection that is kept, from an address of its own."""

    def __init__(self, hub, address, user=None):
        self.hub, self.user = hub, user
        self.http = http.client.HTTPConnection(
            "127.0.0.1", hub.port, timeout=PATIENCE, source_address=(address, 0))

    def call(self, database, call, body, headers={}):
        text = json.dumps(body) if isinstance(body, dict) else body
        self.http.request("POST", self.hub.target(database, call, self.user), text, headers)
        reply = self.http.getresponse()
        data = reply.read()
        return reply.status, json.loads(data) if data[:1] == b"{" else {}

    def good(self, database, call, body, headers={}):
        status, reply = self.call(database, call, body, headers)
        if status != 200:
            raise RuntimeError(f"{call}: {status} {str(reply)[:300]}")
        return reply


def connect(hub, address, receive_bytes=None):
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(PATIENCE)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", hub.port))
    return connection


def head(hub, database, call, user, length, more=""):
    target = hub.target(database, call, user)
    return f"POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def request(hub, database, call, body, user=1):
    text = json.dumps(body).encode()
    return head(hub, database, call, user, len(text)) + text


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"


class Bystander(threading.Thread):
    """Saves records one by one, and wants all of them to be there."""

    def __init__(self, hub):
        super().__init__()
        self.hub, self.isOver = hub, False
        self.saved, self.seconds, self.failures = [], [], []

    def run(self):
        client = Client(self.hub, "127.0.0.200", 0)
        while not self.isOver:
            name = f"note-{len(self.saved)}"
            start = time.monotonic()
            try:
                reply = client.good(
                    "private", "records/modify", {"operations": [record(name)], **zone_id()})
                if "recordChangeTag" not in reply["records"][0]:
                    raise RuntimeError(str(reply)[:300])
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                self.failures.append(f"A save failed: {error!r}")
                return
            self.seconds.append(time.monotonic() - start)
            self.saved.append(name)

    def missing(self):
        client = Client(self.hub, "127.0.0.200", 0)
        found = []
        for start in range(0, len(self.saved), 200):
            names = self.saved[start : start + 200]
            body = {"records": [{"recordName": name} for name in names], **zone_id()}
            replies = client.good("private", "records/lookup", body)["records"]
            found += [reply["recordName"] for reply in replies if "serverErrorCode" in reply]
        return found


# Attacks. Each takes a hub and a scale, and answers what is wrong.


def crowd(hub, scale):
    """Connections of one address, more than it may have, and somebody else."""
    crowd = [connect(hub, "127.0.0.9") for _ in range(2_500)]
    with connect(hub, "127.0.0.10") as other:
        other.sendall(HEALTH)
        answer = other.recv(100)
    for connection in crowd:
        connection.close()
    return [] if answer.startswith(b"HTTP/1.1 200") else ["Somebody else got no answer."]


def crowd_of_addresses(hub, scale):
    """A connection from each of many addresses, served once; then new ones, which take their places."""
    crowd = []
    for number in range(4_500):
        connection = connect(hub, f"127.1.{number // 250}.{1 + number % 250}")
        connection.sendall(HEALTH)
        crowd.append(connection)
    # Who comes while as many are being closed as may be is closed as well, and comes again.
    for _ in range(50):
        with connect(hub, "127.0.0.10") as other:
            try:
                other.sendall(HEALTH)
                answer = other.recv(100)
            except ConnectionResetError:
                answer = b""
        if answer:
            break
        time.sleep(0.1)
    for connection in crowd:
        connection.close()
    return [] if answer.startswith(b"HTTP/1.1 200") else ["Somebody else got no answer."]


def half_closed(hub, scale):
    """Clients that say that nothing more comes: in a head, in a body, and behind a request."""
    whole = request(hub, "private", "zones/list", {})
    found = []
    for _ in range(5 * scale):
        for count in (10, len(whole) - 1, len(whole)):
            with connect(hub, "127.0.0.11") as connection:
                connection.sendall(whole[:count])
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                try:
                    while part := connection.recv(65_536):
                        answer += part
                except ConnectionResetError:
                    # What the hub did not read was lost with the connection.
                    pass
                # Whoever says so at once may count as gone: the library sees the end first now and then.
                if answer and (count < len(whole) or not answer.startswith(b"HTTP/1.1 200")):
                    found.append(f"{count} of {len(whole)} bytes got {answer[:60]!r}.")
    return found[:3]


def resets(hub, scale):
    """Connections that are reset while the hub reads, works or answers."""
    body = {"query": {"recordType": "Doc", "sortBy": [{"fieldName": "s"}]}}
    whole = request(hub, "public", "records/query", body)
    for number in range(150 * scale):
        connection = connect(hub, "127.0.0.12")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(whole[: (20, len(whole) - 3, len(whole))[number % 3]])
        if number % 6 == 5:
            connection.recv(10)
        connection.close()
    return []


def pipelines(hub, scale):
    """A thousand requests on a connection before the first reply is read."""
    found = []
    for _ in range(scale):
        with connect(hub, "127.0.0.13") as connection:
            whole = request(hub, "private", "zones/list", {}) * 1_000
            sender = threading.Thread(target=connection.sendall, args=(whole,))
            sender.start()
            count, rest = 0, b""
            while count < 1_000:
                part = connection.recv(1 << 20)
                if not part:
                    break
                count += (rest + part).count(b"HTTP/1.1 200 OK")
                rest = part[-14:]
                if rest.endswith(b"HTTP/1.1 200 OK"):
                    rest = b""
            sender.join()
            if count != 1_000:
                found.append(f"{count} of 1,000 requests were answered.")
    return found


def slow_readers(hub, scale):
    """Large replies that nobody reads: as many as there are addresses."""
    body = {"records": [{"recordName": "large"}] * 200}
    whole = request(hub, "public", "records/lookup", body)
    readers = []
    for number in range(40):
        connection = connect(hub, f"127.0.1.{1 + number}", 4_096)
        connection.sendall(whole)
        readers.append(connection)
    memory = 0
    for _ in range(50):
        time.sleep(0.1)
        memory = max(memory, hub.status("RssAnon") * 1_024)
    for connection in readers:
        connection.close()
    return [] if memory < 512e6 else [f"Anonymous memory was {memory / 1e6:.0f} MB."]


def zones_and_subscriptions(hub, scale):
    """Zones made and deleted 200 at once by a user with as many subscriptions as there may be."""
    client = Client(hub, "127.0.0.14", 1)
    filters = [
        {"comparator": "NOT_EQUALS", "fieldName": "s",
         "fieldValue": {"value": "x" * 100, "type": "STRING"}}
    ] * 60
    for start in range(0, 500, 50):
        operations = [
            {"operationType": "create",
             "subscription": {"subscriptionID": f"s{number}", "subscriptionType": "query",
                              "query": {"recordType": "T", "filterBy": filters}}}
            for number in range(start, start + 50)
        ]
        client.good("private", "subscriptions/modify", {"operations": operations})
    for _ in range(2 * scale):
        for kind in ("create", "delete"):
            operations = [
                {"operationType": kind, "zone": zone_id(f"q{number}")} for number in range(200)
            ]
            client.good("private", "zones/modify", {"operations": operations})
    return []


def large_records_with_files(hub, scale):
    """Receipts for files of records of a megabyte, whose fields have to be read for each."""
    client = Client(hub, "127.0.0.15", 1)
    for number in range(16):
        fields = {f"f{part}": {"value": [1] * 40, "type": "INT64_LIST"} for part in range(4_500)}
        client.good(
            "private", "records/modify", {"operations": [record(f"big{number}", fields)], **zone_id()})
    places = [{"recordName": f"big{number % 16}", "fieldName": "f0"} for number in range(200)]
    for _ in range(3 * scale):
        client.good("private", "assets/rereference", {"assets": places, **zone_id()})
        operations = [record(f"big{number}", {"s": {"value": "x", "type": "STRING"}})
                      for number in range(16)]
        client.good("private", "records/modify", {"operations": operations, "atomic": False, **zone_id()})
    return []


def filled_zones(hub, scale):
    """A zone that is filled with references and deleted, again and again."""
    client = Client(hub, "127.0.0.16", 1)
    references = [{"recordName": f"t{number}", "action": "DELETE_SELF"} for number in range(15_000)]
    fields = {"l": {"value": references, "type": "REFERENCE_LIST"}}
    create = {"operations": [{"operationType": "create", "zone": zone_id("q")}]}
    delete = {"operations": [{"operationType": "delete", "zone": zone_id("q")}]}
    sizes = []
    for _ in range(6 * scale):
        client.good("private", "zones/modify", create)
        client.good("private", "records/modify", {"operations": [record("r", fields)], **zone_id("q")})
        client.good("private", "zones/modify", delete)
        sizes.append(os.stat(f"{hub.folder}/hub/data.mdb").st_size)
    grown = sizes[-1] - sizes[len(sizes) // 2]
    return [] if grown < 4 << 20 else [f"The storage has grown by {grown} bytes."]


def answers_of_nothing(hub, scale):
    """Requests that ask for nothing, each with a name of its own."""
    client = Client(hub, "127.0.0.17", 1)
    for number in range(2_000 * scale):
        client.good(
            "private", "records/modify", {"operations": [], **zone_id()},
            {"X-Backstitch-Extensions": "request-id", "X-Backstitch-Request-ID": f"r{number}"})
    return []


def worst_filters(hub, scale):
    """A hundred filters with lists and words that no record has."""
    client = Client(hub, "127.0.0.18")
    lists = {"value": [f"v{number}" for number in range(2_000)], "type": "STRING_LIST"}
    words = {"value": " ".join(f"w{number}" for number in range(400)), "type": "STRING"}
    kinds = [("NOT_LIST_CONTAINS_ANY", lists), ("NOT_IN", lists), ("NOT_EQUALS", words),
             ("NOT_BEGINS_WITH", words)]
    for comparator, value in kinds:
        filters = [{"comparator": comparator, "fieldName": "s", "fieldValue": value}]
        count = max(1, min(100, 240_000 // len(json.dumps(filters))))
        body = {"query": {"recordType": "Doc", "filterBy": filters * count}}
        for _ in range(scale):
            status, _ = client.call("public", "records/query", body)
            if status not in (200, 400, 503):
                return [f"{comparator}: {status}"]
    return []


ATTACKS = [
    crowd, crowd_of_addresses, half_closed, resets, pipelines, slow_readers, zones_and_subscriptions,
    large_records_with_files, filled_zones, answers_of_nothing, worst_filters,
]


def prepare(hub):
    for user in (0, 1):
        zone = {"operations": [{"operationType": "create", "zone": zone_id()}]}
        Client(hub, "127.0.0.1", user).good("private", "zones/modify", zone)
    client = Client(hub, "127.0.0.1", 0)
    large = record("large", {"s": {"value": "x" * 900_000, "type": "STRING"}})
    client.good("public", "records/modify", {"operations": [large]})
    for start in range(0, 2_000, 200):
        operations = [
            record(f"doc-{number}", {"s": {"value": f"w{number} and more", "type": "STRING"}},
                   record_type="Doc")
            for number in range(start, start + 200)
        ]
        client.good("public", "records/modify", {"operations": operations, "atomic": False})


def settle(hub, before):
    """Waits until connections that were closed are gone; how many descriptors are left of them."""
    for _ in range(200):
        left = hub.descriptors() - before
        if left <= 0:
            return 0
        time.sleep(0.1)
    return left


def run(attack, program, scale, options, launcher):
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(program, folder, options, launcher)
        hub.folder = folder
        found = []
        bystander = Bystander(hub)
        try:
            prepare(hub)
            bystander.start()
            # Its connection, and what the hub opens with the first requests.
            while len(bystander.saved) < 5 and bystander.is_alive():
                time.sleep(0.01)
            before = hub.descriptors()
            try:
                found += attack(hub, scale)
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                found.append(f"{error!r}")
            if hub.process.poll() is None:
                left = settle(hub, before)
                if left > 0:
                    found.append(f"{left} descriptors are left open.")
                bystander.isOver = True
                bystander.join()
                found += [f"'{name}' is gone." for name in bystander.missing()[:3]]
                hub.process.send_signal(signal.SIGTERM)
                hub.process.wait(PATIENCE)
            bystander.isOver = True
            found += bystander.failures
            if hub.process.poll() != 0:
                found.append(f"The hub ended with {hub.process.poll()}: {hub.complaints()[-300:]}")
        finally:
            bystander.isOver = True
            if hub.process.poll() is None:
                hub.process.kill()
            hub.process.wait()
        times = sorted(bystander.seconds)
        return {
            "attack": attack.__name__, "found": found, "saves": len(times),
            "saveWorstMilliseconds": round(1_000 * times[-1]) if times else None,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--only", action="append", choices=[attack.__name__ for attack in ATTACKS])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    results = []
    for attack in ATTACKS:
        if arguments.only and attack.__name__ not in arguments.only:
            continue
        # The hub begins with what systems give; this process needs more.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        result = run(
            attack, arguments.backstitch, arguments.scale, [],
            ["/bin/sh", "-c", 'ulimit -Sn 1024; exec "$@"', "sh"])
        results.append(result)
        if not arguments.json:
            print(f"{result['attack']}: {result['saves']} saves, the longest took "
                  f"{result['saveWorstMilliseconds']} ms; found: {result['found'] or 'nothing'}", flush=True)
    if arguments.json:
        print(json.dumps(results))
    sys.exit(1 if any(result["found"] for result in results) else 0)


if __name__ == "__main__":
    main()
