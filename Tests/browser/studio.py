#!/usr/bin/env python3
"""Opens Studio in Chromium over a store that the demo makes and over a hub: every page, the keyboard, light and
dark, wide and narrow, a change by another process, actions that are confirmed, and what a browser's console says.

    .build/python/bin/python Tests/browser/studio.py PROGRAM [--pictures]

PROGRAM is the built `backstitch`. Screenshots go to .build/screenshots; with --pictures those of the guide are
replaced too. Tests/prepare.sh --browser installs what it needs.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    webdriver = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PICTURES = f"{ROOT}/Documentation/guides/pictures"
PATIENCE = float(os.environ.get("BROWSER_PATIENCE", "60"))
PAGES = ["Overview", "Records", "Log", "Outbox", "Conflicts", "Sync", "Queries", "Health"]
# The largest size of a picture that is kept, in bytes.
PICTURE_BYTES = 150_000

# What the page takes beginnings of files for: of four kinds of pictures, and of a program in a picture, a page, other
# containers, and too few bytes.
IMAGES = """
const files = ["\\x89PNG\\r\\n\\x1a\\n", "\\xff\\xd8\\xff\\xe0", "GIF89a", "RIFF\\0\\0\\0\\0WEBPVP8 ",
  "<svg xmlns='http://www.w3.org/2000/svg'>", "<!doctype html>", "RIFF\\0\\0\\0\\0WAVEfmt ", "%PDF-1.7", "\\x89PNG", "\\xff\\xd8", ""];
const done = arguments[0];
import("/values.js").then(
  (values) => done(files.map((text) => values.imageType(Uint8Array.from(text, (letter) => letter.charCodeAt(0))))),
  (error) => done(String(error)));
