#!/usr/bin/env python3
"""Attacks a hub from many addresses while a watcher and an ordinary user go on.

The hub is started with records, users and a folder of its own. Attackers run at the lowest priority, each
at an address of its own (127.0.0.2 and on), and repeat the worst requests that are known: queries with many words, sorts,
lookups of one large record many times, pages of large records, bodies that nobody may send, connections
by the thousand that only wait or send a byte now and then, writes with many references, deletes of many
records, subscriptions by the hundred for devices that listen, zones by the hundred, addresses for uploads
and uploads. Half of them has only the token that every application carries. Meanwhile a watcher asks for the hub's health ten times a
second from 127.0.0.201, an ordinary user saves a record five times a second from 127.0.0.202, and the memory of
the hub is read. At the end the hub is told to stop, under attack.

What has to hold: the 99th percentile of the health check is under 250 ms and that of a save under 1 s, no
save is refused, the anonymous memory of the hub stays under 512 MB, and it has ended within 25 s.

    attack.py --backstitch PROGRAM [--seconds N] [--attackers N] [--records N] [--json]
    attack.py --crowd --backstitch PROGRAM [--postgresql] [--seconds N] [--records N] [--json]

With --crowd many come who each ask for what they may: 30 addresses try passwords all the time, a user sends 12 files at a
time to a disk that takes 30 ms longer for each sync (a library that is built with cc and preloaded), and 100 addresses wait for
a sorted query each. Meanwhile a user who is signed in looks up and queries records of the user's own, at least 1,000 and 200 times. What has to
hold: the 99th percentile of a look-up is at most 250 ms and that of a query 1 s, and the user is not refused once. --postgresql has the
records in a database of a server of its own, in a temporary folder.

Exit codes: 0 all of it holds, 1 something does not.
"""

import argparse
import collections
import hashlib
import http.client
import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import running

BOUNDS = {"healthMilliseconds": 250, "saveMilliseconds": 1_000, "rssAnonMB": 512, "stopSeconds": 25}
PATIENCE = 15
CROWD_BOUNDS = {"lookupMilliseconds": 250, "queryMilliseconds": 1_000}
LOOKUPS, QUERIES = 1_000, 200
TRIERS, SENDERS, ASKERS = 30, 12, 100
SYNC_MILLISECONDS = 30


class Client:
    """Calls a hub from one address, on a connection that is kept."""

    def __init__(self, document, address, user=None):
        self.port = urllib.parse.urlsplit(document["url"]).port
        self.start = f"/database/1/{document['container']}/{document['environment']}"
        query = {"ckAPIToken": document["apiToken"]}
        if user:
            query["ckWebAuthToken"] = user["webAuthToken"]
        self.query = urllib.parse.urlencode(query)
        self.address = address
        self.http = None

    def request(self, method, target, body=None, headers={}):
        if self.http is None:
            self.http = http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=PATIENCE, source_address=(self.address, 0)
            )
        try:
            self.http.request(method, target, body, headers)
            reply = self.http.getresponse()
            self.headers = reply.headers
            return reply.status, reply.read()
        except OSError:
            self.close()
            raise
        except http.client.HTTPException:
            self.close()
            raise OSError("the reply was cut")

    def target(self, database, call):
        return f"{self.start}/{database}/{call}?{self.query}"

    def call(self, database, call, body, headers={}):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", self.target(database, call), text, headers)

    def close(self):
        if self.http:
            self.http.close()
        self.http = None


def operation(name, fields, kind="forceUpdate"):
    return {
        "operationType": kind,
        "record": {"recordName": name, "recordType": "Doc", "fields": fields},
    }


def text(value):
    return {"value": value, "type": "STRING"}


