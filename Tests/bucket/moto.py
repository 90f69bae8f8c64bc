"""Keeps files of a hub in a bucket of moto, a stand-in for Amazon S3 that others wrote, from the upload to the end.

    .build/python/bin/python Tests/bucket/moto.py PROGRAM [--bytes N] [--kills N]
    .build/python/bin/python Tests/bucket/moto.py --run COMMAND...

PROGRAM is the built backstitch. `Tests/prepare.sh --bucket` installs moto. All is in a temporary folder, and on the
loopback. Files go up in one piece and in parts, come down as a whole and by range, are backed up, looked at and
restored, and go with their user; the bucket is away and comes back, and a hub is killed while files go up. The last
line is JSON.

With --run a command gets the address of a bucket, and behind a space the path of its credentials, as
TRANSFER_BUCKET. It ends as the command does, but fails if the bucket has no object then.
"""

import argparse
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import boto3
import botocore.config

KEY, SECRET = "AKIDEXAMPLE", "a/secret+that=nobody:knows"


def check(condition, message):
    if not condition:
        sys.exit(f"moto.py: {message}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Moto:
    """The stand-in, which is ended and begins anew at the same port; then it has forgotten all."""

    def __init__(self, log):
        self.port, self.log = free_port(), log
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        server = os.path.join(os.path.dirname(sys.executable), "moto_server")
        self.process = subprocess.Popen(
            [server, "-H", "127.0.0.1", "-p", str(self.port)], stdout=self.log, stderr=self.log
        )
        self.s3 = boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            config=botocore.config.Config(retries={"max_attempts": 0}),
        )
        for _ in range(600):
            check(self.process.poll() is None, "moto does not start")
            try:
                self.s3.create_bucket(Bucket="files")
                return
            except botocore.exceptions.EndpointConnectionError:
                time.sleep(0.1)
        sys.exit("moto.py: moto does not answer")

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def objects(self):
        # A page has 1,000, and 200 kills leave more.
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket="files")
        return {entry["Key"]: entry["Size"] for page in pages for entry in page.get("Contents", [])}

    def uploads(self):
        return self.s3.list_multipart_uploads(Bucket="files").get("Uploads", [])


