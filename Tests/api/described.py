#!/usr/bin/env python3
"""Compares a hub with its own description, by requests that others' program makes of it.

    .build/python/bin/python Tests/api/described.py --backstitch PROGRAM [--examples N] [--seed N] [--only PATTERN] [--json]

`Tests/prepare.sh --api` installs Schemathesis. A hub with two users begins in a temporary folder. Schemathesis reads
`openapi.json`, makes requests that it allows and requests that it forbids, at the edges of each schema and by chance, and
checks the replies: no status of the 500s but those that are described, no reply that differs from its description, nothing refused that is
allowed, nothing taken that is forbidden, nothing slower than five seconds.

Complaints that are known to be wrong are those of KNOWN, each with its reason; they are counted. Any other one is
printed with a command that repeats it. At the end the hub has to be alive, to end well, and its folder to be sound.

Exit codes: 0 there is no other complaint, 1 there is one.
"""

import argparse
import collections
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile

import jsonschema_rs
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.engine import events, from_schema
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
DESCRIPTION = os.path.join(ROOT, "Sources/BackstitchHub/OpenAPI/openapi.json")
SLOW_SECONDS = 5


class Complaint:
    """What Schemathesis says of a reply."""

    def __init__(self, failure, case, response):
        self.failure, self.case, self.response = failure, case, response
        self.path, self.method = case.operation.path, case.method.upper()
        self.call = self.path.rsplit("{database}/", 1)[-1]
        self.status = response.status_code
        try:
            self.reply = json.loads(response.content)
        except ValueError:
            self.reply = None

    def has(self, kind):
        return isinstance(self.failure, kind)

    @property
    def code(self):
        return self.reply.get("serverErrorCode") if isinstance(self.reply, dict) else None

    @property
    def reason(self):
        return self.reply.get("reason", "") if isinstance(self.reply, dict) else ""

    @property
    def refused_items(self):
        """How many items of the reply are errors that stand in their places."""
        lists = self.reply.values() if isinstance(self.reply, dict) else []
        items = [item for value in lists if isinstance(value, list) for item in value]
        return sum(isinstance(item, dict) and "serverErrorCode" in item for item in items)

    @property
    def fits_without_nulls(self):
        """Whether the body is one that is described, once members that are null are left out."""
        body = self.case.operation.get_body_for_media_type(self.case.media_type or "application/json")
        if body is None or isinstance(self.case.body, (bytes, str)):
            return False
        validator = jsonschema_rs.Draft202012Validator(body.optimized_schema)
        return validator.is_valid(without_nulls(self.case.body))

    def body_has(self, fits):
        """Whether a value in the body is as asked for."""
        return any(map(fits, values(self.case.body)))

    @property
    def key(self):
        text = re.sub(r"[0-9A-Fa-f-]{8,}|`[^`]*`|'[^']*'|\d+", "…", f"{self.reason} {self.failure.message or ''}")
        return f"{type(self.failure).__name__} {self.method} {self.path} {self.status} {self.code or ''} {text[:300]}"

    def __str__(self):
        reply = self.response.content[:300].decode(errors="replace")
        return "\n".join([
            f"-- {self.failure.title}: {self.method} {self.path}, {self.status}",
            f"   {(self.failure.message or '').strip()}", f"   reply: {reply}",
            f"   {self.case.as_curl_command()[:2_000]}",
        ])


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(element) for element in value] if isinstance(value, list) else value


def values(value):
    """A value and all in it."""
    yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from values(part)


def is_large_numeral(value):
    """Whether a text spells a number that is none of 64 bits."""
    if not isinstance(value, str) or not re.fullmatch(r"[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?", value):
        return False
    if re.fullmatch(r"[-+]?[0-9]+", value):
        return not -(1 << 63) <= int(value) < 1 << 63
    return math.isinf(float(value))


def is_mixed_list(value):
    """Whether a list begins with a text, and has numbers too."""
    return isinstance(value, list) and value != [] and isinstance(value[0], str) and not all(isinstance(each, str) for each in value)


# The complaints that are wrong: a name, the reason, and what they are.
KNOWN = [
    (
        "refused-in-its-place",
        "A reply of status 200 has an error in the place of each item that is refused.",
        lambda it: it.has(AcceptedNegativeData) and it.status == 200 and it.refused_items > 0,
    ),
    (
        "null-is-absent",
        "A member that is null counts as absent, which a schema of each member could not say without being twice as long.",
        lambda it: it.has(AcceptedNegativeData) and it.fits_without_nulls,
    ),
    (
        "preflight-of-any-container",
        "A preflight is answered without a look at the container; here its parameter is narrowed to the one that is there.",
        lambda it: it.has(AcceptedNegativeData) and it.method == "OPTIONS"
        and it.case.path_parameters.get("environment") in ("development", "production")
        and it.case.path_parameters.get("database", "public") in ("public", "private", "shared"),
    ),
    (
        "public-database",
        "The parameter 'database' says in words that the public database has no feed and no other zones.",
        lambda it: it.has(RejectedPositiveData) and it.case.path_parameters.get("database") in ("public", "shared")
        and it.reason in ("The public database has no change feed. Query it.", "Zones can be made in private databases only."),
    ),
    (
        "default-zone",
        "ZoneFeedRequest says in words that the default zone, which is meant where none is named, has no feed.",
        lambda it: it.has(RejectedPositiveData) and it.reason == "cannot get changes in default zone",
    ),
    (
        "one-operation-a-record",
        "ModifyRecordsRequest says in words that no record comes twice; JSON Schema compares whole elements alone.",
        lambda it: it.has(RejectedPositiveData) and it.reason == "There is more than one operation for a record.",
    ),
    (
        "opaque",
        "Tokens and markers are what the hub gave before. Nothing else can be described of them.",
        lambda it: it.has(RejectedPositiveData)
        and it.reason in ("Invalid continuation format", "The continuationMarker is none of this hub."),
    ),
    (
        "large-numeral",
        "A pattern has no bound of 64 bits.",
        lambda it: it.has(RejectedPositiveData) and it.body_has(is_large_numeral),
    ),
    (
        "mixed-list",
        "That the first element of a list tells the type of all is said in words.",
        lambda it: it.has(RejectedPositiveData) and it.reason.startswith("Invalid value, expected type STRING")
        and it.body_has(is_mixed_list),
    ),
    (
        "base64",
        "A pattern that counts by fours would take too long for megabytes.",
        lambda it: it.has(RejectedPositiveData) and it.reason.startswith("Invalid value, expected type BYTES"),
    ),
    (
        "sharing",
        "The two calls of sharing are described as refused whatever is asked.",
        lambda it: it.has(RejectedPositiveData) and it.reason == "This hub does not support sharing.",
    ),
]