def prepare(document, records):
    """Public records to look through, one large record, and a zone for each user."""
    client = Client(document, "127.0.0.1", document["users"][0])
    chance = random.Random(7)
    words = [f"word{number}" for number in range(500)]
    for start in range(0, records, 200):
        operations = [
            operation(
                f"doc-{number:07}", {"s": text(" ".join(chance.choices(words, k=8))),
                                     "n": {"value": chance.randrange(10**6), "type": "INT64"}}
            )
            for number in range(start, min(records, start + 200))
        ]
        status, body = client.call("public", "records/modify", {"operations": operations, "atomic": False})
        assert status == 200 and b"serverErrorCode" not in body, body[:300]
    status, body = client.call(
        "public", "records/modify", {"operations": [operation("large", {"s": text("x" * 900_000)})]}
    )
    assert status == 200, body[:300]
    for number in range(20):
        big = operation(f"big-{number}", {"s": text("x" * 900_000)})
        big["record"]["recordType"] = "Large"
        status, body = client.call("public", "records/modify", {"operations": [big]})
        assert status == 200, body[:300]
    client.close()
    for user in document["users"]:
        client = Client(document, "127.0.0.1", user)
        zone = {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": "z"}}}]}
        status, body = client.call("private", "zones/modify", zone)
        assert status == 200, body[:300]
        client.close()


# What attackers send. Each takes a client and a generator of chance, and sends one request.


def query(**parts):
    return {"query": {"recordType": "Doc", **parts}}


def words_of_a_query(client, chance):
    words = " ".join(f"t{number}" for number in range(20_000))
    value = {"type": "STRING", "value": words}
    comparator = chance.choice(["CONTAINS_ANY_TOKENS", "CONTAINS_ALL_TOKENS"])
    filters = [{"comparator": comparator, "fieldName": "s", "fieldValue": value}]
    client.call("public", "records/query", query(filterBy=filters))


def sorted_query(client, chance):
    sorts = [{"fieldName": chance.choice("sn"), "ascending": chance.choice([True, False])}]
    client.call("public", "records/query", {**query(sortBy=sorts), "resultsLimit": 200})


def many_filters(client, chance):
    filters = [
        {"comparator": "NOT_EQUALS", "fieldName": "s", "fieldValue": text(f"x{number}")}
        for number in range(100)
    ]
    client.call("public", "records/query", query(filterBy=filters))


def one_record_many_times(client, chance):
    body = {"records": [{"recordName": "large"}] * 200}
    client.call("public", "records/lookup", body)


def large_pages(client, chance):
    body = {"query": {"recordType": chance.choice(["Doc", "Large"])}, "resultsLimit": 2_000}
    client.call("public", "records/query", body, {"X-Backstitch-Extensions": "large-pages"})


def body_without_credentials(client, chance):
    """A body of 15 MiB in the name of nobody, or of one who may send little: its bytes are sent for as
    long as they are taken."""
    target = chance.choice([
        client.start + "/private/records/modify?ckAPIToken=none", client.target("public", "records/query"),
    ])
    connection = socket.create_connection(
        ("127.0.0.1", client.port), timeout=PATIENCE, source_address=(client.address, 0)
    )
    with connection:
        length = 15 << 20
        head = f"POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        part = b" " * 65_536
        for _ in range(length // len(part)):
            connection.sendall(part)
        connection.recv(1_000)


def waiting_connections(client, chance):
    """Heads and bodies that come a byte a second, on as many connections as an address may have."""
    head = f"POST {client.target('public', 'records/query')} HTTP/1.1\r\nHost: a\r\n"
    slow = [b"GET /healthz HTTP/1.1\r\nX: ", f"{head}Content-Length: 100000\r\n\r\n".encode(), b"G"]
    connections = []
    try:
        for number in range(1_000):
            connection = socket.create_connection(
                ("127.0.0.1", client.port), timeout=PATIENCE, source_address=(client.address, 0)
            )
            connections.append(connection)
            connection.sendall(slow[number % len(slow)])
        for _ in range(3):
            time.sleep(1)
            for connection in connections:
                connection.send(b"a")
    finally:
        for connection in connections:
            connection.close()


def reader_who_does_not_read(client, chance):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(PATIENCE)
    connection.bind((client.address, 0))
    with connection:
        connection.connect(("127.0.0.1", client.port))
        body = json.dumps({"records": [{"recordName": "large"}] * 200})
        head = f"POST {client.target('public', 'records/lookup')} HTTP/1.1\r\nHost: a\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        time.sleep(2)


def many_references(client, chance):
    references = [
        {"recordName": f"t{number}", "action": "DELETE_SELF"}
        for number in range(chance.choice([19_000, 60_000]))
    ]
    fields = {"l": {"value": references, "type": "REFERENCE_LIST"}}
    body = {"operations": [operation(f"list-{chance.randrange(10)}", fields, "forceReplace")]}
    client.call("private", "records/modify", {**body, "zoneID": {"zoneName": "z"}})


def children_and_a_failing_chain(client, chance):
    zone = {"zoneID": {"zoneName": "z"}, "atomic": False}
    parent = {"p": {"value": {"recordName": "root", "action": "DELETE_SELF"}, "type": "REFERENCE"}}
    client.call("private", "records/modify", {"operations": [operation("root", {})], **zone})
    for start in range(0, 740, 185):
        children = [operation(f"child-{start + number}", parent) for number in range(185)]
        client.call("private", "records/modify", {"operations": children, **zone})
    chain = [
        operation(
            f"n{number}",
            {"next": {"value": {"recordName": f"n{number + 1}", "action": "VALIDATE"},
                      "type": "REFERENCE"}},
        )
        for number in range(199)
    ]
    delete = {"operationType": "forceDelete", "record": {"recordName": "root"}}
    client.call("private", "records/modify", {"operations": [delete] + chain, **zone})


def subscriptions(client, chance):
    device = f"/device/{client.start.removeprefix('/database/')}/tokens/create?{client.query}"
    client.request("POST", device, b'{"apnsEnvironment":"development"}')
    operations = [
        {
            "operationType": "create",
            "subscription": {
                "subscriptionID": f"s{chance.randrange(1_000)}", "subscriptionType": "query",
                "query": {"recordType": "Doc"},
                "notificationInfo": {"alertBody": "x" * chance.choice([10, 4_000])},
            },
        }
        for _ in range(200)
    ]
    client.call("public", "subscriptions/modify", {"operations": operations})
    client.call("private", "subscriptions/modify", {"operations": operations})
    operations = [operation(f"mine-{client.address}-{number}", {}) for number in range(200)]
    client.call("public", "records/modify", {"operations": operations, "atomic": False})


def large_body(client, chance):
    numbers = "1," * ((15 << 20) // 2)
    body = '{"operations":[' + numbers + "1]}"
    client.call("private", "records/modify", body.encode())


def zones(client, chance):
    for kind in ("create", "delete"):
        operations = [
            {"operationType": kind, "zone": {"zoneID": {"zoneName": f"q{number}"}}}
            for number in range(200)
        ]
        client.call("private", "zones/modify", {"operations": operations})
    client.call("private", "zones/list", {})


def uploads(client, chance):
    """Addresses by the hundred, and files for some of them, each sent twice."""
    places = [{"recordName": f"a{number}", "fieldName": "f"} for number in range(200)]
    status, reply = client.call(
        "private", "assets/upload", {"tokens": places, "zoneID": {"zoneName": "z"}})
    if status != 200:
        return
    for token in json.loads(reply)["tokens"][:5]:
        target = urllib.parse.urlsplit(token["url"]).path
        for _ in range(2):
            client.request("POST", target, chance.randbytes(990_000))


ANONYMOUS = [
    words_of_a_query, sorted_query, many_filters, one_record_many_times, large_pages,
    body_without_credentials, waiting_connections, reader_who_does_not_read,
]
SIGNED_IN = [
    many_references, children_and_a_failing_chain, subscriptions, large_body, zones, uploads,
    sorted_query, one_record_many_times,
]


def attack(document, number, seconds, counts):
    os.nice(19)
    user = document["users"][1 + number // 2] if number % 2 else None
    client = Client(document, f"127.0.0.{2 + number}", user)
    chance = random.Random(number)
    kinds = SIGNED_IN if user else ANONYMOUS
    turn = number // 2
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        kind = kinds[turn % len(kinds)]
        # Each stays at one kind for a while, so that several do the same at once.
        if chance.random() < 0.2:
            turn += 1
        try:
            kind(client, chance)
            counts[0] += 1
        except OSError:
            counts[1] += 1
            time.sleep(0.05)


def watch(document, seconds, results):
    client = Client(document, "127.0.0.201")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        try:
            status, _ = client.request("GET", "/healthz")
        except OSError:
            status = 0
        results.append((time.monotonic() - start, status))
        time.sleep(max(0, 0.1 - (time.monotonic() - start)))


def save(document, seconds, results):
    client = Client(document, "127.0.0.202", document["users"][0])
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        start = time.monotonic()
        body = {"operations": [operation(f"note-{number}", {"s": text("a note")})],
                "zoneID": {"zoneName": "z"}}
        try:
            status, reply = client.call("private", "records/modify", body)
            if b"serverErrorCode" in reply:
                status = 0
        except OSError:
            status = 0
        results.append((time.monotonic() - start, status))
        time.sleep(max(0, 0.2 - (time.monotonic() - start)))


def anonymous_megabytes(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else None


# The crowd.

SLOW_SYNC = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// Syncs of files below a folder 'assets' take longer.
static void wait_for(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (strstr(path, "/assets")) usleep(1000 * atoi(getenv("SLOW_SYNC_MILLISECONDS")));
}
int fsync(int f) { wait_for(f); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(f); }
int fdatasync(int f) { wait_for(f); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(f); }
"""


def slow_syncs(folder):
    """The environment in which a program's syncs of files take longer."""
    library = folder + "/slow.so"
    with open(folder + "/slow.c", "w") as file:
        file.write(SLOW_SYNC)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder + "/slow.c", "-ldl"], check=True)
    return dict(os.environ, LD_PRELOAD=library, SLOW_SYNC_MILLISECONDS=str(SYNC_MILLISECONDS))


def sign_in(client, document, name, password):
    """Sends the form of the sign-in page; status and headers."""
    page = "/signin/" + hashlib.sha256(document["apiToken"].encode()).hexdigest()
    headers = {"Origin": document["url"], "Content-Type": "application/x-www-form-urlencoded"}
    form = urllib.parse.urlencode({"by": "password", "name": name, "password": password})
    return client.request("POST", page, form, headers)


def try_passwords(document, number, counts):
    client = Client(document, f"127.0.0.{2 + number}")
    tries = 0
    while True:
        tries += 1
        # Names that are there and names that are not; each may fail 20 times an hour.
        name = document["users"][0]["name"] if tries % 50 == 1 else f"n{number}-{tries}"
        status = counted(counts, lambda: sign_in(client, document, name, f"word {tries}")[0])
        if status != 401:
            time.sleep(0.2)


def ask_sorted(document, number, counts):
    client = Client(document, f"127.0.1.{1 + number}")
    body = {**query(sortBy=[{"fieldName": "s", "ascending": True}]), "resultsLimit": 1}
    while True:
        status = counted(counts, lambda: client.call("public", "records/query", body)[0])
        if status != 200:
            time.sleep(0.2)


def send_file(client, name, content):
    """Asks for an address, sends a file there, and has a record hold it; the status that is not 200, if one is."""
    zone = {"zoneID": {"zoneName": "z"}}
    places = {"tokens": [{"recordName": name, "fieldName": "f"}], **zone}
    status, reply = client.call("private", "assets/upload", places)
    if status != 200:
        return status
    start = time.monotonic()
    status, reply = client.request(
        "POST", urllib.parse.urlsplit(json.loads(reply)["tokens"][0]["url"]).path, content)
    if status != 200:
        return status
    send_file.seconds = time.monotonic() - start
    file = {"f": {"value": json.loads(reply)["singleFile"], "type": "ASSETID"}}
    return client.call("private", "records/modify", {"operations": [operation(name, file)], **zone})[0]


def send_files(document, number, counts):
    client = Client(document, "127.0.2.1", document["users"][1])
    chance = random.Random(number)
    while True:
        if counted(counts, lambda: send_file(client, f"file-{number}", chance.randbytes(20_000))) != 200:
            time.sleep(0.2)


def counted(counts, request):
    try:
        status = request()
    except OSError:
        status = 0
    counts[status] += 1
    return status


def crowd(document, kinds, results):
    """Runs threads of each kind, and says now and then how what they asked for was answered."""
    os.nice(19)
    counts = [collections.Counter() for _ in kinds]
    for (work, numbers), count in zip(kinds, counts):
        for number in numbers:
            threading.Thread(target=work, args=(document, number, count), daemon=True).start()
    while True:
        time.sleep(0.5)
        for (work, _), count in zip(kinds, counts):
            results[f"{work.__name__} {os.getpid()}"] = dict(count)


def measure_reads(document, call, bodies, samples, until, pause):
    """A user's reads one after the other, until there are enough and nobody waits for more."""
    client = Client(document, "127.0.0.202", document["users"][0])
    number = 0
    while not until.is_set():
        start = time.monotonic()
        try:
            status, reply = client.call("private", call, bodies[number % len(bodies)])
            if b"serverErrorCode" in reply or not json.loads(reply)["records"]:
                status = status if status != 200 else 1
        except OSError:
            status = 0
        samples.append((time.monotonic() - start, status))
        number += 1
        time.sleep(pause)


def measure_crowd(document, arguments):
    prepare(document, arguments.records)
    user = Client(document, "127.0.0.202", document["users"][0])
    zone = {"zoneID": {"zoneName": "z"}}
    own = [operation(f"own-{number:03}", {"s": text(f"note {number % 17}")}) for number in range(200)]
    status, reply = user.call("private", "records/modify", {"operations": own, **zone})
    assert status == 200 and b"serverErrorCode" not in reply, reply[:300]
    alone = []
    sender = Client(document, "127.0.2.1", document["users"][1])
    for number in range(5):
        assert send_file(sender, "alone", os.urandom(20_000)) == 200
        alone.append(send_file.seconds)
    print("prepared", file=sys.stderr)
    context = multiprocessing.get_context("fork")
    manager = context.Manager()
    results, lookups, queries, until = manager.dict(), manager.list(), manager.list(), manager.Event()
    pushing = [
        context.Process(target=crowd, daemon=True, args=(document, kinds, results))
        for kinds in (
            [(try_passwords, range(TRIERS)), (send_files, range(SENDERS))],
            [(ask_sorted, range(0, ASKERS, 2))], [(ask_sorted, range(1, ASKERS, 2))],
        )
    ]
    bodies = [
        {"records": [{"recordName": f"own-{(start + each) % 200:03}"} for each in range(20)], **zone}
        for start in range(0, 200, 7)
    ]
    asked = [{**query(sortBy=[{"fieldName": "s", "ascending": True}]), **zone}, {**query(), **zone}]
    measuring = [
        context.Process(target=measure_reads, args=(document, "records/lookup", bodies, lookups, until, 0.02)),
        context.Process(target=measure_reads, args=(document, "records/query", asked, queries, until, 0.1)),
    ]
    for process in pushing:
        process.start()
    time.sleep(3)
    for process in measuring:
        process.start()
    start = time.monotonic()
    while time.monotonic() < start + 10 * arguments.seconds:
        time.sleep(0.5)
        isEnough = len(lookups) >= LOOKUPS and len(queries) >= QUERIES
        if isEnough and time.monotonic() > start + arguments.seconds:
            break
    until.set()
    for process in measuring:
        process.join(2 * PATIENCE)
    seconds = time.monotonic() - start
    counts = {}
    for name, count in results.items():
        counts.setdefault(name.split()[0], collections.Counter()).update(count)
    for process in pushing:
        process.terminate()
        process.join()
    result = {
        "storage": "postgresql" if arguments.postgresql else "folder", "seconds": round(seconds),
        "records": arguments.records, "fileAloneMilliseconds": round(1_000 * percentile(alone, 0.5), 1),
        "passwords": counts["try_passwords"], "files": counts["send_files"], "sortedQueries": counts["ask_sorted"],
    }
    for name, samples in (("lookup", list(lookups)), ("query", list(queries))):
        times = [seconds for seconds, _ in samples]
        result |= {
            f"{name}Count": len(samples), f"{name}Refused": sum(status != 200 for _, status in samples),
            f"{name}P50Milliseconds": round(1_000 * percentile(times, 0.5), 1),
            f"{name}P99Milliseconds": round(1_000 * percentile(times, 0.99), 1),
            f"{name}MaxMilliseconds": round(1_000 * max(times), 1),
        }
    result["loadAverage"] = os.getloadavg()[0]
    # Nothing was shown where the crowd did not press.
    pressed = (
        counts["try_passwords"][401] > 0 and counts["send_files"][200] > 0 and counts["ask_sorted"][200] > 0
        and result["fileAloneMilliseconds"] >= SYNC_MILLISECONDS
    )
    result["holds"] = (
        pressed and result["lookupCount"] >= LOOKUPS and result["queryCount"] >= QUERIES
        and result["lookupRefused"] == 0 and result["queryRefused"] == 0
        and result["lookupP99Milliseconds"] <= CROWD_BOUNDS["lookupMilliseconds"]
        and result["queryP99Milliseconds"] <= CROWD_BOUNDS["queryMilliseconds"]
    )
    return result


def run_crowd(arguments):
    page = ["--origin", "http://localhost:1"]
    with running.hub(arguments, ["u0", "u1"], page, passwords=1, environment=slow_syncs) as (_, document):
        return measure_crowd(document, arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--attackers", type=int, default=16)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--crowd", action="store_true")
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.postgresql and not arguments.crowd:
        parser.error("--postgresql goes with --crowd")
    tell(run_crowd(arguments) if arguments.crowd else run_attack(arguments), arguments)


def run_attack(arguments):
    users = [name for number in range(2 + arguments.attackers // 2) for name in ("--user", f"u{number}")]
    with tempfile.TemporaryDirectory() as folder:
        hub = subprocess.Popen(
            [arguments.backstitch, "hub", "--data", folder + "/hub", "--listen", "127.0.0.1:0",
             "--dev", "--quota", "50000000"] + users,
            stdout=subprocess.PIPE,
        )
        try:
            return measure(hub, json.loads(hub.stdout.readline()), arguments)
        finally:
            if hub.poll() is None:
                hub.kill()


def tell(result, arguments):
    if arguments.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name}: {value}")
    sys.exit(0 if result["holds"] else 1)


def measure(hub, document, arguments):
    prepare(document, arguments.records)
    print("prepared", file=sys.stderr)
    context = multiprocessing.get_context("fork")
    manager = context.Manager()
    health, saves = manager.list(), manager.list()
    counts = [context.Array("i", 2, lock=False) for _ in range(arguments.attackers)]
    # The attack goes on while the hub is told to stop.
    attackers = [
        context.Process(target=attack, args=(document, number, arguments.seconds + 30, counts[number]))
        for number in range(arguments.attackers)
    ]
    others = [
        context.Process(target=watch, args=(document, arguments.seconds, health)),
        context.Process(target=save, args=(document, arguments.seconds, saves)),
    ]
    for process in attackers + others:
        process.start()
    memory = 0
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end and hub.poll() is None:
        memory = max(memory, anonymous_megabytes(hub.pid))
        time.sleep(0.1)
    for process in others:
        process.join(2 * PATIENCE)
    start = time.monotonic()
    hub.send_signal(signal.SIGTERM)
    try:
        status = hub.wait(60)
    except subprocess.TimeoutExpired:
        status = None
    stop = time.monotonic() - start
    for process in attackers:
        process.terminate()
        process.join()
    health, saves = list(health), list(saves)
    result = {
        "seconds": arguments.seconds, "attackers": arguments.attackers,
        "records": arguments.records,
        "attacks": sum(count[0] for count in counts), "cut": sum(count[1] for count in counts),
        "health": len(health), "healthFailed": sum(status != 200 for _, status in health),
        "healthP50Milliseconds": round(1_000 * percentile([time for time, _ in health], 0.5), 1),
        "healthP99Milliseconds": round(1_000 * percentile([time for time, _ in health], 0.99), 1),
        "saves": len(saves), "savesRefused": sum(status != 200 for _, status in saves),
        "saveP50Milliseconds": round(1_000 * percentile([time for time, _ in saves], 0.5), 1),
        "saveP99Milliseconds": round(1_000 * percentile([time for time, _ in saves], 0.99), 1),
        "rssAnonMB": round(memory), "stopSeconds": round(stop, 1), "exitStatus": status,
        "loadAverage": os.getloadavg()[0],
    }
    result["holds"] = (
        result["healthFailed"] == 0 and result["savesRefused"] == 0 and status == 0
        and result["healthP99Milliseconds"] < BOUNDS["healthMilliseconds"]
        and result["saveP99Milliseconds"] < BOUNDS["saveMilliseconds"]
        and result["rssAnonMB"] < BOUNDS["rssAnonMB"]
        and result["stopSeconds"] < BOUNDS["stopSeconds"]
    )
    return result


if __name__ == "__main__":
    main()
