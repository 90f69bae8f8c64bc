#!/usr/bin/env python3
"""Measures Studio over a large store, and over a hub with many users.

    Benchmarks/studio/measure.py PROGRAM FOLDER [--records 1000000] [--users 20000]

PROGRAM is `backstitch` of a release build. The store and the hub are made in FOLDER unless they are there. With the
Python of .build/python and Chromium, the first paint is measured too. Times are medians of 9 in milliseconds.
"""

import argparse
import datetime
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.parse

ROUNDS = 9


def schema():
    def attribute(number, name, type, indexed=False):
        told = {"hasDefault": False, "isIndexed": indexed, "isLossless": False, "isOptional": True, "name": name, "type": type}
        return {"field": {"rawValue": number}, "isDeclared": True, "name": name, "schema": told}
    return {"schema": {"entities": [
        {"isDeclared": True, "name": "Rare", "number": {"rawValue": 1}, "attributes": [attribute(1, "name", 1)]},
        {"isDeclared": True, "name": "Person", "number": {"rawValue": 2}, "attributes": [
            attribute(1, "name", 1, True), attribute(2, "number", 5), attribute(3, "city", 1, True), attribute(4, "note", 1)]},
    ]}}


def lines(count):
    yield schema()
    for number in range(5):
        yield {"entity": "Rare", "record": f"rare{number}", "values": {"name": {"string": f"Rare {number}"}}}
    for number in range(count):
        mixed = number * 7_919 % count
        yield {"entity": "Person", "record": f"p{number:07}", "values": {
            "name": {"string": f"Name {mixed:07}"}, "number": {"int64": mixed}, "city": {"string": f"City {number % 1000}"},
            "note": {"string": f"A note of forty letters about {number:09}"}}}


def make_store(program, path, count):
    if os.path.exists(path):
        return
    writer = subprocess.Popen([program, "import", path, "-", "--create", "--json"], stdin=subprocess.PIPE, text=True)
    # A store is made from a file whose first line is read before.
    for line in lines(count):
        writer.stdin.write(json.dumps(line) + "\n")
    writer.stdin.close()
    if writer.wait() != 0:
        sys.exit("The store could not be made.")


def make_hub(program, path, count):
    if os.path.exists(path):
        return
    users = [word for number in range(count) for word in ("--user", f"user {number}")]
    serving = subprocess.Popen([program, "hub", "--dev", "--data", path, "--listen", "127.0.0.1:0", *users],
                               stdout=subprocess.PIPE, text=True)
    serving.stdout.readline()
    serving.terminate()
    serving.wait()