"""

# What a person who can't see the page, or not well, would miss.
ACCESSIBILITY = """
const faults = [];
const seen = (element) => element.offsetParent !== null;
for (const field of document.querySelectorAll("input, select, textarea")) {
  if (seen(field) && !field.labels?.length && !field.getAttribute("aria-label")) faults.push("no label: " + field.outerHTML);
}
for (const button of document.querySelectorAll("button, a")) {
  if (seen(button) && !button.textContent.trim() && !button.getAttribute("aria-label")) faults.push("no name: " + button.outerHTML);
}
for (const title of document.querySelectorAll("th")) {
  if (!title.textContent.trim()) faults.push("an empty title of a column: " + title.parentElement.textContent);
}
if (document.querySelectorAll("h1").length !== 1) faults.push("not one heading of the page");
if (document.querySelector("[tabindex]:not([tabindex='-1'])")) faults.push("an order of its own");
const channel = (part) => { part /= 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; };
const light = (color) => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
const back = (element) => {
  for (; element; element = element.parentElement) {
    const color = getComputedStyle(element).backgroundColor;
    if (!/, 0\\)$/.test(color) && color !== "transparent") return color;
  }
  return "rgb(255, 255, 255)";
};
for (const element of document.querySelectorAll("main *, header *, nav *")) {
  const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!text || !seen(element) || element.disabled) continue;
  const [a, b] = [light(getComputedStyle(element).color), light(back(element))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) faults.push("contrast: " + element.outerHTML.slice(0, 120));
}
return faults;
"""


def expect(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")
    print(f"  {what}", flush=True)


def packages():
    """A package index for the demo, small and always the same."""
    return "".join(
        f"Package: package-{number}\nVersion: 1.{number}\nArchitecture: all\nInstalled-Size: {number}\n"
        f"Maintainer: Ada <ada@example.org>\nDescription: number {number}\n\n"
        for number in range(1, 400)
    )


class Studio:
    """The command, serving a store."""

    started = []

    def __init__(self, program, store, *options):
        self.started.append(self)
        self.process = subprocess.Popen(
            [program, "studio", store, "--json", *options], stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)

    @classmethod
    def stop_all(cls):
        """Ends those that a failure left."""
        for studio in cls.started:
            if studio.process.poll() is None:
                studio.stop()


class Page:
    """The page in a browser."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        # The sandbox needs rights that containers lack.
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = "/usr/bin/chromium"
        self.browser = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.size(1160, 720)

    def size(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def theme(self, name):
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def wait(self, condition):
        try:
            # What is looked at may be drawn anew meanwhile.
            return WebDriverWait(
                self.browser, PATIENCE, poll_frequency=0.02,
                ignored_exceptions=[StaleElementReferenceException]).until(condition)
        except TimeoutException:
            print(self.browser.current_url, self.text()[:2000], self.complaints(), sep="\n")
            raise

    def go(self, address):
        page = address.split("/")[0].split("?")[0]
        self.browser.execute_script("location.hash = arguments[0]", "#/" + address)
        self.wait(lambda b: b.find_elements(By.CSS_SELECTOR, f"[data-page='{page}'] h1"))

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.wait(lambda b: b.find_elements(By.CSS_SELECTOR, selector))[0]

    def text(self, selector="main"):
        return self.wait(lambda b: [element.text for element in self.all(selector)[:1]])[0]

    def press(self, *keys):
        self.browser.execute_script("document.activeElement.blur()")
        webdriver.ActionChains(self.browser).send_keys(*keys).perform()

    def button(self, words, inside="main"):
        return self.wait(lambda b: [e for e in self.all(f"{inside} button") if e.text == words])[0]

    def complaints(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def confirm(self, name):
        self.one("dialog[open] input").send_keys(name + Keys.ENTER)

    def picture(self, name, keeps=False):
        os.makedirs(f"{ROOT}/.build/screenshots", exist_ok=True)
        path = f"{ROOT}/.build/screenshots/{name}.png"
        self.browser.save_screenshot(path)
        if keeps:
            expect(os.path.getsize(path) < PICTURE_BYTES, f"the picture {name} is small")
            if "--pictures" in sys.argv:
                os.makedirs(PICTURES, exist_ok=True)
                shutil.copy(path, f"{PICTURES}/studio-{name}.png")


def main():
    if webdriver is None or not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("SKIPPED: Studio's browser test needs Chromium. Run Tests/prepare.sh --browser", file=sys.stderr)
        print("SKIPPED: 1 suite, no browser on this machine")
        return
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        # What a user keeps goes nowhere else.
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        with open(f"{folder}/packages", "w", encoding="utf-8") as file:
            file.write(packages())
        run(program, "demo", "--input", f"{folder}/packages", "--keep", f"{folder}/kept", "--json")
        kept = [f"{folder}/kept/{name}" for name in ("a", "b")]
        store = next(path for path in kept if run(program, "conflicts", path, "--json"))
        page = Page()
        try:
            reading(program, store, page)
            writing(program, store, page, f"{folder}/copy")
            large(program, folder, page)
            hostile(program, folder, page)
            hub(program, f"{folder}/hub", store, page)
        finally:
            page.browser.quit()
            Studio.stop_all()


def run(program, *words):
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def reading(program, store, page):
    studio = Studio(program, store)
    conflicts = [json.loads(line) for line in run(program, "conflicts", store, "--json").splitlines()]
    # The newest conflict of a record that was on both sides, and that has a history to go through.
    first = next(
        conflict for conflict in conflicts if conflict.get("server") and conflict.get("outcome")
        and len(run(program, "history", store, conflict["entity"], conflict["record"], "--json").splitlines()) > 2)
    entities = [entity["name"] for entity in json.loads(run(program, "inspect", store, "--json"))["entities"]]

    print("-- the first page")
    page.browser.get(studio.url)
    page.one("[data-page=overview] h1")
    expect(all(name in page.text() for name in entities), "the entities are there by name, without a click")
    expect([link.text for link in page.all("nav a")] == PAGES, "the navigation is in words")
    expect("token" not in page.browser.current_url, "the token is gone from the address")
    expect(page.text("#mode") == "read-only", "the head says that nothing is changed")
    page.picture("overview", keeps=True)

    expect(page.all("svg.bars rect") != [] and "operation" in page.text(), "the growth of the log is drawn")
    expect("On disk" in page.text() and "Zones" in page.text(), "space and zones are told")
    order = []
    page.press()
    for _ in range(12):
        webdriver.ActionChains(page.browser).send_keys(Keys.TAB).perform()
        order.append(page.browser.execute_script("return [...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    expect(order == sorted(order) and len(set(order)) == len(order), "the focus goes in the order of the page, from the skip link on")

    kinds = page.browser.execute_async_script(IMAGES)
    expect(kinds == ["image/png", "image/jpeg", "image/gif", "image/webp"] + [None] * 7, f"only pictures are shown as pictures, by how their bytes begin {kinds}")

    print("-- every page: its name, its address, and who can't see it well")
    for theme in ("light", "dark"):
        page.theme(theme)
        for title in PAGES:
            page.go(title.lower())
            time.sleep(0.1)
            faults = page.browser.execute_script(ACCESSIBILITY)
            expect(title in page.text("h1") and faults == [], f"{title}, {theme}: labels, names and contrast {faults or ''}")
            page.picture(f"{title.lower()}-{theme}")
    page.theme("light")

    print("-- records")
    page.go(f"records/{first['entity']}")
    page.wait(lambda b: len(page.all("main tbody tr")) == 100)
    page.wait(lambda b: "record" in page.text("#count"))
    expect("more" not in page.text("#count"), "a page of rows is shown, and how many there are")
    page.button("More rows").click()
    page.wait(lambda b: len(page.all("main tbody tr")) == 200)
    expect(True, "more rows follow, by a cursor")
    attribute = next(iter(first["outcome"]))
    page.one("main thead button").click()
    page.wait(lambda b: "sort=" in b.current_url and page.all("th[aria-sort=ascending]"))
    expect(True, "a click on a title sorts, and the address says so")
    page.go(f"records/{first['entity']}?where=recordName%20%3D%20'{first['record']}'")
    page.wait(lambda b: len(page.all("main tbody tr")) == 1)
    expect(first["record"] in page.text(), "a condition finds one record")
    page.go(f"records/{first['entity']}?where=nonsense%20%3D")
    page.wait(lambda b: page.all(".problem"))
    expect("can't be read" in page.text(".problem"), "a condition that makes no sense is explained")
    page.complaints()  # The browser notes the refused request, which was meant.
    page.go(f"records/{first['entity']}?columns={attribute}")
    page.wait(lambda b: len(page.all("main thead th")) == 2)
    expect(True, "columns are chosen")
    page.one("#saved summary").click()
    page.one("[name=search-name]").send_keys("Only <b>one</b>" + Keys.ENTER)
    page.wait(lambda b: "Only <b>one</b>" in page.text("#saved"))
    expect(True, "a search is saved under a name")
    page.go(f"queries?entity={first['entity']}")
    page.go(f"records/{first['entity']}")
    page.wait(lambda b: len(page.all("main thead th")) > 2)
    page.one("#saved summary").click()
    page.wait(lambda b: page.all("#saved li a"))[0].click()
    page.wait(lambda b: len(page.all("main thead th")) == 2)
    expect("columns=" in page.browser.current_url, "and leads to where it was saved")
    for words, what in (["CSV", "text/csv"], ["JSON Lines", "application/x-ndjson"]):
        page.browser.execute_script("window.saved = null; window.made ??= URL.createObjectURL; URL.createObjectURL = (blob) => { window.saved = blob.type + ' ' + blob.size; return window.made.call(URL, blob); };")
        page.button(words).click()
        page.wait(lambda b: b.execute_script("return window.saved"))
        expect(page.browser.execute_script("return window.saved").startswith(what), f"{words} has the rows")
    page.button("Run").click()
    page.go(f"records/{first['entity']}")
    page.wait(lambda b: len(page.all("main tbody tr")) == 100)
    page.picture("records", keeps=True)
    page.button("More rows").click()
    page.wait(lambda b: len(page.all("main tbody tr")) == 200 and page.all("#time"))
    page.wait(lambda b: "record" in page.text("#count") and "so far" not in page.text("#count"))
    row = page.all("main tbody tr")[150]
    words = row.text
    page.browser.execute_script("window.scrollTo(0, arguments[0].offsetTop)", row)
    top = page.browser.execute_script("return window.scrollY")
    page.browser.execute_script("arguments[0].click()", row.find_element(By.TAG_NAME, "a"))
    page.one("[data-page=record] h1")
    expect(page.browser.execute_script("return window.scrollY") == 0, "a record begins at the top")
    page.press("?")
    page.one("dialog[open]")
    page.browser.back()
    page.wait(lambda b: page.all("[data-page=records] tbody tr"))
    expect(len(page.all("main tbody tr")) == 200 and page.all("main tbody tr")[150].text == words, "who goes back finds all rows of the list")
    expect(top > 0 and page.browser.execute_script("return window.scrollY") == top, "and the place where it was read")
    expect(page.all("dialog[open]") == [], "and the list of keys is closed")
    page.go(f"records/{first['entity']}?columns={attribute}")
    page.wait(lambda b: len(page.all("main thead th")) == 2)
    page.go(f"records/{first['entity']}")
    page.wait(lambda b: len(page.all("main tbody tr")) == 100)
    expect(page.browser.execute_script("return window.scrollY") == 0, "who comes by an address finds the beginning")

    print("-- the keyboard")
    page.press("j", "j", "k", "j")
    expect(page.all("main tbody tr")[1].get_attribute("aria-selected") == "true", "j and k move")
    page.press(Keys.ENTER)
    page.one("[data-page=record] #time")
    expect(True, "Enter opens the row")
    page.press("?")
    expect("Keys" in page.text("dialog[open]"), "? lists the keys")
    page.button("Close", "dialog").click()
    page.press("/")
    expect(page.browser.switch_to.active_element.get_attribute("id") == "search", "/ leads to the search")
    page.browser.switch_to.active_element.send_keys(first["record"] + Keys.ENTER)
    page.wait(lambda b: f"record/{first['entity']}/" in b.current_url)
    expect(True, "the search finds a record by its name")

    page.browser.execute_script("location.hash = '#/records/%E0%A4%A'")
    page.wait(lambda b: "There is no entity" in page.text())
    page.browser.execute_script("location.hash = '#/nowhere/%'")
    page.wait(lambda b: "There is no such page" in page.text())
    expect(True, "addresses that lead nowhere say so")
    page.go(f"records/{first['entity']}")
    for words in ["x" * 400, "'\\", "no such thing"]:
        page.press("/")
        search = page.browser.switch_to.active_element
        search.clear()
        search.send_keys(words + Keys.ENTER)
        page.wait(lambda b: "where=" in b.current_url and ("No record matches" in page.text() or page.all(".problem")))
        expect(page.all(".problem") == [], f"a search for {words[:12]} finds nothing, and says so")
        page.browser.execute_script("history.back()")
        page.wait(lambda b: "where=" not in b.current_url and page.all("tbody tr") and not page.all(".problem"))
    page.browser.execute_script(
        "document.activeElement.blur(); location.hash = arguments[0];"
        "window.addEventListener('hashchange', () => document.getElementById('search').focus(), { once: true })",
        f"#/record/{first['entity']}/{first['record']}")
    page.wait(lambda b: first["record"] in page.text("h1"))
    expect(page.browser.switch_to.active_element.get_attribute("id") == "search",
           "a page that is drawn leaves who searches in the search")
    page.complaints()

    print("-- a record through time")
    page.go(f"record/{first['entity']}/{first['record']}")
    page.wait(lambda b: first["record"] in page.text("h1"))
    steps = page.all("#history > li")
    expect(len(steps) > 1, "its operations are listed")
    now = page.text("#fields")
    slider = page.one("#time")
    slider.send_keys(Keys.HOME)
    page.wait(lambda b: page.text("#moment").startswith("As it was"))
    expect(page.text("#fields") != now and "at=" in page.browser.current_url, "the slider shows it as it was, and the address says when")
    slider.send_keys(Keys.ARROW_RIGHT)
    expect("After" in page.text("#differences"), "what an operation changed stands side by side")
    page.picture("record", keeps=True)
    slider.send_keys(Keys.END)
    expect(page.text("#fields") == now, "and it ends at now")
    expect("→" in page.text("#relations") or "←" in page.text("#relations"), "relations are there")
    target = page.all("#relations a[href*='record/']")
    if target:
        target[0].click()
        page.wait(lambda b: "←" in page.text("#relations") and any(c.isdigit() for c in page.text("#relations")))
        expect(True, "and from the other side, with counts")

    print("-- log, conflicts, outbox, sync, queries")
    page.go("log")
    page.wait(lambda b: page.all("#timeline > li"))
    expect("seq" in page.text("#timeline"), "the log is a timeline by transaction")
    page.go(f"log?entity={first['entity']}&record={first['record']}")
    page.wait(lambda b: page.all("#timeline > li") and first["entity"] == Select(page.one("[name=entity]")).first_selected_option.text)
    expect(all(first["record"] in item.text for item in page.all("#timeline > li")), "and can be of one record alone")
    page.picture("log", keeps=True)
    page.go("conflicts")
    page.wait(lambda b: page.all("#conflicts section"))
    heads = [cell.text for cell in page.all("#conflicts section:first-child thead th")]
    expect(heads == ["Field", "Base", "Local", "Server", "Result"], "conflicts have their sides in columns")
    expect(page.all("#conflicts .changed") != [], "what each side changed is marked")
    expect("--allow-writes" in page.text("#conflicts section"), "how to undo one is said")
    page.picture("conflicts", keeps=True)
    page.go("sync")
    expect("The store is in step, as far as it knows." in page.text(), "the state of synchronisation is told in a sentence")
    expect("stopped" in page.text("#states [aria-current]"), "the engine's state is one of those that are shown")
    expect("zoneChanges" in page.text("#calls") or "Changes" in page.text("#calls"), "the calls have their names")
    expect("Changes" in page.text("#calls") and "ms" in page.text("#calls"), "and its requests, with their times")
    page.go(f"queries?entity={first['entity']}")
    page.wait(lambda b: page.all("#plan li"))
    expect("rows" in page.text("#plan"), "a query is explained, with its time")
    expect("RecordQuery(entity:" in page.text("#swift"), "and shown as Swift code")

    print("-- health")
    page.go("health")
    page.button("Verify").click()
    page.wait(lambda b: page.all("#verdict"))
    expect("Consistent" in page.text("#verdict"), "the store is verified from the page")
    expect(not page.button("Compact the log").is_enabled(), "what would change the store can't be begun")
    page.wait(lambda b: page.all("#files h2"))
    expect("on this device" in page.text("#files"), "the contents of files are told")
    page.picture("health", keeps=True)
    page.button("Examine the store's files").click()
    page.wait(lambda b: "Nothing is wrong" in page.text("#work"))
    expect(True, "the files of the store are examined")
    page.button("Verify files of records").click()
    page.wait(lambda b: "files match their hashes" in page.text("#work"))
    expect(True, "the files of records are compared with their hashes")
    expect(not page.button("Back up").is_enabled() and "Views" in page.text() and "Log" in page.text(), "log and views are told")

    print("-- another process changes the store")
    page.go("outbox")
    expect("Nothing is parked" in page.text(), "what is empty says so")
    before = page.text("#facts")
    run(program, "conflicts", store, "--undo", str(first["sequence"]), "--json")
    changed = time.monotonic()
    page.wait(lambda b: page.text("#facts") != before)
    page.wait(lambda b: first["record"] in page.text())
    print(f"  it is visible after {round((time.monotonic() - changed) * 1000)} ms, looks included")

    print("-- narrow")
    page.size(390, 800)
    for title in PAGES:
        page.go(title.lower())
        time.sleep(0.1)
        expect(page.browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), f"{title} fits a telephone")
    page.size(1160, 720)

    print("-- the session")
    page.browser.refresh()
    page.one("main h1")
    expect(page.complaints() == [], "the console is empty, and no request failed")
    page.browser.delete_all_cookies()
    page.browser.get(studio.url + "&again")
    page.browser.refresh()
    page.wait(lambda b: "Not signed in" in page.text("h1"))
    expect("Start" in page.text(), "an address that was used is explained")
    page.complaints()
    expect(studio.stop() == 0, "the command ends well")


def writing(program, store, page, copy):
    print("-- what changes the store")
    studio = Studio(program, store, "--allow-writes")
    name = os.path.basename(store)
    page.browser.get(studio.url)
    page.one("[data-page=overview] h1")
    expect(page.text("#mode") == "may write", "the head says that the page may write")
    entity = json.loads(run(program, "conflicts", store, "--json").splitlines()[0])["entity"]
    page.go(f"records/{entity}")
    page.one("#saved summary").click()
    page.wait(lambda b: "Only <b>one</b>" in page.text("#saved"))
    page.button("remove").click()
    page.wait(lambda b: "None yet" in page.text("#saved"))
    expect(True, "searches that were saved are there at another port, and are removed")
    page.go("conflicts")
    page.wait(lambda b: len(page.all("#conflicts section")) > 1)
    pending = json.loads(run(program, "inspect", store, "--json"))["outbox"]["records"]
    second = page.all("#conflicts section")[1]
    [button for button in second.find_elements(By.TAG_NAME, "button") if button.text == "Undo"][0].click()
    page.confirm("another")
    page.wait(lambda b: "Confirm" in page.text("#note"))
    expect(json.loads(run(program, "inspect", store, "--json"))["outbox"]["records"] == pending, "without the store's name nothing happens")
    page.complaints()
    [button for button in second.find_elements(By.TAG_NAME, "button") if button.text == "Undo"][0].click()
    page.confirm(name)
    page.wait(lambda b: json.loads(run(program, "inspect", store, "--json"))["outbox"]["records"] > pending)
    expect(True, "a conflict is undone")
    page.go("health")
    page.one("[name=target]").send_keys(copy)
    page.button("Back up").click()
    page.confirm(name)
    page.wait(lambda b: page.all("#verdict"))
    expect(os.path.exists(copy + "/data.mdb"), "a copy is made")
    expect(page.complaints() == [], "the console is empty")
    expect(studio.stop() == 0, "the command ends well")


def schema(*entities):
    """The first line of an export, for entities that are (name, [(attribute, type, target)])."""
    def attribute(number, name, type, target=None):
        told = {"hasDefault": False, "isIndexed": False, "isLossless": False, "isOptional": True, "name": name, "type": type}
        if target:
            told["reference"] = {"onDelete": "deny", "target": target}
        return {"field": {"rawValue": number}, "isDeclared": True, "name": name, "schema": told}
    return json.dumps({"schema": {"entities": [
        {"isDeclared": True, "name": name, "number": {"rawValue": number},
         "attributes": [attribute(at, *one) for at, one in enumerate(attributes, 1)]}
        for number, (name, attributes) in enumerate(entities, 1)]}}) + "\n"


def large(program, folder, page):
    print("-- what looks at every row")
    count = 30_000
    with open(f"{folder}/rows", "w", encoding="utf-8") as file:
        file.write(schema(("Row", [("number", 5), ("text", 1)])))
        for number in range(count):
            file.write(json.dumps({"entity": "Row", "record": f"r{number:06}", "values": {
                "number": {"int64": number * 7919 % count}, "text": {"string": "x" * 20}}}) + "\n")
    store = f"{folder}/rows-store"
    run(program, "import", store, f"{folder}/rows", "--create", "--json")
    studio = Studio(program, store)
    page.browser.get(studio.url)
    page.one("[data-page=overview] h1")
    page.complaints()
    page.go("records/Row?sort=-number")
    first = lambda: [row.find_elements(By.TAG_NAME, "td")[1].text for row in page.all("main tbody tr")[:3]]
    page.wait(lambda b: len(page.all("main tbody tr")) == 100)
    page.wait(lambda b: page.all("#time"))
    expect(first() == [str(count - 1), str(count - 2), str(count - 3)], "an order without an index is right in the end")
    page.button("More rows").click()
    page.wait(lambda b: len(page.all("main tbody tr")) == 200 and page.all("#time"))
    expect(page.all("main tbody tr")[100].find_elements(By.TAG_NAME, "td")[1].text == str(count - 101), "and goes on where it ended")
    page.browser.execute_script("""
      const look = new MutationObserver(() => { const stop = document.getElementById("stop"); if (stop) {
        const [partial, table] = [document.querySelector("#partial:not([hidden])"), document.querySelector("main table")];
        window.looked = partial?.querySelector("progress") && partial.compareDocumentPosition(table) === Node.DOCUMENT_POSITION_FOLLOWING;
        look.disconnect(); stop.click(); } });
      look.observe(document.body, { childList: true, subtree: true });""")
    page.go("records/Row?where=text%20contains%20'nothing'")
    page.wait(lambda b: "Stopped after" in page.text())
    expect(page.browser.execute_script("return window.looked"), "what looks at every row says above the table how far it is, and is stopped")
    expect("Partial" in page.text("#partial"), "what was stopped is still said to be partial")
    page.button("Begin again").click()
    page.wait(lambda b: "No record matches" in page.text())
    page.wait(lambda b: page.text("#count") == "0 records")
    expect(page.text("#partial") == "" and not page.all("tbody.dim"), "it begins again, and ends with an answer")
    page.go("log?entity=Row&record=r000003")
    page.wait(lambda b: len(page.all("#timeline > li")) == 1 and "The beginning of the log" in page.text())
    expect(True, "the log of a record is looked through to its beginning")
    expect(page.complaints() == [], "the console is empty")
    expect(studio.stop() == 0, "the command ends well")


# What would run if a name or a value were taken for markup.
MARKUP = "<img src=x onerror=window.pwned=1>\"'&</td><script>window.pwned=1</script>"


def hostile(program, folder, page):
    print("-- markup in every name and value, thousands of entities, a service that refuses")
    with open(f"{folder}/odd", "w", encoding="utf-8") as file:
        file.write(schema(
            (MARKUP, [(MARKUP, 1), ("number", 5), ("data", 10)]), ("Task", [("title", 1), ("parent", 13, "Task")]),
            *[(f"Entity{number}", [("a", 1)]) for number in range(2_000)]))
        file.write(json.dumps({"entity": MARKUP, "record": MARKUP, "values": {
            MARKUP: {"string": MARKUP}, "number": {"int64": 9007199254740993}, "data": {"bytes": "PHN2Zz48L3N2Zz4="}}}) + "\n")
        file.write(json.dumps({"entity": "Task", "record": "t1", "values": {
            "title": {"string": MARKUP + "y" * 500}, "parent": {"reference": "nowhere"}}}) + "\n")
    store = f"{folder}/odd-store"
    run(program, "import", store, f"{folder}/odd", "--create", "--json")
    serving = subprocess.Popen(
        [program, "hub", "--dev", "--data", f"{folder}/odd-hub", "--listen", "127.0.0.1:0", "--user", "Ada"],
        stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(serving.stdout.readline())
        with open(f"{folder}/odd-token", "w", encoding="utf-8") as file:
            file.write(told["users"][0]["webAuthToken"])
        sync = lambda: json.loads(subprocess.run(
            [program, "sync", store, "--zone", "Odd", "--url", told["url"], "--api-token", told["apiToken"],
             "--web-token-file", f"{folder}/odd-token", "--container", told["container"], "--json"],
            stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
        expect(sync()["parked"] == 2, "the service refuses two records")
        studio = Studio(program, store, "--allow-writes")
        page.browser.get(studio.url)
        page.one("[data-page=overview] h1")
        page.wait(lambda b: b.execute_script("return document.querySelector('main').textContent.includes('Entity1999')"))
        expect(True, "2,000 entities are there")
        page.complaints()
        odd = urllib.parse.quote(MARKUP, safe="")
        for address in ["overview", f"records/{odd}", f"record/{odd}/{odd}", "log", f"log?entity={odd}&record={odd}", "outbox",
                        "conflicts", "sync", f"queries?entity={odd}", "health", "record/Task/t1", "records/Task"]:
            page.go(address)
            time.sleep(0.3)
            expect(page.browser.execute_script("return window.pwned === undefined && !document.querySelector('main img, main script, header img, dialog img')"), f"{address[:24]}: markup is text")
            faults = page.browser.execute_script(ACCESSIBILITY)
            expect(faults == [], f"{address[:24]}: labels, names and contrast {faults or ''}")
        page.go(f"record/{odd}/{odd}")
        page.wait(lambda b: "9007199254740993" in page.text("#fields"))
        expect(MARKUP in page.text("#fields"), "values are shown as they are, and large numbers exactly")
        page.go("outbox")
        page.wait(lambda b: "referenceViolation" in page.text())
        expect("refers to a record that the service does not have" in page.text(), "what was refused has its reason and what helps")
        page.all("main details summary")[1].click()
        page.wait(lambda b: "parent" in page.all("main details")[1].text)
        expect("nowhere" in page.all("main details")[1].text, "what would be sent is shown")
        page.picture("outbox-parked")

        print("-- two tabs, and a parked record that is edited")
        first = page.browser.current_window_handle
        page.browser.switch_to.new_window("tab")
        page.browser.get(studio.url.split("#")[0])
        page.one("[data-page=overview] h1")
        expect(True, "another tab goes on with the session")
        page.go("record/Task/t1?edit=1")
        page.wait(lambda b: page.all("#editor form"))
        faults = page.browser.execute_script(ACCESSIBILITY)
        expect(faults == [], f"the form has labels, names and contrast {faults or ''}")
        expect("masked" not in page.text("#fields") and page.all("#fields button") != [], "a long value is masked")
        page.one("#editor [name=parent]").clear()
        page.button("Save the record").click()
        page.confirm(os.path.basename(store))
        page.wait(lambda b: "not pushed" in page.text())
        expect(json.loads(run(program, "inspect", store, "--json"))["parkedCount"] == 1, "a parked record is edited, and waits to be pushed again")
        page.browser.switch_to.window(first)
        page.wait(lambda b: "To push: 1" in page.text())
        expect(True, "the other tab shows that by itself")
        expect(sync()["pushed"] == 1, "the service takes it")
        page.wait(lambda b: "To push: 0" in page.text())
        page.go("sync")
        page.wait(lambda b: page.all("#calls tbody tr"))
        expect("modifyRecords" in page.text("#calls") and "No engine runs now" in page.text(), "sync tells the requests of the engine, and that none runs")

        print("-- a server that goes, and a store that goes")
        expect(page.complaints() == [], "the console is empty")
        port = studio.url.split("#")[0].rstrip("/").split(":")[-1]
        studio.process.send_signal(signal.SIGKILL)
        studio.process.wait(30)
        page.wait(lambda b: "not connected" in page.text("#facts"))
        expect(True, "a server that was killed is told")
        again = Studio(program, store, "--listen", f"127.0.0.1:{port}")
        page.wait(lambda b: "Open the address" in page.text("#facts"))
        expect(True, "the next one at the port knows no session of it")
        page.browser.get(again.url)
        page.browser.refresh()
        page.one("[data-page=overview] h1")
        os.rename(store, store + "-moved")
        page.wait(lambda b: "removed or replaced" in page.text("#facts"))
        expect(True, "a store that was moved away is told")
        page.browser.switch_to.window(page.browser.window_handles[1])
        page.browser.close()
        page.browser.switch_to.window(first)
        page.complaints()
        expect(again.stop() == 0, "the command ends well")
    finally:
        serving.terminate()
        serving.wait(30)


def device(program, store, told, user, zone, *options, rows):
    """Makes a store with some rows, and begins to synchronise it with a hub."""
    with open(f"{store}-lines", "w", encoding="utf-8") as file:
        file.write(schema(("Row", [("number", 5)])))
        for number in range(rows):
            file.write(json.dumps({"entity": "Row", "record": f"r{number}", "values": {"number": {"int64": number}}}) + "\n")
    run(program, "import", store, f"{store}-lines", "--create", "--json")
    with open(f"{store}-token", "w", encoding="utf-8") as file:
        file.write(told["users"][user]["webAuthToken"])
    return subprocess.Popen(
        [program, "sync", store, "--zone", zone, "--url", told["url"], "--api-token", told["apiToken"],
         "--web-token-file", f"{store}-token", "--container", told["container"], "--json", *options], stdout=subprocess.DEVNULL)


def engine(program, store, told, page):
    """Looks at a store whose engine runs in another process."""
    sync = device(program, store, told, 1, "Running", "--follow", rows=10)
    studio = Studio(program, store)
    try:
        page.browser.get(studio.url)
        page.one("[data-page=overview] h1")
        page.go("sync")
        page.wait(lambda b: page.all("#queue") and "begins a round" in page.text("#queue"))
        expect("No engine runs" not in page.text(), "what waits to begin is told of an engine that runs")
        page.picture("sync-running")
        sync.terminate()
        expect(sync.wait(30) == 0, "the engine ends when it is asked to")
        page.wait(lambda b: "No engine runs" in page.text())
        expect(not page.all("#queue"), "and then nothing waits to begin")
    finally:
        sync.kill()
        studio.stop()


def slow_requests(program, store, told, serving):
    """Has a device exchange with a hub that stands still now and then, as on a machine that is busy."""
    sync = device(program, store, told, 0, "Slow", rows=4_000)
    # It goes on for less than a request takes, so that it stands still within some.
    while sync.poll() is None:
        time.sleep(0.01)
        serving.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        serving.send_signal(signal.SIGCONT)
    expect(sync.wait(30) == 0, "a device exchanges with a hub that stands still now and then")


def hub(program, folder, store, page):
    print("-- a hub's folder")
    serving = subprocess.Popen(
        [program, "hub", "--dev", "--data", folder, "--listen", "127.0.0.1:0", "--user", "Ada", "--user", "Bob"],
        stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(serving.stdout.readline())
        engine(program, f"{folder}-running", told, page)
        studio = Studio(program, folder, "--allow-writes")
        page.browser.get(studio.url)
        page.one("[data-page=overview] h1")
        page.complaints()  # The page before had a call under way when its server ended.
        titles = ["Overview", "Users", "Sessions", "Zones", "Requests"]
        expect([link.text for link in page.all("nav a")] == titles, "the pages of a hub are others")
        expect(told["container"] in page.text() and "running" in page.text(), "containers, and that it is served")
        for theme in ("light", "dark"):
            page.theme(theme)
            for title in titles:
                page.go(title.lower())
                time.sleep(0.1)
                faults = page.browser.execute_script(ACCESSIBILITY)
                expect(title in page.text("h1") and faults == [], f"{title}, {theme}: labels, names and contrast {faults or ''}")
                page.picture(f"hub-{title.lower()}-{theme}")
        page.theme("light")
        page.size(390, 800)
        for title in titles:
            page.go(title.lower())
            time.sleep(0.1)
            expect(page.browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), f"{title} fits a telephone")
        page.size(1160, 720)
        page.go("users")
        page.wait(lambda b: len(page.all("#users tbody tr")) == 2)
        page.press("/")
        page.browser.switch_to.active_element.send_keys("Bob" + Keys.ENTER)
        page.wait(lambda b: len(page.all("#users tbody tr")) == 1)
        expect("Bob" in page.text("#users"), "a user is found by name")
        page.go("users")
        page.wait(lambda b: len(page.all("#users tbody tr")) == 2)
        run(program, "hub", "users", "add", "--data", folder, "--container", told["container"], "--user", "Cleo")
        page.wait(lambda b: len(page.all("#users tbody tr")) == 3)
        expect("Cleo" in page.text("#users"), "a change by another process is shown")
        page.go("requests")
        slow_requests(program, f"{folder}-slow", told, serving)
        page.wait(lambda b: page.all("#requests tbody tr"))
        row = page.text("#requests tbody tr")
        expect(" ms" in row and told["container"] in row, f"a slow request is shown by itself: {row[:70]}")
        page.picture("hub-requests-slow")
        page.go("zones")
        page.wait(lambda b: "Slow" in page.text("#databases"))
        expect("KiB" in page.text("#databases") and "Ada" in page.text("#databases"), "zones have their owners and sizes")
        page.go("sessions")
        page.wait(lambda b: len(page.all("#sessions tbody tr")) == 2)
        secrets = [told["apiToken"]] + [user["webAuthToken"] for user in told["users"]]
        expect(not any(secret in page.browser.page_source for secret in secrets), "no secret is shown")
        page.all("#sessions button.danger")[0].click()
        page.confirm(os.path.basename(folder))
        page.wait(lambda b: len(page.all("#sessions tbody tr")) == 1)
        page.wait(lambda b: "1 session" in page.text("#facts").split(" · "))
        expect(True, "a session is ended, and one is not told as several")
        complaints = page.complaints()
        expect(complaints == [], f"the console is empty, and no request failed {complaints or ''}")
        expect(studio.stop() == 0, "the command ends well")
        serving.terminate()
        serving.wait(30)
        studio = Studio(program, folder)
        page.browser.get(studio.url)
        page.one("[data-page=overview] h1")
        expect(f"start it with: backstitch hub --data {folder}" in page.text(), "a hub that does not run is started by the command as shown")
        expect(page.text("#facts").startswith("not served · 1 session · "), "the head says so, too")
        page.complaints()  # The page before had a call under way when its server ended.
        expect(studio.stop() == 0, "the command ends well")
    finally:
        serving.terminate()
        serving.wait(30)


main()
