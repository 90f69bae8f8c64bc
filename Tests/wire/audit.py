#!/usr/bin/env python3
"""Gives a client replies that no service should give, and sees what it makes of them.

A server of this program stands in for the service and answers 'backstitch sync' with replies made by hand: records
that can't be stored or read beside good ones, feeds that do not move on, answers to pushes that name other records,
conflicts with what can't be stored, and bodies that are no replies. The tables below say what has to come of each:

- taken: everything is there, and the exit code is 0;
- noted, unread: the good records are there, the bad one is noted to be asked for again, and the exit code is 1;
- counted: as noted, but no record can have the name, so that the bad one is only counted;
- gone: the good records are there, the other one ended, and the exit code is 0;
- refused: the exit code is 2, and standard error says why.

After each the store has to be consistent, and no control character may reach standard error.

    audit.py --backstitch PROGRAM [--only NAME]... [--folder DIR] [--json]

PROGRAM is a release build of backstitch. Takes about a minute. Exit codes: 0 nothing was found, 1 something was.
"""

import argparse
import gzip
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 60
ZONE = {"zoneName": "Z", "ownerRecordName": "_u", "zoneType": "REGULAR_CUSTOM_ZONE"}
MEBIBYTE = 1 << 20


def text(value):
    return {"title": {"value": value, "type": "STRING"}}


def record(name="bad", fields=None, **parts):
    """A record as JSON. A part that is None is left out."""
    members = {
        "recordName": name, "recordType": "T", "fields": text("x") if fields is None else fields,
        "recordChangeTag": "1", "modified": {"timestamp": 5}, **parts,
    }
    return json.dumps({key: value for key, value in members.items() if value is not None})


def end(name="bad"):
    return json.dumps({"recordName": name, "deleted": True})


def page(records, token="1", more=False):
    return (
        '{"zones":[{"zoneID":%s,"syncToken":"%s","moreComing":%s,"records":[%s]}]}'
        % (json.dumps(ZONE), token, json.dumps(more), ",".join(records))
    ).encode()


def field(value, kind):
    return record(fields={"f": {"value": value, "type": kind}})


# A record between two good ones, and what has to come of it.
RECORDS = [
    ("a good record", "taken", record()),
    ("a field of an unknown type", "taken", field([1, {"a": None}], "NEW")),
    ("a field name of 255 bytes", "taken", record(fields={"n" * 255: {"value": 1, "type": "INT64"}})),
    ("an end", "gone", end()),
    ("a field name of 256 bytes", "noted", record(fields={"n" * 256: {"value": 1, "type": "INT64"}})),
    ("an empty field name", "noted", record(fields={"": {"value": 1, "type": "INT64"}})),
    ("a text of more than 1 MiB", "noted", record(fields=text("x" * (MEBIBYTE + 1)))),
    ("a name of a type of 70,000 bytes", "noted", field(1, "N" * 70_000)),
    ("a record type of 256 bytes", "noted", record(recordType="T" * 256)),
    ("an empty record type", "noted", record(recordType="")),
    ("no record type", "noted", record(recordType=None)),
    ("an empty change tag", "noted", record(recordChangeTag="")),
    ("a change tag of 256 bytes", "noted", record(recordChangeTag="1" * 256)),
    ("an empty record name", "counted", record("")),
    ("a record name of 256 bytes", "counted", record("n" * 256)),
    ("a record name of the service", "counted", record("_bad")),
    ("an unreadable record with a name of the service", "counted", record("_bad", [])),
    ("an integer of 65 bits", "unread", field(1 << 63, "INT64")),
    ("a number as a text", "unread", field(5, "STRING")),
    ("no place on earth", "unread", field({"latitude": 91, "longitude": 0}, "LOCATION")),
    ("a reference to nothing", "unread", field({}, "REFERENCE")),
    ("a file with a size that is none", "unread", field({"size": "x"}, "ASSETID")),
    ("a type that is no text", "unread", field(1, 7)),
    ("fields that are a list", "unread", record(fields=[])),
    ("a field that is a number", "unread", record(fields={"f": 1})),
    ("a record type that is no text", "unread", record(recordType=5)),
    ("a change tag that is no text", "unread", record(recordChangeTag=5)),
    ("a time that is none", "unread", record(modified={"timestamp": "x"})),
    ("deleted that is no flag", "unread", record(deleted=0)),
    ("no change tag", "unread", record(recordChangeTag=None)),
    ("no time", "unread", record(modified=None)),
    ("an error", "unread", '{"recordName":"bad","serverErrorCode":"INTERNAL_ERROR","reason":"r\\u001b[31m"}'),
    ("an error with odd parts", "unread",
     '{"recordName":"bad","serverErrorCode":"INTERNAL_ERROR","reason":[],"retryAfter":"x"}'),
    ("no record name", "refused", record(None)),
    ("a record name that is no text", "refused", record(5)),
    ("a record that is a number", "refused", "5"),
    ("an error without a record name", "refused", '{"serverErrorCode":"INTERNAL_ERROR","reason":"r"}'),
]

