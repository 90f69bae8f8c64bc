#!/usr/bin/env python3
"""Signs in on a hub's page in Chromium, from a web page that does as CloudKit JS does: it asks without a user,
is told where to sign in, opens that in a window of its own, waits for its message, and asks again. Then pages that
mean ill try to get at the token, to frame the page, and to send its form.

    .build/python/bin/python Tests/browser/signin.py PROGRAM      the built `backstitch`

All is on the loopback and in a temporary folder. Tests/prepare.sh --all installs what it needs.
"""

import http.server
import json
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

CONTAINER = "iCloud.web"
PATIENCE = 60

# What an application's page does, as CloudKit JS does it. `window.opened` is the window of the sign-in page.
APPLICATION = """<!DOCTYPE html><title>app</title><button id="sign-in" disabled>Sign in</button>
<p id="state">starting</p><script>
const hub = %(hub)s, token = %(token)s;
let url, ckWebAuthToken;
const state = (text) => { document.getElementById("state").textContent = text; };
async function ask() {
  let target = `${hub}/database/1/%(container)s/development/private/zones/list?ckAPIToken=${token}`;
  if (ckWebAuthToken) { target += "&ckWebAuthToken=" + encodeURIComponent(ckWebAuthToken); }
  const response = await fetch(target);
  const body = await response.json();
  if (body.serverErrorCode === "AUTHENTICATION_REQUIRED") {
    url = body.redirectURL;
    document.getElementById("sign-in").disabled = false;
    return state("signed out");
  }
  state(response.ok ? "signed in: " + body.zones.map((zone) => zone.zoneID.zoneName) : "failed");
}
window.messages = [];
window.addEventListener("message", (event) => {
  window.messages.push([event.origin, event.data]);
  if (event.data.ckWebAuthToken) { ckWebAuthToken = event.data.ckWebAuthToken; ask(); }
});
document.getElementById("sign-in").onclick = () => { window.opened = window.open(url, "", "width=400,height=500"); };
ask();
</script>"""
CALLED_BACK = """<!DOCTYPE html><title>called back</title><p id="state"></p><script>
const query = new URLSearchParams(location.search);
fetch(%(hub)s + "/database/1/%(container)s/development/private/zones/list?ckAPIToken=" + %(token)s
  + "&ckWebAuthToken=" + encodeURIComponent(query.get("ckWebAuthToken"))).then((response) => {
  document.getElementById("state").textContent = response.ok ? "signed in" : "failed"; });
</script>"""
FRAMING = """<!DOCTYPE html><title>frames</title><iframe src="%(page)s"></iframe>"""
FORGING = """<!DOCTYPE html><title>forges</title><form method="post" action="%(page)s">
<input name="by" value="code"><input name="code" value="%(code)s"></form><script>document.forms[0].submit()</script>"""
READING = """<!DOCTYPE html><title>reads</title><p id="state">waiting</p><script>
const done = (text) => { document.getElementById("state").textContent = text; };
fetch(%(quoted)s).then((r) => r.text()).then(() => done("read"), () => done("refused"));
</script>"""


