#!/usr/bin/env python3
"""Kills a hub and its devices, and puts the hub's data back to what they were before, without a word to anybody.

    rollback.py --backstitch PROGRAM [--rounds N] [--devices N] [--seed N] [--postgresql] [--json]

Devices are stores of `backstitch import` and `backstitch sync`. In each round they save records, some their own and some
that all of them save, and send them, all at once. Meanwhile a device or the hub is killed (SIGKILL); in every second round the
hub then begins with a copy of its data from an earlier round, as from an image of its disk. A copy is made while the hub is stopped
(SIGSTOP), so that it has all that was written until then, and half of something.

Every tenth round, and at the end, the devices synchronise until none has anything left to send. Then each record has to be on each
device, with the value that its owner saved last; records of all devices have one value, which somebody saved. At the end
`hub verify` and `verify` find nothing wrong with hub and stores, and a new device gets all of it.

With --postgresql the records are in a database of a server of its own; copies are databases, and files a folder. Copies are then
made of a hub that was killed. Rounds go by a seed, but where a kill meets a program goes by the machine.

The last line is JSON. Exit codes: 0 nothing was lost, 1 something was.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
COPIES = 3
SHARED = 8
OWN = 40
PATIENCE = 120


def fail(message):
    sys.exit(f"rollback.py: {message}")


def check(condition, message):
    if not condition:
        fail(message)


def command(*words, may_fail=False):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    check(may_fail or done.returncode == 0, f"{' '.join(words[1:4])} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class FolderData:
    """The data of a hub in a folder."""

    def __init__(self, work):
        self.work, self.place = work, ["--data", f"{work}/hub"]

    def prepare(self, program):
        pass

    def copy(self, hub, number):
        hub.process.send_signal(signal.SIGSTOP)
        shutil.copytree(f"{self.work}/hub", f"{self.work}/copy-{number}", symlinks=True)
        hub.process.send_signal(signal.SIGCONT)

    def put_back(self, number):
        shutil.rmtree(f"{self.work}/hub")
        shutil.copytree(f"{self.work}/copy-{number}", f"{self.work}/hub", symlinks=True)

    def forget(self, number):
        shutil.rmtree(f"{self.work}/copy-{number}")

    def close(self):
        pass


class PostgreSQLData(FolderData):
    """The data of a hub in a database, and its files in a folder."""

    def __init__(self, work):
        super().__init__(work)
        sys.path.insert(0, f"{ROOT}/Benchmarks/hub")
        import scale

        self.server = scale.Database()
        self.server.query("CREATE DATABASE hub")
        self.place += ["--storage", self.server.address.replace("dbname=postgres", "dbname=hub")]
        os.mkdir(f"{work}/hub", 0o700)

    def prepare(self, program):
        command(program, "hub", "migrate", *self.place)

    def copy(self, hub, number):
        hub.kill()
        self.make("copy_%d" % number, "hub")
        shutil.copytree(f"{self.work}/hub", f"{self.work}/copy-{number}", symlinks=True)
        hub.start()

    def put_back(self, number):
        self.server.query("DROP DATABASE hub WITH (FORCE)")
        self.make("hub", "copy_%d" % number)
        super().put_back(number)

    def make(self, name, template):
        # The server notices only after a while that a client was killed.
        self.server.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{template}'")
        for _ in range(100):
            if self.server.query(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{template}'") == "0":
                break
            time.sleep(0.1)
        self.server.query(f"CREATE DATABASE {name} TEMPLATE {template}")

    def forget(self, number):
        self.server.query("DROP DATABASE copy_%d" % number)
        super().forget(number)

    def close(self):
        self.server.stop()


class Hub:
    def __init__(self, program, data, work):
        self.program, self.data, self.log = program, data, open(f"{work}/log", "w+")
        self.process = None
        data.prepare(program)
        self.told = self.begin("--dev", "--user", "Ada")
        with open(f"{work}/web-token", "w") as file:
            file.write(self.told["users"][0]["webAuthToken"])

    def begin(self, *words):
        self.process = subprocess.Popen(
            [self.program, "hub", "--listen", "127.0.0.1:0", "--json", *words, *self.data.place],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            fail(f"the hub did not start: {self.log.read()[-4_000:]}")
        return json.loads(line)

    def start(self):
        self.told["url"] = self.begin()["url"]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Device:
    """A store, and what it saved last of its own records."""

    def __init__(self, name, program, work, hub):
        self.name, self.program, self.work, self.hub = name, program, work, hub
        self.store = f"{work}/{name}"
        self.own, self.saved = {}, 0
        self.schema = open(f"{work}/schema.jsonl").read()
        command(program, "import", self.store, f"{work}/schema.jsonl", "--create")

    def import_words(self, records):
        """Writes records to a file, and says how it is imported."""
        path = f"{self.work}/{self.name}.jsonl"
        with open(path, "w") as file:
            file.write(self.schema)
            for name, value in records.items():
                values = {"name": {"string": value}}
                file.write(json.dumps({"entity": "Folder", "record": name, "values": values}) + "\n")
        return [self.program, "import", self.store, path]

    def sync_words(self):
        told = self.hub.told
        return [
            self.program, "sync", self.store, "--url", told["url"], "--api-token", told["apiToken"],
            "--web-token-file", f"{self.work}/web-token", "--zone", "Notes", "--json",
        ]

    def records(self):
        lines = [json.loads(line) for line in command(self.program, "export", self.store).splitlines()]
        return {line["record"]: line["values"]["name"]["string"] for line in lines if line.get("entity") == "Folder" and "record" in line}

    def pending(self, output):
        for line in reversed(output.splitlines()):
            if line.startswith("{") and '"pending":' in line:
                return json.loads(line)["pending"]
        return None


def run(words):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Trial:
    def __init__(self, arguments, work):
        self.chance, self.work = random.Random(arguments.seed), work
        self.program = os.path.abspath(arguments.backstitch)
        self.make_schema()
        self.data = (PostgreSQLData if arguments.postgresql else FolderData)(work)
        self.copies, self.copied = [], 0
        self.values = set()
        self.counts = dict.fromkeys(["hubKills", "rollbacks", "deviceKills", "syncs", "failedSyncs", "saved"], 0)
        self.hub = None

    def make_schema(self):
        past, lines = f"{self.work}/past", f"{self.work}/records.jsonl"
        shutil.copytree(f"{ROOT}/Tests/Fixtures/format-1/store", past)
        command(self.program, "rebuild", past)
        command(self.program, "export", past, "--with-schema", "--output", lines)
        with open(lines) as file, open(f"{self.work}/schema.jsonl", "w") as schema:
            schema.write(file.readline())

    def begin(self, count):
        self.hub = Hub(self.program, self.data, self.work)
        self.devices = [Device(f"device{number}", self.program, self.work, self.hub) for number in range(count)]
        self.converge("at the beginning")
        self.take_copy()

    def take_copy(self):
        self.data.copy(self.hub, self.copied)
        self.copies.append(self.copied)
        self.copied += 1
        if len(self.copies) > COPIES:
            self.data.forget(self.copies.pop(0))

    def round(self, number):
        for device in self.devices:
            if self.chance.random() < 0.8:
                self.save(device)
        if self.chance.random() < 0.3:
            self.take_copy()
        syncs = [(device, run(device.sync_words())) for device in self.devices if self.chance.random() < 0.8]
        kills_hub_midway, kills_device = self.chance.random() < 0.6, self.chance.random() < 0.4
        time.sleep(self.chance.uniform(0, 1.5) ** 2)
        if kills_device and syncs:
            self.chance.choice(syncs)[1].kill()
        if kills_hub_midway:
            self.hub.kill()
        for device, sync in syncs:
            output = sync.communicate(timeout=PATIENCE)[0]
            self.counts["syncs"] += 1
            if sync.returncode == -signal.SIGKILL:
                self.counts["deviceKills"] += 1
            elif sync.returncode != 0:
                self.counts["failedSyncs"] += 1
                check(kills_hub_midway, f"{device.name} did not sync, though the hub served: {output}")
        if not kills_hub_midway:
            self.hub.kill()
        self.counts["hubKills"] += 1
        if number % 2 == 1:
            self.data.put_back(self.chance.choice(self.copies))
            self.counts["rollbacks"] += 1
        self.hub.start()

    def save(self, device):
        """Saves some records; a program that is killed meanwhile saved all of them or none."""
        records = {}
        for _ in range(self.chance.randint(1, 6)):
            device.saved += 1
            value = f"{device.name} {device.saved}"
            self.values.add(value)
            if self.chance.random() < 0.3:
                records[f"shared-{self.chance.randrange(SHARED)}"] = value
            else:
                records[f"{device.name}-{self.chance.randrange(OWN)}"] = value
        self.counts["saved"] += len(records)
        own = {name: value for name, value in records.items() if not name.startswith("shared")}
        done = run(device.import_words(records))
        if self.chance.random() < 0.15:
            time.sleep(self.chance.uniform(0, 0.3))
            done.kill()
        output = done.communicate(timeout=PATIENCE)[0]
        if done.returncode == 0:
            device.own |= own
            return
        check(done.returncode == -signal.SIGKILL, f"{device.name} did not save: {output}")
        self.counts["deviceKills"] += 1
        there = device.records()
        for name, value in own.items():
            now = there.get(name)
            check(now in (value, device.own.get(name)), f"{device.name}: '{name}' is '{now}' after a kill, and not '{value}'")
            if now is not None:
                device.own[name] = now

    def converge(self, when, extra=()):
        """Synchronises until nothing is left to send, and compares."""
        everybody = [*self.devices, *extra]
        for _ in range(12):
            left = 0
            for device in everybody:
                for attempt in range(5):
                    done = subprocess.run(device.sync_words(), capture_output=True, text=True, timeout=PATIENCE)
                    if done.returncode == 0:
                        break
                    time.sleep(0.2)
                check(done.returncode == 0, f"{when}: {device.name} does not sync: {done.stdout}{done.stderr}")
                self.counts["syncs"] += 1
                left += device.pending(done.stdout) or 0
            contents = [device.records() for device in everybody]
            if left == 0 and all(records == contents[0] for records in contents):
                break
        check(left == 0, f"{when}: {left} records are still to be sent")
        for device, records in zip(everybody, contents):
            differing = sorted(set(contents[0].items()) ^ set(records.items()))
            check(not differing, f"{when}: {device.name} and {everybody[0].name} differ: {differing[:10]}")
        for owner in self.devices:
            for name, value in owner.own.items():
                now = contents[0].get(name)
                if now != value:
                    fail(f"{when}: '{name}' was saved as '{value}' by {owner.name}, and is '{now}'{self.account(name)}")
        strange = {value for value in contents[0].values() if value not in self.values}
        check(not strange, f"{when}: nobody saved {sorted(strange)[:5]}")
        return len(contents[0])

    def account(self, name):
        """Tells each device's history of a record, and its conflicts, newest first."""
        lines = []
        for device in self.devices:
            lines.append(f"\n{device.name}:")
            lines.append(command(self.program, "history", device.store, "Folder", name, may_fail=True))
            lines.append(command(self.program, "conflicts", device.store, "--record", name, may_fail=True))
        return "\n".join(lines)

    def end(self):
        fresh = Device("fresh", self.program, self.work, self.hub)
        count = self.converge("at the end", [fresh])
        self.hub.process.terminate()
        code = self.hub.process.wait(PATIENCE)
        check(code == 0, f"the hub ended with {code}")
        command(self.program, "hub", "verify", *self.data.place)
        for device in [*self.devices, fresh]:
            command(self.program, "verify", device.store)
        return count

    def close(self):
        if self.hub and self.hub.process.poll() is None:
            self.hub.process.kill()
            self.hub.process.wait()
        self.data.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--rounds", type=int, default=6, help="each has a kill of the hub, every second one a rollback")
    parser.add_argument("--devices", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--json", action="store_true", help="no line for each ten rounds")
    arguments = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        trial = Trial(arguments, work)
        try:
            trial.begin(arguments.devices)
            for number in range(arguments.rounds):
                trial.round(number)
                if number % 10 == 9:
                    count = trial.converge(f"after round {number + 1}")
                    if not arguments.json:
                        print(f"round {number + 1}: {count} records, {trial.counts}", flush=True)
            count = trial.end()
        except SystemExit:
            print(f"rollback.py: the seed was {arguments.seed}", file=sys.stderr)
            raise
        finally:
            trial.close()
    print(json.dumps({
        "storage": "postgresql" if arguments.postgresql else "folder", "seed": arguments.seed, "rounds": arguments.rounds,
        "devices": arguments.devices, "records": count, **trial.counts, "lost": 0, "seconds": round(time.monotonic() - start),
    }))


if __name__ == "__main__":
    main()