def known(complaint):
    return next((name for name, _, fits in KNOWN if fits(complaint)), None)


class Hub:
    """A hub with users, in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.data = program, os.path.join(folder, "hub")
        self.log = open(os.path.join(folder, "log"), "w+")
        # Chance sends wrong credentials by the thousand, and a busy machine is slow.
        limits = ["failedSignInsPerMinute=1000000", "waitMilliseconds=60000", "readMilliseconds=60000", "uploadsPerUser=1000000"]
        self.process = subprocess.Popen(
            [program, "hub", "--data", self.data, "--listen", "127.0.0.1:0", "--dev", "--user", "Ada", "--user", "Bob"]
            + [word for limit in limits for word in ("--limit", limit)],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            sys.exit(f"The hub did not start: {self.log.read()}")
        self.told = json.loads(line)

    def end(self):
        """Ends it, and says what is wrong with its end or its folder."""
        if self.process.poll() is not None:
            return [f"The hub ended by itself with {self.process.returncode}."]
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120)
        found = [] if code == 0 else [f"The hub ended with {code}."]
        done = subprocess.run([self.program, "hub", "verify", "--data", self.data], capture_output=True, text=True)
        return found + ([] if done.returncode == 0 else [f"The folder is damaged: {done.stdout}{done.stderr}"])


def description(told):
    """The description as it is, but with what there is at this hub where a path names what has to be there."""
    with open(DESCRIPTION) as file:
        description = json.load(file)
    parameters = description["components"]["parameters"]
    parameters["container"]["schema"] = {"const": told["container"]}
    parameters["environment"]["schema"] = {"const": told["environment"]}
    return description


def run(hub, arguments):
    """Runs all requests; the complaints that are not known by their keys, and how many of each known one there are."""
    told = hub.told
    credentials = {"ckAPIToken": told["apiToken"], "ckWebAuthToken": told["users"][0]["webAuthToken"]}
    complaints, dropped = {}, collections.Counter()
    schemathesis.hooks.unregister_all()

    @schemathesis.hook
    def before_call(context, case, kwargs):
        case.query = {**(case.query or {}), **credentials}

    @schemathesis.hook
    def filter_failure(context, failure, case, response):
        complaint = Complaint(failure, case, response)
        name = known(complaint)
        if name:
            dropped[name] += 1
        elif complaint.key not in complaints:
            complaints[complaint.key] = complaint
            print(complaint, file=sys.stderr, flush=True)
        # Nothing stops the run: it is told at the end.
        return False

    config = SchemathesisConfig.from_dict({
        "seed": arguments.seed,
        "generation": {"max-examples": arguments.examples, "with-security-parameters": False, "no-shrink": True},
        "phases": {"stateful": {"enabled": False}},
        "checks": {
            "max_response_time": SLOW_SECONDS,
            # What a body that is too large is answered, beside what Schemathesis expects anyway.
            "negative_data_rejection": {"expected-statuses": [400, 401, 403, 404, 405, 409, 413, 415, 421, 429, 431]},
            # Who may call what has tests of its own (HubAccessTests); here each call has the credentials of a user.
            "ignored_auth": {"enabled": False},
        },
    })
    schema = schemathesis.openapi.from_dict(description(told), config=config)
    schema.config.update(base_url=told["url"], continue_on_failure=True)
    if arguments.only:
        schema = schema.include(path_regex=arguments.only)
    operations, cases, errors = set(), 0, []
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            cases += len(event.recorder.interactions)
            operations.add(event.label)
        elif isinstance(event, (events.NonFatalError, events.FatalError)):
            errors.append(str(getattr(event, "info", None) or event.exception))
            print(f"-- Schemathesis could not go on: {errors[-1]}", file=sys.stderr)
    return complaints, dropped, len(operations), cases, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--examples", type=int, default=50, help="requests by chance for each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="a pattern of paths")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(os.path.abspath(arguments.backstitch), folder)
        try:
            complaints, dropped, operations, cases, errors = run(hub, arguments)
            errors += hub.end()
        finally:
            if hub.process.poll() is None:
                hub.process.kill()
                hub.process.wait()
    result = {
        "operations": operations, "requests": cases, "complaints": len(complaints), "errors": errors,
        "known": dict(sorted(dropped.items())), "seed": arguments.seed,
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name}: {value}")
    sys.exit(1 if complaints or errors or not cases else 0)


if __name__ == "__main__":
    main()
