#!/usr/bin/env python3
"""Gives a store journals that it should not have, and sees what it makes of them.

A process that commits one contact a transaction is killed while they wait in the journal. Then the journal, the data
file or the folder is changed in one way: cut, extended, exchanged with older or newer ones or those of another store,
damaged in one place, made read-only; each in the running system and as after a restart of it. A copy is read first and
another one opened for writing first. What has to come of it is either of:

- everything that was acknowledged is there, 'verify' finds nothing, and the store takes more;
- it is refused, by an error that says what to do.

After a restart of the system, the end of a journal may be cut or damaged as a power cut would leave it that came
before the last records were written: then a beginning of what was acknowledged may be there, without a gap, and is told
as such.

What is lost in silence otherwise, found there in part, ends by a signal or does not end is a finding.

    audit.py --backstitch PROGRAM --bench PROGRAM [--only NAME]... [--folder DIR] [--json]

PROGRAMs are release builds of backstitch and backstitch-bench. As root it also tries a folder that the user may
only read. Takes some minutes. Exit codes: 0 nothing was found, 1 something was.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE = 60
PAGE = 4096
HALF = 4 << 20
RECORDS = 2 * PAGE
WHOLE = RECORDS + 2 * HALF
MASK = (1 << 64) - 1
# An error that says what to do has one of these.
ADVICE = re.compile(r"restore|put |delete|close |open it|check |free |make |give |run |move |again|permission", re.I)
NOBODY = 65534


def xxh64(data, seed=0):
    """XXH64, as the header of a journal has it."""
    p1, p2, p3, p4, p5 = (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)

    def left(value, by):
        return (value << by | value >> (64 - by)) & MASK

    def part(sum_, lane):
        return left((sum_ + lane * p2) & MASK, 31) * p1 & MASK

    def lane(at):
        return int.from_bytes(data[at : at + 8], "little")

    at = 0
    if len(data) >= 32:
        sums = [(seed + p1 + p2) & MASK, (seed + p2) & MASK, seed, (seed - p1) & MASK]
        while at + 32 <= len(data):
            for index in range(4):
                sums[index] = part(sums[index], lane(at + 8 * index))
            at += 32
        hash_ = sum(left(s, by) for s, by in zip(sums, (1, 7, 12, 18))) & MASK
        for sum_ in sums:
            hash_ = ((hash_ ^ part(0, sum_)) * p1 + p4) & MASK
    else:
        hash_ = (seed + p5) & MASK
    hash_ = (hash_ + len(data)) & MASK
    while at + 8 <= len(data):
        hash_ = (left(hash_ ^ part(0, lane(at)), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        hash_ = (left(hash_ ^ int.from_bytes(data[at : at + 4], "little") * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        hash_ = left(hash_ ^ byte * p5 & MASK, 11) * p1 & MASK
    hash_ = (hash_ ^ hash_ >> 33) * p2 & MASK
    hash_ = (hash_ ^ hash_ >> 29) * p3 & MASK
    return hash_ ^ hash_ >> 32


class Programs:
    def __init__(self, backstitch, bench):
        self.backstitch = os.path.abspath(backstitch)
        self.bench = os.path.abspath(bench)

    def save(self, store, count):
        """Commits so many transactions, kills the process, and returns nothing: all were acknowledged."""
        with subprocess.Popen(
                [self.bench, "save-and-wait", store, str(count), "1", "full"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            last = 0
            for line in process.stdout:
                last = int(line)
                if last == count:
                    process.kill()
            complaint = process.stderr.read()
        if last != count:
            raise RuntimeError(f"{last} of {count} were saved: {complaint}")

    def open(self, store):
        """Opens a store to write to it, and closes it, which puts what waits into the data file."""
        return self.run("import", store, os.devnull)

    def run(self, *words, user=None):
        before = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return self.start([*before, self.backstitch, *words])

    @staticmethod
    def start(words):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return None, "", f"it did not end in {PATIENCE} s"
        return done.returncode, done.stdout, done.stderr.strip()


class Words:
    """The numbers of a journal's second page, by their offsets."""

    BOOT, TAIL, APPLIED, OTHER_HALF, COMMITTING = 0, 16, 24, 32, 40


