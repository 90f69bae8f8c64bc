#!/usr/bin/env python3
"""Has many thin devices look and write now and then at one hub over PostgreSQL, for a while.

Each device has a user, of which several devices may be, and a change token. It looks for changes every five minutes and
saves a record every thirty, on a connection of its own for each request, as a device does that sleeps in between. Then
devices wait at long polls, as many as the machine's open files allow, and the memory that each takes is measured: at a hub
that has just begun, so that none of it was there before, on new connections and on such that had a reply already.

    devices.py --program PROGRAM [--devices N] [--users N] [--minutes N] [--waiting N]

Exit codes: 0 if the 99th percentile is under a second, the hub takes less than one core, and a waiting device less than
16 kB; 1 if not.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import urllib.parse

import scale
from scale import Database, Hub, saves, zones

LOOK_SECONDS, WRITE_SECONDS = 300, 1_800
# What the first that wait bring with them, such as threads, is not theirs.
FIRST_DEVICES = 100


def resident_bytes(process):
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Service:
    """Requests to a hub, each on a connection of its own."""

    def __init__(self, hub):
        told = hub.told
        self.port, self.users = hub.port, told["users"]
        start = f"/1/{told['container']}/{told['environment']}"
        self.root, self.devices = f"/database{start}/private/", f"/device{start}/"
        self.api_token = told["apiToken"]

    def target(self, user, call):
        secrets = urllib.parse.urlencode({
            "ckAPIToken": self.api_token, "ckWebAuthToken": self.users[user]["webAuthToken"]})
        return f"{self.devices if call.startswith('tokens/') else self.root}{call}?{secrets}"

    async def post(self, user, call, body):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = body.encode()
        writer.write((f"POST {self.target(user, call)} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"
                      f"Content-Length: {len(data)}\r\n\r\n").encode() + data)
        reply = await reader.read()
        writer.close()
        head, _, body = reply.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise OSError(f"{call}: {head[:200]!r} {body[:200]!r}")
        return json.loads(body)


async def limited(works, most):
    """Has so many at once of the works run."""
    gate = asyncio.Semaphore(most)

    async def run(work):
        async with gate:
            return await work

    return await asyncio.gather(*[run(work) for work in works])


async def live(service, arguments, hub, database):
    """The devices' requests, spread over the time as their clocks have it."""
    users, times, failures, tokens = arguments.users, [], [], {}
    chance = random.Random(7)
    begin = time.monotonic() + 1
    steps = []
    for device in range(arguments.devices):
        for kind, every in (("look", LOOK_SECONDS), ("write", WRITE_SECONDS)):
            moment = chance.random() * every
            while moment < arguments.minutes * 60:
                steps.append((moment, kind, device))
                moment += every
    steps.sort()

    async def step(moment, kind, device):
        await asyncio.sleep(max(0, begin + moment - time.monotonic()))
        user, start = device % users, time.monotonic()
        try:
            if kind == "write":
                await service.post(user, "records/modify", saves(f"device-{device}", 0, 1))
            else:
                zone = {"zoneID": {"zoneName": "z"}}
                if device in tokens:
                    zone["syncToken"] = tokens[device]
                reply = await service.post(user, "changes/zone", json.dumps({"zones": [zone]}))
                tokens[device] = reply["zones"][0]["syncToken"]
            times.append(time.monotonic() - start)
        except (OSError, KeyError, ValueError) as error:
            failures.append(str(error))

    used = hub.seconds(), database.seconds()
    tasks, position, minute = set(), 0, 0
    while position < len(steps):
        now = time.monotonic() - begin
        while position < len(steps) and steps[position][0] < now + 2:
            task = asyncio.create_task(step(*steps[position]))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            position += 1
        await asyncio.sleep(0.5)
        if now // 60 > minute:
            minute = int(now // 60)
            print(f"minute {minute}: {len(times)} requests, {len(failures)} failed, hub "
                  f"{(hub.seconds() - used[0]) / now:.2f} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    await asyncio.gather(*tasks)
    seconds = time.monotonic() - begin
    times.sort()
    for failure in failures[:3]:
        print(failure, file=sys.stderr)
    return {
        "requests": len(times), "failed": len(failures), "p50Milliseconds": round(times[len(times) // 2] * 1e3, 1),
        "p99Milliseconds": round(times[len(times) * 99 // 100] * 1e3, 1),
        "hubCores": round((hub.seconds() - used[0]) / seconds, 3),
        "databaseCores": round((database.seconds() - used[1]) / seconds, 3)}


async def until(hub, count):
    """Returns how many devices wait, as soon as nearly so many do: some may have been told to ask later."""
    for _ in range(300):
        if hub.waiting() >= count * 49 // 50:
            return hub.waiting()
        await asyncio.sleep(0.1)
    raise OSError(f"Of {count} devices {hub.waiting()} wait. Give fewer (--waiting), so that all begin in 50 seconds.")


async def wait(couriers, hub, afterReply):
    """The bytes that a device takes while it waits at a long poll.

    afterReply: whether its connection had the reply to another request before."""
    polls, before = [], 0
    for number, courier in enumerate(couriers):
        if number == FIRST_DEVICES:
            await until(hub, number)
            before = resident_bytes(hub.process.pid)
        # An address has as many ports as there are, and a hub limits what comes from one.
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", hub.port, local_addr=(f"127.0.1.{1 + number % 200}", 0))
        if afterReply:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(3)
        writer.write(f"GET {courier} HTTP/1.1\r\nHost: hub\r\n\r\n".encode())
        polls.append(writer)
        if number % 200 == 0:
            await asyncio.sleep(0.05)
    waiting = await until(hub, len(couriers))
    each = (resident_bytes(hub.process.pid) - before) / (waiting - FIRST_DEVICES)
    for writer in polls:
        writer.close()
    return round(each)


async def measure_waiting(service, arguments, start):
    """What devices take that wait, each way at a hub of its own."""
    made = await limited([service.post(number % arguments.users, "tokens/create",
                                       '{"apnsEnvironment":"development"}')
                          for number in range(arguments.waiting)], 16)
    urls = [urllib.parse.urlparse(token["webcourierURL"]) for token in made]
    couriers = [url.path + ("?" + url.query if url.query else "") for url in urls]
    found = {}
    for name, afterReply in (("bytesPerWaiting", False), ("bytesPerWaitingAfterReply", True)):
        hub = start()
        found[name] = await wait(couriers, hub, afterReply)
        hub.stop()
    return found


async def run(arguments):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    scale.USERS = arguments.users
    database = Database()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        storage = ["--storage", database.address]
        subprocess.run([arguments.program, "hub", "migrate"] + storage, check=True)
        options = storage + ["--limit", "connections=6000"]
        hub = Hub(arguments.program, folder, options)
        service = Service(hub)
        print(f"{arguments.users} users are there", flush=True)
        await limited([service.post(user, "zones/modify", zones()) for user in range(arguments.users)], 16)
        await limited([service.post(user, "records/modify", saves("first", 0, 5))
                       for user in range(arguments.users)], 16)
        print("their zones and records are there", flush=True)
        found = await live(service, arguments, hub, database)
        found["hubBytes"] = resident_bytes(hub.process.pid)
        print(json.dumps(found), flush=True)
        scale.USERS = 1
        found |= await measure_waiting(
            service, arguments, lambda: Hub(arguments.program, folder, options))
        hub.stop()
    database.stop()
    print(json.dumps(found))
    is_good = (found["p99Milliseconds"] < 1_000 and found["hubCores"] < 1 and found["failed"] == 0
               and found["bytesPerWaiting"] < 16_384)
    sys.exit(0 if is_good else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--waiting", type=int, default=4_000)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
