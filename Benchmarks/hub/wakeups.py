#!/usr/bin/env python3
"""Measures how soon a hub hears of what another one did that shares its PostgreSQL database.

Starts a server and two hubs over it, as scale.py does, and measures from the end of what one hub did:

- until a device that waits at the other hub is told of a record that was saved;
- until the other hub refuses a credential that was taken back, while notifications arrive;
- the same if the notification was lost: the rows are taken away by SQL, which notifies nobody.

    wakeups.py --program PROGRAM [--rounds N]

Exit codes: 0 all was told within 200 ms, 1 s and 6 s; 1 something took longer.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from scale import Client, Database, Hub, saves, zones

BOUNDS = {"told of a record": 0.2, "revoked, notified": 1.0, "revoked, notification lost": 6.0}


def status(client, call="users/current"):
    client.http.request("POST", f"{client.root}/{call}{client.query}", "{}")
    reply = client.http.getresponse()
    reply.read()
    return reply.status


def seconds_until(is_true, pause=0.005):
    begin = time.monotonic()
    while not is_true():
        if time.monotonic() > begin + 30:
            return 30.0
        time.sleep(pause)
    return time.monotonic() - begin


def ask(client, path, body):
    client.http.request("POST", path + client.query, json.dumps(body))
    reply = client.http.getresponse()
    return json.loads(reply.read())


def told(writer, listener, rounds):
    """Seconds from the reply to a write until a long poll at the other hub is answered."""
    listener.post("subscriptions/modify", json.dumps({"operations": [{
        "operationType": "create", "subscription": {
            "subscriptionID": "s", "subscriptionType": "zone", "zoneID": {"zoneName": "z"}}}]}))
    parts = listener.root.split("/")
    token = ask(listener, "/".join(["/device"] + parts[2:5] + ["tokens/create"]),
                {"apnsEnvironment": "development"})
    courier = urllib.parse.urlparse(token["webcourierURL"])
    poll = http.client.HTTPConnection(courier.hostname, courier.port, timeout=90)
    found = []
    for number in range(rounds):
        answered = []

        def wait():
            poll.request("GET", courier.path + ("?" + courier.query if courier.query else ""))
            body = poll.getresponse().read()
            answered.append((time.monotonic(), body))

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.15)
        writer.post("records/modify", saves("wake", number, 1))
        begin = time.monotonic()
        thread.join()
        if number and answered[0][1]:
            found.append(max(0.0, answered[0][0] - begin))
    return found


def remembered(hub, user):
    """A client whose credentials a hub has at hand, so that it would not look at them for half a minute."""
    client = Client(hub, user)
    client.post("zones/modify", zones())
    seconds_until(lambda: status(client) == 200)
    return client


def revoked(program, database, hubs, users):
    """Seconds from the end of `hub revoke` at one hub's database until the other hub refuses."""
    found = []
    for user in users:
        client = remembered(hubs[1], user)
        subprocess.run(
            [program, "hub", "revoke", "--secret", "-", "--data", hubs[0].folder, "--storage", database.address],
            input=hubs[1].told["users"][user]["webAuthToken"].encode(), check=True, stdout=subprocess.DEVNULL)
        found.append(seconds_until(lambda: status(client) == 401))
    return found


def lost(database, hub, user, rounds):
    """As above where nobody is notified: the row goes by SQL."""
    client, found = remembered(hub, user), []
    web_tokens = "p = 0 AND get_byte(k, 0) = 5"
    for number in range(rounds):
        seconds_until(lambda: status(client) == 200)
        time.sleep(0.37 * (number % 14))
        database.query(f"CREATE TABLE kept AS SELECT * FROM backstitch_entries WHERE {web_tokens}; "
                       f"DELETE FROM backstitch_entries WHERE {web_tokens}; "
                       "UPDATE backstitch_partitions SET seq = seq + 1 WHERE p = 0")
        found.append(seconds_until(lambda: status(client) == 401))
        database.query("INSERT INTO backstitch_entries SELECT * FROM kept; DROP TABLE kept; "
                       "UPDATE backstitch_partitions SET seq = seq + 1 WHERE p = 0")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rounds", type=int, default=50)
    arguments = parser.parse_args()
    database = Database()
    is_late = False
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        subprocess.run([arguments.program, "hub", "migrate", "--storage", database.address], check=True)
        hubs = [Hub(arguments.program, folder, ["--storage", database.address]) for _ in range(2)]
        for hub in hubs:
            hub.folder = folder
        Client(hubs[0], 0).post("zones/modify", zones())
        time.sleep(1)
        figures = {"told of a record": told(Client(hubs[0], 0), Client(hubs[1], 0), arguments.rounds)}
        figures["revoked, notified"] = revoked(
            arguments.program, database, hubs, range(1, min(60, arguments.rounds // 2)))
        figures["revoked, notification lost"] = lost(database, hubs[1], 62, max(4, arguments.rounds // 4))
        for what, times in figures.items():
            times.sort()
            median, most = times[len(times) // 2], times[-1]
            is_late = is_late or most > BOUNDS[what]
            print(f"{what}: {len(times)} times, median {median * 1e3:.0f} ms, most {most * 1e3:.0f} ms "
                  f"(bound {BOUNDS[what] * 1e3:.0f})", flush=True)
        for hub in hubs:
            hub.stop()
    database.stop()
    sys.exit(1 if is_late else 0)


if __name__ == "__main__":
    main()
