#!/usr/bin/env python3
"""Opens Studio in Chromium over a store that the demo makes and over a hub: every page, the keyboard, light and
dark, wide and narrow, a change by another process, actions that are confirmed, and what a browser's console says.

    .build/python/bin/python Tests/browser/studio.py PROGRAM [--pictures]

PROGRAM is the built `backstitch`. Screenshots go to .build/screenshots; with --pictures those of the guide are
replaced too. Tests/prepare.sh --all installs what it needs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

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
        print("SKIPPED: Studio's browser test needs Chromium. Run Tests/prepare.sh --all", file=sys.stderr)
        print("SKIPPED: 1 suite, no browser on this machine")
        return
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/packages", "w", encoding="utf-8") as file:
            file.write(packages())
        run(program, "demo", "--input", f"{folder}/packages", "--keep", f"{folder}/kept", "--json")
        kept = [f"{folder}/kept/{name}" for name in ("a", "b")]
        store = next(path for path in kept if run(program, "conflicts", path, "--json"))
        page = Page()
        try:
            reading(program, store, page)
            writing(program, store, page, f"{folder}/copy")
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
    started = time.monotonic()
    page.browser.get(studio.url)
    page.one("[data-page=overview] h1")
    expect(time.monotonic() - started < 5, "it is there within five seconds, without a click")
    expect(all(name in page.text() for name in entities), "the entities are there by name")
    expect([link.text for link in page.all("nav a")] == PAGES, "the navigation is in words")
    expect("token" not in page.browser.current_url, "the token is gone from the address")
    expect(page.text("#mode") == "read-only", "the head says that nothing is changed")
    page.picture("overview", keeps=True)

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
    page.go(f"records/{first['entity']}")
    page.wait(lambda b: len(page.all("main tbody tr")) == 100)
    page.picture("records", keeps=True)

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
    expect(page.text("#relations") != "", "relations are there both ways")

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
    expect("in step" in page.text("#state"), "the state of synchronisation is told")
    expect("stopped" in page.text("#states [aria-current]"), "the engine's state is one of those that are shown")
    expect("Changes" in page.text("#calls") and "ms" in page.text("#calls"), "and its requests, with their times")
    page.go(f"queries?entity={first['entity']}")
    page.wait(lambda b: page.all("#plan li"))
    expect("rows" in page.text("#plan"), "a query is explained, with its time")

    print("-- health")
    page.go("health")
    page.button("Verify").click()
    page.wait(lambda b: page.all("#verdict"))
    expect("Consistent" in page.text("#verdict"), "the store is verified from the page")
    expect(not page.button("Compact the log").is_enabled(), "what would change the store can't be begun")
    page.wait(lambda b: page.all("#files h2"))
    expect("on this device" in page.text("#files"), "the contents of files are told")
    page.picture("health", keeps=True)

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


def hub(program, folder, store, page):
    print("-- a hub's folder")
    serving = subprocess.Popen(
        [program, "hub", "--dev", "--data", folder, "--listen", "127.0.0.1:0", "--user", "Ada", "--user", "Bob"],
        stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(serving.stdout.readline())
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
        page.go("sessions")
        page.wait(lambda b: len(page.all("#sessions tbody tr")) == 2)
        secrets = [told["apiToken"]] + [user["webAuthToken"] for user in told["users"]]
        expect(not any(secret in page.browser.page_source for secret in secrets), "no secret is shown")
        page.all("#sessions button.danger")[0].click()
        page.confirm(os.path.basename(folder))
        page.wait(lambda b: len(page.all("#sessions tbody tr")) == 1)
        expect(True, "a session is ended")
        complaints = page.complaints()
        expect(complaints == [], f"the console is empty, and no request failed {complaints or ''}")
        expect(studio.stop() == 0, "the command ends well")
    finally:
        serving.terminate()
        serving.wait(30)


main()