class Journal:
    """The bytes of a journal, to be changed."""

    def __init__(self, store):
        self.path = os.path.join(store, "journal")
        with open(self.path, "rb") as file:
            self.bytes = bytearray(file.read())

    def keep(self):
        with open(self.path, "r+b") as file:
            file.truncate(0)
            file.write(self.bytes)

    def word(self, offset):
        return int.from_bytes(self.bytes[PAGE + offset : PAGE + offset + 8], "little")

    def set_word(self, offset, number):
        self.bytes[PAGE + offset : PAGE + offset + 8] = number.to_bytes(8, "little")

    def restart(self):
        """What the words say is of an earlier start of the system."""
        for index in range(16):
            self.bytes[PAGE + index] ^= 0x5A

    def set_head(self, offset, number):
        self.bytes[offset : offset + 8] = number.to_bytes(8, "little")
        self.bytes[24:32] = xxh64(bytes(self.bytes[:24])).to_bytes(8, "little")

    def records(self):
        """The offsets of the pages that begin with a plausible record, by their numbers."""
        found = {}
        for at in range(RECORDS, len(self.bytes), PAGE):
            number = int.from_bytes(self.bytes[at : at + 8], "little")
            count = int.from_bytes(self.bytes[at + 16 : at + 20], "little")
            if number and 0 < count <= PAGE - 32 and self.bytes[at + 20 : at + 24] == bytes(4):
                found[number] = at
        return found

    def waiting(self):
        """The offsets of the last records, up to the tail, oldest first."""
        records = self.records()
        return [records[n] for n in sorted(records) if self.word(Words.APPLIED) < n <= self.word(Words.TAIL)]