NEW_LIFE = record(fields=text("new"), recordChangeTag="2", modified={"timestamp": 9})
# Pages in turn, the last one for ever: what has to come of them, and the title of 'bad' at the end.
FEEDS = [
    ("an end and then a new life", "taken", "new", [page([record()], "1", True), page([end(), NEW_LIFE], "2")]),
    ("a change and then an end", "taken", None, [page([record()], "1", True), page([NEW_LIFE, end()], "2")]),
    ("an error and then the record", "taken", "x",
     [page(['{"recordName":"bad","serverErrorCode":"INTERNAL_ERROR"}', record()])]),
    ("a token that does not move", "stuck", "x", [page([record()], "1", True)]),
    ("two tokens in turn", "stuck", "x", [page([record()], "1", True), page([], "2", True)] * 50),
]

GOOD = page([record("a"), record("c")])
# Whole replies to a request for changes: status, headers, body, and what standard error has to say.
REPLIES = [
    ("a page of a proxy", 200, {}, b"<html>Sign in</html>", "can't be read"),
    ("nothing", 200, {}, b"", "'zones' is missing"),
    ("no list of zones", 200, {}, b"{}", "'zones' is missing"),
    ("a reply that is cut off", 200, {}, GOOD[:-30], "can't be read"),
    ("something behind the reply", 200, {}, GOOD + b"x", "can't be read"),
    ("bytes that are no text", 200, {}, GOOD.replace(b'"x"', b'"\xff"', 1), "can't be read"),
    ("objects inside one another", 200, {}, b'{"zones":' + b"[" * 100_000, "can't be read"),
    ("an error with the status of success", 200, {}, b'{"serverErrorCode":"INTERNAL_ERROR","reason":"is down"}',
     "is down"),
    ("a time to wait that is none", 429, {},
     b'{"serverErrorCode":"THROTTLED","reason":"slow down","retryAfter":"x"}', "slow down"),
    ("control characters in the reason", 400, {},
     b'{"serverErrorCode":"QUOTA_EXCEEDED","reason":"red \\u001b[31m\\u0007\\n\\u0000 end"}', "red "),
    ("a reason of 1 MB", 400, {}, b'{"serverErrorCode":"QUOTA_EXCEEDED","reason":"%s"}' % (b"r" * 1_000_000), "rrr"),
    ("a redirection", 302, {"Location": "http://127.0.0.1:1/"}, b"", "302"),
    ("more than 64 MiB", 200, {}, b" " * (65 * MEBIBYTE) + GOOD, "larger than 64 MiB"),
    ("more than 64 MiB, compressed", 200, {"Content-Encoding": "gzip"},
     gzip.compress(b" " * (65 * MEBIBYTE) + GOOD, 1), "larger than 64 MiB"),
]


def answered(*answers):
    return lambda names: [answer(name) for name, answer in zip(names, answers)]


def saved(name, **parts):
    return record(name, **{"recordChangeTag": "of-" + name, "modified": {"timestamp": 99}, **parts})


def conflict(version):
    answer = '{"recordName":"%s","serverErrorCode":"EXISTS","reason":"r","serverRecord":%s}'
    return lambda name: answer % (name, version(name))


def unstorable(fields):
    return lambda name: record(name, fields=fields, recordChangeTag="9", modified={"timestamp": 50})