def fetch(url, body=None, headers={}, timeout=120):
    request = urllib.request.Request(url, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Hub:
    def __init__(self, program, data, options, log):
        self.process = subprocess.Popen(
            [program, "hub", "--listen", "127.0.0.1:0", "--data", data, "--dev", "--user", "Ada",
             "--user", "Bob", *options],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )
        line = self.process.stdout.readline()
        check(line, "the hub does not start")
        self.said = json.loads(line)

    def call(self, path, request, user=0):
        token = urllib.request.quote(self.said["users"][user]["webAuthToken"], safe="")
        status, body = fetch(
            f"{self.said['url']}/database/1/{self.said['container']}/development/private/{path}"
            f"?ckAPIToken={self.said['apiToken']}&ckWebAuthToken={token}",
            json.dumps(request).encode(),
            {"Content-Type": "application/json"},
        )
        check(status == 200, f"{path} is answered {status}: {body[:200]}")
        return json.loads(body)

    def address(self, name):
        places = [{"recordName": name, "recordType": "Note", "fieldName": "file"}]
        return self.call("assets/upload", {"tokens": places})["tokens"][0]["url"]

    def save(self, name, fields={}, user=0):
        record = {"recordName": name, "recordType": "Note", "fields": fields}
        operation = {"operationType": "forceUpdate", "record": record}
        answer = self.call("records/modify", {"operations": [operation]}, user)["records"][0]
        check("serverErrorCode" not in answer, f"a record is not saved: {answer}")

    def upload(self, name, content):
        status, body = fetch(self.address(name), content, {"Content-Type": "application/octet-stream"})
        check(status == 200, f"an upload is answered {status}: {body[:200]}")
        self.save(name, {"file": {"value": json.loads(body)["singleFile"]}})

    def download_url(self, name):
        record = self.call("records/lookup", {"records": [{"recordName": name}]})["records"][0]
        return record["fields"]["file"]["value"]["downloadURL"].replace("${f}", "file")

    def stop(self):
        self.process.terminate()
        check(self.process.wait(60) == 0, "the hub does not end well")


def main():
    if sys.argv[1:2] == ["--run"]:
        return run_command(sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--bytes", type=int, default=40 << 20, help="of the largest file")
    parser.add_argument("--kills", type=int, default=5, help="of a hub while files go up")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        log = open(path("log"), "w+")
        moto = Moto(subprocess.DEVNULL)
        hub = None
        try:
            with open(path("key"), "w") as file:
                file.write(f"{KEY}\n{SECRET}\n")
            options = ["--bucket", f"{moto.url}/files/hub", "--bucket-key", path("key")]
            kept = kill(program, path("killed"), options, log, arguments.kills)
            for key in list(moto.objects()):
                moto.s3.delete_object(Bucket="files", Key=key)
            hub = Hub(program, path("hub"), options, log)
            run(program, path, moto, hub, options, arguments.bytes, kept)
            hub.stop()
            hub = None
            log.seek(0)
            check(SECRET not in log.read(), "the secret is in the log")
        finally:
            if hub:
                hub.process.kill()
                log.seek(0)
                sys.stderr.write(log.read()[-4_000:])
            moto.stop()
            log.close()


def run_command(command):
    """Runs a command that is told of a bucket."""
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "key")
        with open(key, "w") as file:
            file.write(f"{KEY}\n{SECRET}\n")
        moto = Moto(subprocess.DEVNULL)
        try:
            environment = dict(os.environ, TRANSFER_BUCKET=f"{moto.url}/files/hub {key}")
            code = subprocess.run(command, env=environment).returncode
            check(code == 0, f"the command ended with {code}")
            check(moto.objects(), "the bucket is empty")
            check(not moto.uploads(), "an upload in parts is left")
        finally:
            moto.stop()


def kill(program, data, options, log, kills):
    """Kills a hub while four clients upload: each file whose record was saved is there afterwards."""
    saved, seed, problems = {}, random.Random(2), []

    def client(hub, number, turn):
        for count in range(1_000):
            name = f"k{turn}-{number}-{count}"
            content = random.Random(name).randbytes(1_000 if count % 2 else 300_000)
            try:
                hub.upload(name, content)
            except (OSError, http.client.HTTPException):
                return
            except SystemExit as exit:
                return problems.append(str(exit))
            saved[name] = content

    for turn in range(kills):
        hub = Hub(program, data, options, log)
        threads = [threading.Thread(target=client, args=(hub, n, turn)) for n in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(seed.uniform(0.05, 0.6))
        hub.process.kill()
        hub.process.wait()
        for thread in threads:
            thread.join()
    check(not problems, f"an upload failed otherwise than by a kill: {problems[:1]}")
    if kills == 0:
        return 0
    hub = Hub(program, data, options, log)
    for name, content in saved.items():
        status, body = fetch(hub.download_url(name))
        check(status == 200 and body == content, f"a file that was saved is not there: {name}")
    hub.stop()
    done = subprocess.run(
        [program, "hub", "verify", "--data", data, *options], capture_output=True, text=True
    )
    check(done.returncode == 0, f"after kills: {done.stdout}")
    return len(saved)


def content(seed, size):
    parts = [seed.randbytes(min(1 << 20, size - start)) for start in range(0, size, 1 << 20)]
    return b"".join(parts)


def run(program, path, moto, hub, options, bytes_max, kept):
    seed = random.Random(1)
    files = {f"r{size}": content(seed, size) for size in [0, 1, 70_000, 2_500_000, bytes_max]}
    started = time.monotonic()
    for name, whole in files.items():
        hub.upload(name, whole)
    uploading = time.monotonic() - started
    check(sorted(moto.objects().values()) == sorted(map(len, files.values())), "objects differ")
    check(not moto.uploads(), "an upload in parts is left")
    mismatches = 0
    for name, whole in files.items():
        url = hub.download_url(name)
        status, body = fetch(url)
        mismatches += status != 200 or body != whole
        if len(whole) > 10:
            first, last = len(whole) // 3, len(whole) - 2
            status, body = fetch(url, headers={"Range": f"bytes={first}-{last}"})
            mismatches += status != 206 or body != whole[first : last + 1]
    check(mismatches == 0, f"{mismatches} downloads differ")

    def command(*words):
        done = subprocess.run(
            [program, "hub", *words, "--json"], capture_output=True, text=True, timeout=600
        )
        check(SECRET not in done.stdout + done.stderr, "the secret is told")
        return done.returncode, json.loads(done.stdout.splitlines()[-1]) if done.stdout else done.stderr

    for action in ["doctor", "verify"]:
        code, said = command(action, "--data", path("hub"), *options)
        check(code == 0 and said["healthy"] and said["files"] == len(files), f"{action}: {said}")
    code, said = command("backup", "--data", path("hub"), "--backup", path("copy"), *options)
    check(code == 0 and said["files"] == len(files), f"backup: {said}")
    code, said = command("verify", "--backup", path("copy"))
    check(code == 0 and said["healthy"], f"verify of the backup: {said}")
    lost = next(key for key, size in moto.objects().items() if size == 70_000)
    kept_bytes = moto.s3.get_object(Bucket="files", Key=lost)["Body"].read()
    check(hashlib.sha256(kept_bytes).hexdigest() in lost, "an object is not named by its content")
    moto.s3.put_object(Bucket="files", Key=lost, Body=b"x" * 70_000)
    code, said = command("verify", "--data", path("hub"), *options)
    check(code == 1 and len(said["findings"]) == 1, f"a damaged object is not found: {said}")
    moto.s3.delete_object(Bucket="files", Key=lost)
    code, said = command("doctor", "--data", path("hub"), *options)
    check(code == 1 and len(said["findings"]) == 1, f"a missing object is not found: {said}")
    check(fetch(hub.download_url("r70000"))[0] == 404, "a missing object is served")
    # Whoever has the file heals it.
    hub.upload("again", files["r70000"])
    check(fetch(hub.download_url("r70000"))[1] == files["r70000"], "a file is not healed")

    # While the service stands still, records are saved: a save that waited for it would not return.
    url = hub.download_url("r70000")
    moto.pause()
    for number in range(20):
        hub.save(f"n{number}")
    moto.go_on()
    check(fetch(url)[1] == files["r70000"], "a file does not come after the bucket is back")
    moto.stop()
    check(fetch(url)[0] == 503, "a bucket that is gone is not told")
    hub.save("offline")
    moto.start()
    hub.upload("later", b"later")

    code, said = command("users", "remove", "--data", path("hub"), "--user", "Ada", *options)
    check(code == 0, f"users remove: {said}")
    for number in range(600):
        hub.save(f"b{number}", user=1)
        if not moto.objects():
            break
        time.sleep(0.05)
    check(not moto.objects(), "objects of a user who was removed stay")
    print(
        json.dumps(
            {
                "files": len(files),
                "bytes": sum(map(len, files.values())),
                "hashMismatches": mismatches,
                "objectsLeft": 0,
                "keptOverKills": kept,
                "uploadSeconds": round(uploading, 2),
            }
        )
    )


main()