class Pages:
    """Serves pages by their path at an origin of its own."""

    def __init__(self):
        self.pages = {}
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                page = owner.pages.get(self.path.split("?")[0])
                self.send_response(200 if page else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write((page or "").encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        # Another name than the hub's, so that it is another site and not only another origin.
        self.origin = f"http://localhost:{self.server.server_port}"


class Hub:
    def __init__(self, program, folder):
        self.program = program
        self.options = ["--data", f"{folder}/hub", "--container", CONTAINER]
        self.run("containers", "add")
        self.token = json.loads(self.run("token", "--json", "--label", "app"))["apiToken"]
        self.id = json.loads(self.run("tokens", "list", "--json"))["tokens"][0]["id"]
        self.run("users", "add", "--user", "Ada")
        self.run("users", "password", "--user", "Ada", "--password-file", "-", text="correct horse 1\n")
        self.process = subprocess.Popen(
            [program, "hub", "serve", "--json", "--listen", "127.0.0.1:0", "--data", f"{folder}/hub"],
            stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def run(self, *words, text=None):
        return subprocess.run(
            [self.program, "hub", *words, *self.options], check=True, input=text, text=True,
            stdout=subprocess.PIPE).stdout

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)


def expect(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")
    print(f"  {what}")


def driver():
    options = webdriver.ChromeOptions()
    # The sandbox needs rights that containers lack.
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]:
        options.add_argument(argument)
    options.binary_location = "/usr/bin/chromium"
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def wait(browser, condition):
    return WebDriverWait(browser, PATIENCE).until(condition)


def state(browser):
    return browser.find_element(By.ID, "state").text


def open_sign_in(browser, page):
    """Opens the application's page, and from it the sign-in page, in whose window the browser is then."""
    browser.get(page)
    wait(browser, lambda b: state(b) == "signed out")
    own = browser.current_window_handle
    others = set(browser.window_handles)
    browser.find_element(By.ID, "sign-in").click()
    wait(browser, lambda b: len(b.window_handles) > len(others))
    browser.switch_to.window((set(browser.window_handles) - others).pop())
    wait(browser, lambda b: b.find_elements(By.NAME, "password"))
    return own


def type_password(browser, password):
    browser.find_element(By.NAME, "name").send_keys("Ada")
    browser.find_element(By.NAME, "password").send_keys(password)
    browser.find_element(By.XPATH, "//form[.//input[@name='password']]//button").click()


def policy_breaches(browser):
    """What the browser refused since this was asked last."""
    return [e["message"] for e in browser.get_log("browser") if "Content Security Policy" in e["message"]]


def main():
    with tempfile.TemporaryDirectory() as folder:
        hub, browser = Hub(sys.argv[1], folder), driver()
        try:
            check(hub, browser)
        finally:
            browser.quit()
            code = hub.stop()
        expect(code == 0, "the hub ends well")


def check(hub, browser):
    app, evil = Pages(), Pages()
    values = {"hub": json.dumps(hub.url), "token": json.dumps(hub.token), "container": CONTAINER}
    for pages in (app, evil):
        pages.pages["/"] = APPLICATION % values
    app.pages["/called-back"] = CALLED_BACK % values
    hub.run("tokens", "change", "--id", hub.id, "--origin", app.origin, "--origin", "https://app.example.com")

    print("-- a user signs in with a password")
    own = open_sign_in(browser, app.origin)
    page = browser.current_url
    type_password(browser, "wrong horse")
    wait(browser, lambda b: "did not work" in b.page_source)
    type_password(browser, "correct horse 1")
    wait(browser, lambda b: len(b.window_handles) == 1)
    browser.switch_to.window(own)
    wait(browser, lambda b: state(b).startswith("signed in"))
    expect(state(browser) == "signed in: _defaultZone", "the window closes, and the page goes on with the token")
    messages = browser.execute_script("return window.messages")
    expect([m[0] for m in messages] == [hub.url], "the token came by one message, from the hub")

    print("-- a user signs in with a code")
    own = open_sign_in(browser, app.origin)
    code = hub.run("users", "code", "--user", "Ada").strip()
    browser.find_element(By.NAME, "code").send_keys(code.lower())
    browser.find_element(By.XPATH, "//form[.//input[@name='code']]//button").click()
    wait(browser, lambda b: len(b.window_handles) == 1)
    browser.switch_to.window(own)
    wait(browser, lambda b: state(b).startswith("signed in"))
    expect(True, "the code gives a session")

    expect(policy_breaches(browser) == [], "the page keeps its own policy")

    print("-- another page opens the sign-in page")
    own = open_sign_in(browser, evil.origin)
    type_password(browser, "correct horse 1")
    wait(browser, lambda b: len(b.window_handles) == 1)
    browser.switch_to.window(own)
    expect(state(browser) == "signed out", "it is not told the token")
    expect(browser.execute_script("return window.messages") == [], "no message reaches it")

    print("-- another page frames, forges and reads")
    evil.pages["/frames"] = FRAMING % {"page": page}
    browser.get(evil.origin + "/frames")
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    expect(not browser.find_elements(By.NAME, "password"), "the page is not shown in a frame")
    browser.switch_to.default_content()
    code = hub.run("users", "code", "--user", "Ada").strip()
    evil.pages["/forges"] = FORGING % {"page": page, "code": code}
    browser.get(evil.origin + "/forges")
    wait(browser, lambda b: b.current_url == page)
    expect("from another page" in browser.page_source, "a form that another page sends is refused")
    expect("data-token" not in browser.page_source, "and signs nobody in")
    evil.pages["/reads"] = READING % {"quoted": json.dumps(page)}
    browser.get(evil.origin + "/reads")
    wait(browser, lambda b: state(b) != "waiting")
    expect(state(browser) == "refused", "a script of another page can't read it")

    expect(policy_breaches(browser) != [], "the browser says that it kept to the page's policy")

    print("-- an application that is sent back to")
    hub.run("tokens", "change", "--id", hub.id, "--callback", app.origin + "/called-back?step=2")
    browser.get(page)
    type_password(browser, "correct horse 1")
    wait(browser, lambda b: b.current_url.startswith(app.origin))
    wait(browser, lambda b: state(b) != "")
    expect(state(browser) == "signed in", "the address has a token that counts")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(browser.current_url).query)
    expect(query["step"] == ["2"] and "ckSession" in query, "and what the address had")
    expect(policy_breaches(browser) == [], "the page keeps its own policy")


main()