# Answers to a push of the new records 'a' and 'b': what has to come of them, and what standard error has to say.
PUSHES = [
    ("the answers that are due", "taken", answered(saved, saved), ""),
    ("answers in another order", "refused", lambda names: [saved(name) for name in reversed(names)], "other records"),
    ("one name twice", "refused", lambda names: [saved(names[0])] * len(names), "other records"),
    ("other names", "refused", lambda names: [saved("q" + name) for name in names], "other records"),
    ("an answer too few", "refused", lambda names: [saved(name) for name in names[1:]], "does not answer each"),
    ("a change tag of 256 bytes", "refused",
     lambda names: [saved(name, recordChangeTag="1" * 256) for name in names], "no change tag of 1 to 255 bytes for the record 'a'"),
    ("deleted in place of saved", "refused", lambda names: [end(name) for name in names], "for the record 'a'"),
    ("a value that can't be read", "refused",
     lambda names: [saved(name, fields={"f": {"value": 5, "type": "STRING"}}) for name in names], "'a'"),
    ("a conflict that can't be read", "refused",
     answered(saved, conflict(unstorable({"f": {"value": 5, "type": "STRING"}}))), "'b'"),
    ("a conflict with an empty field name", "parked",
     answered(saved, conflict(unstorable({"": {"value": 1, "type": "INT64"}}))), "'b'"),
    ("a conflict with a long field name", "parked",
     answered(saved, conflict(unstorable({"n" * 256: {"value": 1, "type": "INT64"}}))), "'b'"),
    ("a conflict with a value of more than 1 MiB", "parked",
     answered(saved, conflict(unstorable(text("x" * (MEBIBYTE + 1))))), "'b'"),
]
PUSHES_MAX = 3


