"""Hubs that attack.py and soak.py run, whose users sign in with a password."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile

import scale

PASSWORD = "nobody guesses this one"


@contextlib.contextmanager
def hub(arguments, names, page, passwords=None, environment=lambda folder: None):
    """Runs a hub over a folder, or over a database of a server of its own; its process, and what it says when it begins.

    `page` are the options of the page where people sign in. The first so many users have a password, or all of them.
    `environment` makes the hub's environment with a folder for files that it needs.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        place = ["--data", folder + "/hub"]
        if arguments.postgresql:
            database = scale.Database()
            stack.callback(database.stop)
            os.mkdir(folder + "/hub", 0o700)
            place += ["--storage", database.address]
            subprocess.run([arguments.backstitch, "hub", "migrate", *place], check=True)
        users = [word for name in names for word in ("--user", name)]
        process = subprocess.Popen(
            [arguments.backstitch, "hub", *place, "--listen", "127.0.0.1:0", "--dev", *users],
            stdout=subprocess.PIPE, env=environment(folder),
        )
        # The last one is called first.
        stack.callback(process.wait)
        stack.callback(process.kill)
        document = json.loads(process.stdout.readline())
        open_sign_in(arguments.backstitch, place, document["users"][:passwords], folder, page)
        yield process, document


def open_sign_in(program, place, users, folder, page):
    """Gives the API token a page where people sign in, and users a password."""
    def command(*words):
        done = subprocess.run([program, "hub", *words, *place], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words[:2])}: {done.stdout}{done.stderr}")
        return done.stdout
    token = json.loads(command("tokens", "list", "--json"))["tokens"][0]["id"]
    command("tokens", "change", "--id", token, *page)
    with open(folder + "/password", "w") as file:
        file.write(PASSWORD)
    for user in users:
        command("users", "password", "--user", user["name"], "--password-file", folder + "/password")
