"""Sends files through a hub, from disk to disk, and measures time and memory of both sides.

    python3 Benchmarks/hub/files.py PROGRAM [--files 1000] [--largest BYTES] [--folder DIR]
    python3 Benchmarks/hub/files.py PROGRAM --curl BYTES [--rounds 5]

PROGRAM is a release build of backstitch. Without --curl it makes files of 1 KiB and more, of which the largest
has 1 GiB unless --largest says otherwise: nine in ten have 1 MiB at most, as in a home folder. They are imported
into a store, uploaded, and downloaded to another store. Told are the seconds of each step, and the most anonymous
memory (RssAnon) that the client and the hub had, asked for every 20 ms; more than 64 MiB is a failure.

With --curl one file goes to the same hub by 'curl -X POST -T' and by the client, in turns; told is the median of
the ratios of a round, of which less than 0.7 is a failure. The client's time is that of the whole command. Nothing
waits for the disk when a time begins.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

MEMORY_MAX = 64 << 20
RATIO_MIN = 0.7
SCHEMA = {
    "schema": {
        "entities": [
            {
                "attributes": [
                    {
                        "field": {"rawValue": 1},
                        "isDeclared": True,
                        "name": "file",
                        "schema": {
                            "hasDefault": False,
                            "isIndexed": False,
                            "isLossless": False,
                            "isOptional": False,
                            "name": "file",
                            "type": 16,
                        },
                    }
                ],
                "isDeclared": True,
                "name": "Document",
                "number": {"rawValue": 1},
            }
        ]
    }
}


def anonymous_bytes(process):
    try:
        with open(f"/proc/{process}/status") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


class Watch:
    """The most anonymous memory of some processes."""

    def __init__(self, *processes):
        self.most = {process: 0 for process in processes}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended.wait(0.02):
            for process in self.most:
                self.most[process] = max(self.most[process], anonymous_bytes(process))

    def end(self):
        self.ended.set()
        self.thread.join()
        return list(self.most.values())


class Hub:
    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "hub", "--dev", "--user", "Ada", "--listen", "127.0.0.1:0", "--data", folder],
            stdout=subprocess.PIPE,
        )
        self.document = json.loads(self.process.stdout.readline())

    def call(self, path, body):
        document = self.document
        url = (
            f"{document['url']}/database/1/{document['container']}/{document['environment']}"
            f"/private/{path}?ckAPIToken={document['apiToken']}"
            f"&ckWebAuthToken={urllib.parse.quote(document['users'][0]['webAuthToken'], safe='')}"
        )
        request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run(hub, program, arguments):
    """Runs the program; its seconds, and the most memory of it and of the hub."""
    environment = dict(os.environ)
    environment["BACKSTITCH_API_TOKEN"] = hub.document["apiToken"]
    environment["BACKSTITCH_WEB_AUTH_TOKEN"] = hub.document["users"][0]["webAuthToken"]
    start = time.monotonic()
    process = subprocess.Popen(
        [program] + arguments, stdout=subprocess.DEVNULL, env=environment
    )
    watch = Watch(process.pid, hub.process.pid)
    code = process.wait()
    seconds = time.monotonic() - start
    client, server = watch.end()
    if code != 0:
        sys.exit(f"files.py: '{arguments[0]}' ended with {code}.")
    return seconds, client, server


def write_file(folder, size, generator):
    """Writes a file of random bytes, named by its hash."""
    digest = hashlib.sha256()
    path = os.path.join(folder, "new")
    with open(path, "wb") as file:
        left = size
        while left > 0:
            part = generator.randbytes(min(left, 1 << 20))
            digest.update(part)
            file.write(part)
            left -= len(part)
    os.rename(path, os.path.join(folder, digest.hexdigest()))
    return digest.hexdigest()


def lines(path, files):
    with open(path, "w") as output:
        output.write(json.dumps(SCHEMA) + "\n")
        for number, (content, size) in enumerate(files):
            asset = {"asset": {"byteCount": size, "content": content}}
            record = {"entity": "Document", "record": f"d{number}", "values": {"file": asset}}
            output.write(json.dumps(record) + "\n")


def sizes(count, largest, generator):
    result = [largest]
    while len(result) < count:
        if generator.random() < 0.9:
            result.append(int(1024 * 2 ** generator.uniform(0, 10)))
        else:
            result.append(int((1 << 20) * 2 ** generator.uniform(0, 5)))
    return [min(size, largest) for size in result]


def store(hub, program, folder, name, files, contents):
    path = os.path.join(folder, name)
    lines(path + ".lines", files)
    more = ["--files", contents] if contents else []
    return run(hub, program, ["import", path, path + ".lines", "--create", *more]), path


def sync(hub, program, path, *more):
    return run(
        hub, program, ["sync", path, "--zone", "Files", "--url", hub.document["url"], *more]
    )


def through_hub(program, folder, arguments):
    generator = random.Random(24)
    contents = os.path.join(folder, "contents")
    os.mkdir(contents)
    files = [
        (write_file(contents, size, generator), size)
        for size in sizes(arguments.files, arguments.largest, generator)
    ]
    hub = Hub(program, os.path.join(folder, "hub"))
    try:
        result = {"files": len(files), "bytes": sum(size for _, size in files)}
        (seconds, client, server), path = store(hub, program, folder, "a", files, contents)
        steps = {"import": (seconds, client, server)}
        steps["upload"] = sync(hub, program, path)
        # The other device has the same schema and no records.
        (_, _, _), other = store(hub, program, folder, "b", [], None)
        steps["download"] = sync(hub, program, other, "--files")
    finally:
        hub.stop()
    for step, (seconds, client, server) in steps.items():
        result[step] = {
            "seconds": round(seconds, 2),
            "clientAnonymousBytes": client,
            "hubAnonymousBytes": server,
        }
    found = set()
    for name, _, entries in os.walk(os.path.join(folder, "b", "blobs")):
        for entry in entries:
            with open(os.path.join(name, entry), "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest == entry:
                found.add(entry)
    result["arrived"] = len(found)
    most = max(max(client, server) for _, client, server in steps.values())
    result["anonymousBytesMax"] = most
    result["passed"] = found == {content for content, _ in files} and most <= MEMORY_MAX
    return result


def against_curl(program, folder, arguments):
    generator = random.Random(7)
    contents = os.path.join(folder, "contents")
    os.mkdir(contents)
    content = write_file(contents, arguments.curl, generator)
    hub = Hub(program, os.path.join(folder, "hub"))
    curl, client = [], []
    try:
        zone = {"zoneName": "Files"}
        hub.call("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": zone}}]})
        for number in range(arguments.rounds):
            place = {"recordName": f"c{number}", "recordType": "Document", "fieldName": "file"}
            reply = hub.call("assets/upload", {"zoneID": zone, "tokens": [place]})
            url = reply["tokens"][0]["url"]
            os.sync()
            start = time.monotonic()
            subprocess.run(
                ["curl", "-sS", "-f", "-X", "POST", "-H", "Expect:", "-T", os.path.join(contents, content), url],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            curl.append(time.monotonic() - start)
            _, path = store(
                hub, program, folder, f"s{number}", [(content, arguments.curl)], contents
            )
            os.sync()
            client.append(sync(hub, program, path)[0])
            # Each record is another one, so that the file is sent again.
            shutil.rmtree(path)
            reply = hub.call(
                "records/modify",
                {"zoneID": zone, "operations": [
                    {"operationType": "forceDelete", "record": {"recordName": "d0"}}]},
            )
    finally:
        hub.stop()
    ratio = statistics.median(one / other for one, other in zip(curl, client))
    return {
        "bytes": arguments.curl,
        "curlSeconds": [round(seconds, 2) for seconds in curl],
        "clientSeconds": [round(seconds, 2) for seconds in client],
        "ratio": round(ratio, 3),
        "passed": ratio >= RATIO_MIN,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--largest", type=int, default=1 << 30)
    parser.add_argument("--curl", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        if arguments.curl:
            result = against_curl(arguments.program, folder, arguments)
        else:
            result = through_hub(arguments.program, folder, arguments)
    print(json.dumps(result))
    sys.exit(0 if result["passed"] else 1)


main()