class Audit:
    def __init__(self, programs, folder, only):
        self.programs, self.folder, self.only = programs, folder, only
        self.outcomes, self.findings = [], []
        # The ages of the contacts in the order in which they were committed.
        self.ages = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def copy(self, store, name):
        to = self.path(name)
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(store, to)
        return to

    def read(self, store, user=None):
        """What a program sees that only reads: how many contacts, or the error.

        The count is negative if it is not the first so many.
        """
        code, text, complaint = self.programs.run("export", store, "--entity", "Contact", user=user)
        if code != 0:
            return None, code, complaint
        ages = sorted(json.loads(line)["values"]["age"]["int64"] for line in text.splitlines())
        is_beginning = ages == sorted((self.ages + list(range(20)))[: len(ages)])
        return len(ages) if is_beginning else -len(ages), code, complaint

    def judge(self, name, code, complaint):
        """Judges a failure."""
        if code is None or code < 0 or code > 2:
            self.find(name, f"it ended by {code}: {complaint[-300:]}")
        elif not ADVICE.search(complaint):
            self.find(name, f"the error doesn't say what to do: {complaint}")
        else:
            self.outcomes.append((name, "refused", complaint))

    def find(self, name, what):
        print(f"FINDING {name}: {what}", flush=True)
        self.findings.append((name, what))
        self.outcomes.append((name, "finding", what))

    def attack(self, name, store, acknowledged, change, restarts=(False, True), is_end=False):
        """Changes copies of a store, and opens them.

        `is_end` says that after a restart it can't be told from a power cut; None, that it never can.
        """
        if self.only and not any(word in name for word in self.only):
            return
        for restart in restarts:
            for first in ("read", "write"):
                title = f"{name}, {'after a restart' if restart else 'running'}, {first} first"
                copy = self.copy(store, "copy")
                change(copy)
                if restart and os.path.isfile(os.path.join(copy, "journal")):
                    journal = Journal(copy)
                    if len(journal.bytes) >= RECORDS:
                        journal.restart()
                        journal.keep()
                may_lack = is_end is None or is_end and restart
                self.open(title, copy, acknowledged, first, least=0 if may_lack else acknowledged)

    def open(self, title, store, acknowledged, first, least=None):
        least = acknowledged if least is None else least
        if first == "read":
            count, code, complaint = self.read(store)
            if count is None:
                return self.judge(title, code, complaint)
            if count < least:
                return self.find(title, f"a read finds {count} of {acknowledged}, and no error")
        else:
            code, text, complaint = self.programs.open(store)
            if code != 0:
                return self.judge(title, code, complaint)
        code, text, complaint = self.programs.run("verify", store)
        if code != 0:
            if code == 1:
                return self.find(title, f"verify: {text[-300:]} {complaint[-300:]}")
            return self.judge(title, code, complaint)
        count, code, complaint = self.read(store)
        if count is None:
            return self.find(title, f"verify found nothing, and a read fails: {complaint}")
        if count < least:
            return self.find(title, f"{count} of {acknowledged} are left, and no error")
        try:
            self.programs.save(store, 20)
        except RuntimeError as error:
            return self.find(title, f"it opens, and takes no more: {error}")
        more, code, complaint = self.read(store)
        if more is None or abs(more) != count + 20:
            return self.find(title, f"{more} of {count + 20} after more was saved: {complaint}")
        code, text, complaint = self.programs.run("verify", store)
        if code != 0:
            return self.find(title, f"verify after more was saved: {code} {text[-300:]} {complaint[-300:]}")
        kind = "whole" if count >= acknowledged else "as after a power cut"
        self.outcomes.append((title, kind, f"{count} of {acknowledged}"))

    # MARK: What is done

    def cuts(self, store, acknowledged):
        waiting = [at for at in Journal(store).waiting()]
        lengths = {
            "to nothing": 0, "to a byte": 1, "into its header": 31, "to a page": PAGE, "to a byte less than its words":
            RECORDS - 1, "behind its words": RECORDS, "a byte behind its words": RECORDS + 1,
            "to as many as are lent": RECORDS + PAGE, "to the reserve": RECORDS + (1 << 20),
            "behind the first waiting record": waiting[0] + PAGE, "within the middle waiting record":
            waiting[len(waiting) // 2] + 100, "before the last waiting record": waiting[-1],
            "behind the last waiting record": waiting[-1] + PAGE, "to the first half": RECORDS + HALF,
            "by a page": WHOLE - PAGE, "by a byte": WHOLE - 1,
        }
        for name, length in lengths.items():
            self.attack(
                f"cut {name}", store, acknowledged,
                lambda copy, length=length: os.truncate(os.path.join(copy, "journal"), length),
                is_end=length >= RECORDS)
        for name, more in {"a byte": 1, "a page": PAGE, "a mebibyte": 1 << 20}.items():
            self.attack(
                f"extended by {name}", store, acknowledged,
                lambda copy, more=more: os.truncate(os.path.join(copy, "journal"), WHOLE + more))

    def edit(self, name, store, acknowledged, body, is_end=False):
        def change(copy):
            journal = Journal(copy)
            body(journal)
            journal.keep()

        self.attack(name, store, acknowledged, change, is_end=is_end)

    def damages(self, store, acknowledged):
        def swap(journal):
            first, second = RECORDS + HALF, RECORDS + 2 * HALF
            journal.bytes[RECORDS:second] = journal.bytes[first:second] + journal.bytes[RECORDS:first]

        self.edit("halves swapped", store, acknowledged, swap)

        def both(journal):
            journal.bytes[RECORDS + HALF : WHOLE] = journal.bytes[RECORDS : RECORDS + HALF]

        self.edit("both halves the same", store, acknowledged, both)
        for name, index in {"first": 0, "middle": 0.5, "last": 1}.items():
            def place(journal, index=index):
                waiting = journal.waiting()
                return waiting[int(index * (len(waiting) - 1))]

            def clear(journal, place=place):
                at = place(journal)
                journal.bytes[at : at + PAGE] = bytes(PAGE)

            def flip(journal, place=place):
                journal.bytes[place(journal) + 40] ^= 1

            def lengthen(journal, place=place):
                at = place(journal)
                journal.bytes[at + 16 : at + 20] = (0xFFFF_FFF0).to_bytes(4, "little")

            def repeat(journal, place=place):
                at = place(journal)
                journal.bytes[at + PAGE : at + 2 * PAGE] = journal.bytes[at : at + PAGE]

            self.edit(f"{name} waiting record cleared", store, acknowledged, clear, index == 1)
            self.edit(f"a bit of the {name} waiting record flipped", store, acknowledged, flip, index == 1)
            self.edit(f"length of the {name} waiting record enormous", store, acknowledged, lengthen, index == 1)
            self.edit(f"{name} waiting record twice", store, acknowledged, repeat)
        self.edit(
            "records cleared", store, acknowledged,
            lambda journal: journal.bytes.__setitem__(slice(RECORDS, WHOLE), bytes(2 * HALF)), True)

    def heads(self, store, acknowledged):
        def magic(journal):
            journal.bytes[7] ^= 3

        self.edit("another magic number", store, acknowledged, magic)
        self.edit("another id", store, acknowledged, lambda j: j.set_head(8, 12345))
        for half in (0, 1, PAGE, 96 << 10, HALF // 2, HALF * 2, 1 << 30, 1 << 40, MASK):
            self.edit(
                f"halves of {half} bytes", store, acknowledged, lambda j, half=half: j.set_head(16, half), True)

    def words(self, store, acknowledged):
        for name, offset in {"tail": Words.TAIL, "applied": Words.APPLIED, "end of the other half": Words.OTHER_HALF,
                             "committing": Words.COMMITTING}.items():
            for text, value in {
                    "0": lambda old: 0, "1": lambda old: 1, "one more": lambda old: old + 1,
                    "ten more": lambda old: old + 10, "the greatest": lambda old: MASK}.items():
                # In the running system these are messages, and not what a crash can change. Nothing may crash.
                if (name, text) in (("tail", "0"), ("tail", "1")):
                    continue
                self.edit(
                    f"{name} is {text}", store, acknowledged,
                    lambda j, offset=offset, value=value: j.set_word(offset, value(j.word(offset))))

    def mixtures(self, first, second, second_count, other, closed, closed_count, later):
        """Files of different moments, and of different stores."""

        def take(name, source):
            return lambda copy: shutil.copyfile(os.path.join(source, name), os.path.join(copy, name))

        # As long as the data file has no more than the older journal knows, the folder is one of that moment.
        self.attack("a journal of a moment before", second, second_count, take("journal", first), is_end=None)
        self.ages += list(range(60))
        self.attack("an older journal", later, second_count + 60, take("journal", first), is_end=True)
        self.attack("an older data file, far behind", later, second_count + 60, take("data.mdb", first))
        del self.ages[-60:]
        self.attack("an older data file", second, second_count, take("data.mdb", first))
        self.attack("an older lock file", second, second_count, take("lock.mdb", first))
        self.attack("the journal of another store", second, second_count, take("journal", other))
        self.attack("the data file of another store", second, second_count, take("data.mdb", other))
        self.attack("closed, with an older journal", closed, closed_count, take("journal", second))
        self.attack("closed, with the journal of another store", closed, closed_count, take("journal", other))
        self.attack("closed, with the data file from before", closed, closed_count, take("data.mdb", second))
        self.attack(
            "closed, without a journal", closed, closed_count,
            lambda copy: os.remove(os.path.join(copy, "journal")))

    def files(self, store, acknowledged):
        def name(path, what="journal"):
            return os.path.join(path, what)

        def replace(with_what):
            def change(copy):
                os.remove(name(copy))
                with_what(name(copy))

            return change

        self.attack("no journal", store, acknowledged, lambda copy: os.remove(name(copy)))
        self.attack("no lock file", store, acknowledged, lambda copy: os.remove(name(copy, "lock.mdb")))
        self.attack(
            "neither", store, acknowledged,
            lambda copy: [os.remove(name(copy, what)) for what in ("journal", "lock.mdb")])
        self.attack("a folder as the journal", store, acknowledged, replace(os.mkdir), (False,))
        self.attack(
            "a link to nothing as the journal", store, acknowledged,
            replace(lambda path: os.symlink("nowhere", path)), (False,))

        def link(copy):
            os.rename(name(copy), name(copy, "moved"))
            os.symlink("moved", name(copy))

        self.attack("a link to the journal", store, acknowledged, link)
        self.attack(
            "a journal that may not be written", store, acknowledged, lambda copy: os.chmod(name(copy), 0o444))

    def read_only(self, store, acknowledged, kind):
        """A folder that the user may only read."""
        if os.geteuid() != 0 or self.only and not any(word in "read-only" for word in self.only):
            return
        for restart in (False, True):
            title = f"a read-only folder, {kind}, {'after a restart' if restart else 'running'}"
            copy = self.copy(store, "copy")
            if restart:
                journal = Journal(copy)
                journal.restart()
                journal.keep()
            for at in [copy, *(os.path.join(copy, name) for name in os.listdir(copy))]:
                os.chmod(at, 0o555 if os.path.isdir(at) else 0o444)
            count, code, complaint = self.read(copy, user=NOBODY)
            if count is None:
                self.judge(f"{title}, read", code, complaint)
            elif count != acknowledged:
                self.find(f"{title}, read", f"a read finds {count} of {acknowledged}, and no error")
            else:
                self.outcomes.append((f"{title}, read", "whole", f"{count} of {acknowledged}"))
            code, text, complaint = self.programs.run("verify", copy, user=NOBODY)
            if code == 0:
                self.outcomes.append((f"{title}, verify", "whole", text[-100:]))
            else:
                self.judge(f"{title}, verify", code, text + complaint)
            for at in [copy, *(os.path.join(copy, name) for name in os.listdir(copy))]:
                os.chmod(at, 0o755 if os.path.isdir(at) else 0o644)
            self.open(title + ", and then writable", copy, acknowledged, "read")

    def run(self):
        made, count = self.path("made"), 0
        self.programs.save(made, 60)
        count += 60
        self.ages = list(range(60)) * 2
        first = self.copy(made, "first")
        self.programs.save(made, 60)
        count += 60
        other = self.path("other")
        self.programs.save(other, 60)
        closed = self.copy(made, "closed")
        if self.programs.open(closed)[0] != 0:
            raise RuntimeError("The store that was killed can't be opened.")
        # Its data file has more than the first one's journal.
        later = self.copy(closed, "later")
        self.programs.save(later, 60)
        waiting = Journal(made).waiting()
        print(f"{len(waiting)} records wait of {count} transactions", flush=True)
        if len(waiting) < 20:
            raise RuntimeError("Too few records wait.")
        self.attack("as it is", made, count, lambda copy: None)
        self.cuts(made, count)
        self.damages(made, count)
        self.heads(made, count)
        self.words(made, count)
        self.mixtures(first, made, count, other, closed, count, later)
        self.files(made, count)
        self.read_only(made, count, "records wait")
        self.read_only(closed, count, "closed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backstitch", required=True)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--only", action="append")
    parser.add_argument("--folder")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        os.chmod(folder, 0o755)
        audit = Audit(Programs(wanted.backstitch, wanted.bench), folder, wanted.only)
        audit.run()
    for name, outcome, detail in audit.outcomes:
        if wanted.json:
            print(json.dumps({"name": name, "outcome": outcome, "detail": detail}))
        elif outcome != "finding":
            print(f"{outcome}: {name}: {detail}")
    kinds = [outcome for _, outcome, _ in audit.outcomes]
    print(
        f"{len(kinds)} attempts in {time.monotonic() - start:.0f} s: {kinds.count('whole')} whole, "
        f"{kinds.count('as after a power cut')} as after a power cut, {kinds.count('refused')} refused, "
        f"{kinds.count('finding')} findings")
    sys.exit(1 if audit.findings else 0)


if __name__ == "__main__":
    main()