class Service:
    """What stands in for a service, for one run of the program."""

    def __init__(self, pages=(), whole=None, push=None):
        self.pages, self.whole, self.push = list(pages), whole, push
        self.pulls, self.pushes = 0, 0

    def answer(self, call, request):
        """A status, headers and a body."""
        if call == "changes/zone":
            return self.changes()
        if call == "records/modify":
            return 200, {}, self.pushed(request)
        return 200, {}, json.dumps(self.other(call, request)).encode()

    def changes(self):
        if self.whole:
            return self.whole
        number, self.pulls = self.pulls, self.pulls + 1
        if not self.pages:
            return 200, {}, page([], "end")
        return 200, {}, self.pages[min(number, len(self.pages) - 1)]

    def pushed(self, request):
        self.pushes += 1
        names = [operation["record"]["recordName"] for operation in request["operations"]]
        return b'{"records":[%s]}' % ",".join(self.push(names)).encode()

    def other(self, call, request):
        if call.startswith("users/"):
            return {"users": [{"userRecordName": "_u"}]}
        if call == "zones/modify":
            return {"zones": [{"zoneID": ZONE, "syncToken": "t", "atomic": True}]}
        if call == "subscriptions/modify":
            return {"subscriptions": [operation["subscription"] for operation in request["operations"]]}
        if call == "changes/database":
            return {"syncToken": "d", "moreComing": False, "zones": [{"zoneID": ZONE, "syncToken": "t"}]}
        if call == "records/lookup":
            return {"records": [
                {"recordName": one["recordName"], "serverErrorCode": "INTERNAL_ERROR", "reason": "r"}
                for one in request["records"]]}
        return {"serverErrorCode": "NOT_FOUND", "reason": call}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service = None

    def do_POST(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # /database/1/CONTAINER/ENVIRONMENT/DATABASE/CALL
        call = "/".join(self.path.split("?")[0].split("/")[6:])
        status, headers, body = Handler.service.answer(call, json.loads(sent or b"{}"))
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Audit:
    def __init__(self, program, folder, only):
        self.program, self.folder, self.only = os.path.abspath(program), folder, only
        self.results = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write("token")
        self.empty = self.path("empty")
        attribute = {
            "field": {"rawValue": 1}, "isDeclared": True, "name": "title",
            "schema": {"hasDefault": False, "isIndexed": False, "isLossless": False, "isOptional": True,
                       "name": "title", "type": 1},
        }
        entity = {"attributes": [attribute], "isDeclared": True, "name": "T", "number": {"rawValue": 1}}
        self.load(self.empty, [{"schema": {"entities": [entity]}}], "--create")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *words):
        try:
            done = subprocess.run([self.program, *words], capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return None, "", f"it did not end in {PATIENCE} s"
        return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")

    def load(self, store, lines, *options):
        with open(self.path("lines"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        code, _, complaint = self.start("import", store, self.path("lines"), *options)
        if code != 0:
            raise RuntimeError(f"The records can't be imported: {complaint}")

    def sync(self, name, service, local=()):
        """The exit code, the report, standard error, the titles by record, and what is wrong whatever the case is."""
        store = self.path("store")
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(self.empty, store)
        if local:
            self.load(store, [{"entity": "T", "record": one, "values": {"title": {"string": "mine"}}} for one in local])
        Handler.service = service
        code, output, complaint = self.start(
            "sync", store, "--url", f"http://127.0.0.1:{self.server.server_port}", "--container", "iCloud.audit",
            "--zone", "Z", "--api-token", "A", "--web-token-file", self.path("token"), "--json")
        report = json.loads(output.splitlines()[0]) if output else {}
        wrong = []
        if code not in (0, 1, 2):
            wrong.append(f"it ended by {code}")
        if re.search(r"[\x00-\x09\x0b-\x1f\x7f]", complaint) or len(complaint) > 4_000:
            wrong.append("standard error has control characters or is too long")
        if self.start("verify", store)[0] != 0:
            wrong.append("the store is not consistent")
        titles = {}
        for line in self.start("export", store)[1].splitlines():
            one = json.loads(line)
            if "record" in one:
                titles[one["record"]] = one["values"].get("title", {}).get("string")
        return code, report, complaint, titles, wrong

    def judge(self, name, outcome, expected, wrong):
        """Notes what differs of what is expected: pairs of what there is and what has to be, by their names."""
        code, report, complaint, titles, _ = outcome
        wrong = outcome[4] + wrong + [
            f"{key} is {found} and not {wanted}" for key, (found, wanted) in expected.items() if found != wanted]
        detail = "; ".join(wrong) or f"exit code {code}"
        if wrong:
            detail += f" (exit code {code}, {json.dumps(report)}, {sorted(titles)[:5]}: {complaint[:300].strip()})"
        self.results.append({"name": name, "found": bool(wrong), "detail": detail})
        if wrong:
            print(f"FINDING {name}: {detail}", flush=True)

    def cases(self, kind, table):
        for case in table:
            name = f"{kind}: {case[0]}"
            if not self.only or any(word in name for word in self.only):
                yield name, *case[1:]

    def records(self):
        for name, kind, item in self.cases("record", RECORDS):
            outcome = self.sync(name, Service([page([record("a"), item, record("c")])]))
            code, report, complaint, titles, _ = outcome
            rejected = int(kind in ("noted", "counted"))
            undelivered = int(kind in ("noted", "unread"))
            there = {"taken": ["a", "bad", "c"], "refused": []}.get(kind, ["a", "c"])
            expected = {
                "the exit code": (code, {"taken": 0, "gone": 0, "refused": 2}.get(kind, 1)),
                "what is there": (sorted(titles), there),
            }
            if kind != "refused":
                expected["rejected"] = (report.get("rejected"), rejected)
                expected["undelivered"] = (report.get("undelivered"), undelivered)
            names_it = "bad'" in complaint or "nnn" in complaint or "''" in complaint
            wrong = ["standard error does not name the record"] if rejected + undelivered and not names_it else []
            self.judge(name, outcome, expected, wrong)

    def feeds(self):
        for name, kind, title, pages in self.cases("feed", FEEDS):
            outcome = self.sync(name, Service(pages))
            code, report, _, titles, _ = outcome
            self.judge(name, outcome, {
                "the exit code": (code, int(kind == "stuck")),
                "moreComing": (report.get("moreComing"), kind == "stuck"),
                "the title": (titles.get("bad"), title),
            }, [])

    def replies(self):
        for name, status, headers, body, words in self.cases("reply", REPLIES):
            outcome = self.sync(name, Service(whole=(status, headers, body)))
            code, _, complaint, titles, _ = outcome
            self.judge(name, outcome, {
                "the exit code": (code, 2), "what is there": (titles, {}),
                f"'{words}' in standard error": (words in complaint, True),
            }, [])

    def pushes(self):
        for name, kind, push, words in self.cases("push", PUSHES):
            service = Service(push=push)
            outcome = self.sync(name, service, ["a", "b"])
            code, report, complaint, titles, _ = outcome
            expected = {
                "the exit code": (code, {"taken": 0, "parked": 1, "refused": 2}[kind]),
                "what is there": (sorted(titles), ["a", "b"]),
                f"'{words}' in standard error": (words in complaint, True),
            }
            if kind != "refused":
                expected["parked"] = (report.get("parked"), int(kind == "parked"))
            wrong = [f"it pushed {service.pushes} times"] if service.pushes > PUSHES_MAX else []
            self.judge(name, outcome, expected, wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--only", action="append")
    parser.add_argument("--folder")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        audit = Audit(wanted.backstitch, folder, wanted.only)
        audit.records()
        audit.feeds()
        audit.replies()
        audit.pushes()
    found = sum(result["found"] for result in audit.results)
    for result in audit.results:
        if wanted.json:
            print(json.dumps(result))
        elif not result["found"]:
            print(f"{result['name']}: {result['detail']}")
    print(f"{len(audit.results)} cases in {time.monotonic() - start:.0f} s, {found} findings", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