class Studio:
    """The command, and a session of it."""

    def __init__(self, program, path):
        began = time.monotonic()
        self.process = subprocess.Popen([program, "studio", path, "--json"], stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.opening = time.monotonic() - began
        self.origin, token = self.url.split("/#token=")
        self.host = self.origin.split("//")[1]
        self.connection = http.client.HTTPConnection(self.host)
        self.headers = {"Origin": self.origin}
        self.token = token

    def sign_in(self):
        self.connection.request("POST", "/api/1/session", json.dumps({"token": self.token}),
                                {**self.headers, "Content-Type": "application/json"})
        reply = self.connection.getresponse()
        reply.read()
        self.headers["Cookie"] = reply.headers["Set-Cookie"].split(";")[0]

    def read(self, call, **parameters):
        target = f"/api/1/{call}" + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        began = time.perf_counter()
        self.connection.request("GET", target, headers=self.headers)
        reply = self.connection.getresponse()
        body = reply.read()
        took = (time.perf_counter() - began) * 1000
        if reply.status != 200:
            sys.exit(f"{call}: {body.decode()}")
        return json.loads(body), took, len(body)

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            rows = dict(line.split(":", 1) for line in file)
        return {name: int(rows[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile")}

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measured(studio, calls):
    for title, call, parameters in calls:
        times = [studio.read(call, **parameters)[1] for _ in range(ROUNDS)]
        size = studio.read(call, **parameters)[2]
        print(f"  {title:<58} {statistics.median(times):8.1f} ms, at most {max(times):6.1f}; {size:>8,} bytes", flush=True)


def whole_scan(studio, title, call, **parameters):
    began, parts, through, slowest = time.perf_counter(), 0, "", 0
    while through is not None:
        page, took, _ = studio.read(call, scan=1, through=through, **parameters)
        parts, slowest = parts + 1, max(slowest, took)
        through = page["scan"].get("through")
    print(f"  {title:<58} {(time.perf_counter() - began) * 1000:8.0f} ms in {parts} parts, the slowest {slowest:.1f}", flush=True)


def store(program, path):
    studio = Studio(program, path)
    print(f"  {'from the command to its address (it checks all pages)':<58} {studio.opening * 1000:8.0f} ms")
    browse(studio)
    if not studio.headers.get("Cookie"):
        studio.sign_in()
    print(f"  memory before: {studio.memory()}")
    person = {"entity": "Person", "limit": 100}
    measured(studio, [
        ("overview: what the store has", "inspect", {}), ("overview: entities", "entities", {}),
        ("overview, sync: the end of the log", "log", {"limit": 200}), ("records: first rows", "records", person),
        ("records: sorted by an index", "records", {**person, "sort": "-name"}),
        ("records: sorted without an index, first rows", "records", {**person, "sort": "number"}),
        ("records: a condition by an index", "records", {**person, "where": "city = 'City 7'"}),
        ("records: a condition by an index, another order", "records", {**person, "where": "city = 'City 7'", "sort": "-number"}),
        ("records: a condition without an index, first part", "records", {**person, "where": "note contains 'nowhere'"}),
        ("records: a wide condition by an index, and a narrow one", "records", {**person, "where": "name > 'Name 0000010' and note contains 'nowhere'"}),
        ("count: by an index", "count", {"entity": "Person", "where": "city = 'City 7'"}),
        ("count: without an index, first part", "count", {"entity": "Person", "where": "note contains 'nowhere'"}),
        ("record: its history", "history", {"entity": "Person", "record": "p0500000"}),
        ("record: how it stands", "record", {"entity": "Person", "record": "p0500000"}),
        ("search: an entity by a record's name", "find", {"record": "p0999999"}),
        ("log: first page", "log", {"limit": 100}),
        ("log: of an entity hardly written, first part", "log", {"limit": 100, "entity": "Rare"}),
        ("outbox (all records wait)", "outbox", {}), ("conflicts", "conflicts", {"limit": 50}),
        ("queries: explain, no index", "explain", {"entity": "Person", "sort": "number", "limit": 100}),
        ("health: files", "assets", {}), ("saved searches", "searches", {}),
    ])
    whole_scan(studio, "an order without an index, to its end", "records", entity="Person", sort="number", limit=101)
    whole_scan(studio, "a condition without an index, to its end", "records", entity="Person", where="note contains 'nowhere'", limit=101)
    before, began, parts = None, time.perf_counter(), 0
    while before != 0:
        page = studio.read("log", entity="Rare", limit=100, **({"before": before} if before else {}))[0]
        before, parts = page.get("before", 0), parts + 1
    print(f"  {'the log of an entity hardly written, to its end':<58} {(time.perf_counter() - began) * 1000:8.0f} ms in {parts} parts")
    print(f"  memory after: {studio.memory()}")
    seen(studio, program, path)
    studio.stop()


def seen(studio, program, path):
    """How long after the date of another process's operation a waiting page is answered."""
    times = []
    for number in range(7):
        line = json.dumps({"entity": "Rare", "record": "seen", "values": {"name": {"string": f"{time.time()} {number}"}}})
        last = studio.read("inspect")[0]["log"]["lastSequence"]
        known = studio.read("changes", after=0)[0]["engine"]
        writer = subprocess.Popen([program, "import", path, "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        writer.stdin.write(line + "\n")
        writer.stdin.close()
        studio.read("changes", after=last, engine=known)
        answered = time.time()
        date = studio.read("log", limit=1)[0]["operations"][0]["date"]
        times.append((answered - datetime.datetime.fromisoformat(date).timestamp()) * 1000)
        writer.wait()
    print(f"  {'a change by another process, from its date to the answer':<58} {statistics.median(times):8.0f} ms, at most {max(times):.0f}")


def browse(studio):
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        return
    if not os.path.exists("/usr/bin/chromedriver"):
        return
    options = webdriver.ChromeOptions()
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]:
        options.add_argument(argument)
    options.binary_location = "/usr/bin/chromium"
    browser = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        browser.get("about:blank")
        browser.get(studio.url)
        while not browser.execute_script("return document.querySelector('main h1')"):
            time.sleep(0.005)
        paints = browser.execute_script("return performance.getEntriesByType('paint').map((e) => [e.name, e.startTime])")
        print(f"  {'browser: ' + ', '.join(name for name, _ in paints):<58} " + ", ".join(f"{at:.0f} ms" for _, at in paints))
        name = next(cookie for cookie in browser.get_cookies())
        studio.headers["Cookie"] = f"{name['name']}={name['value']}"
        for page in ["records/Person", "records/Person?sort=number", "log", "log?entity=Rare", "outbox", "conflicts", "sync", "queries?entity=Person", "health", "record/Person/p0500000", "overview"]:
            took = browser.execute_async_script("""
              const [page, done] = arguments; const began = performance.now(); const main = document.getElementById("main");
              const look = new MutationObserver(() => { if (main.querySelector(`[data-page="${page.split(/[/?]/)[0]}"] h1`)) { look.disconnect(); requestAnimationFrame(() => done(performance.now() - began)); } });
              main.replaceChildren(); look.observe(main, { childList: true, subtree: true }); location.hash = "#/" + page;""", page)
            print(f"  {'browser: ' + page + ', shown':<58} {took:8.0f} ms")
    finally:
        browser.quit()


def hub(program, path):
    studio = Studio(program, path)
    studio.sign_in()
    print(f"  memory before: {studio.memory()}")
    words = {"container": "iCloud.measured", "environment": "production"}
    first = studio.read("entities")[0][0]
    words = {"container": first["container"], "environment": first["environment"]}
    measured(studio, [
        ("overview", "hub", {}), ("containers", "entities", {}), ("users", "users", words),
        ("a user by name", "users", {**words, "name": "user 777"}), ("sessions", "sessions", {}), ("API tokens", "tokens", {}),
        ("databases and zones", "databases", words), ("slow requests", "requests", {}),
    ])
    print(f"  memory after: {studio.memory()}")
    studio.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=5_000)
    given = parser.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    make_store(given.program, f"{given.folder}/store", given.records)
    print(f"-- a store of {given.records:,} records, {os.path.getsize(given.folder + '/store/data.mdb') >> 20} MiB", flush=True)
    store(given.program, f"{given.folder}/store")
    if given.users:
        make_hub(given.program, f"{given.folder}/hub", given.users)
        print(f"-- a hub with {given.users:,} users", flush=True)
        hub(given.program, f"{given.folder}/hub")


main()
