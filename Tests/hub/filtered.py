#!/usr/bin/env python3
"""Runs a program under the filter of system calls that a unit of systemd asks for.

    filtered.py UNIT PROGRAM [ARGUMENT...]

The filter has the unit's SystemCallFilter=, whose sets systemd-analyze knows, SystemCallErrorNumber=, RestrictAddressFamilies=
and MemoryDenyWriteExecute=. The unit's other settings are not applied. The program takes the place of this one, with its process
id; programs that it starts have the filter too.

Exit code 3: this machine lacks systemd-analyze or libseccomp.
"""

import ctypes
import ctypes.util
import errno
import os
import shutil
import socket
import subprocess
import sys

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
# Comparisons of an argument of a call.
LESS, EQUAL, GREATER, MASKED = 2, 4, 6, 7
WRITABLE, EXECUTABLE, EXECUTABLE_SEGMENT = 2, 4, 0o100000
# Those that systemd allows beside what a unit lists.
ALWAYS = ["@default", "execve"]


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("kind", ctypes.c_int), ("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


def fail(message, code=1):
    print(f"filtered.py: {message}", file=sys.stderr)
    sys.exit(code)


def library():
    name = ctypes.util.find_library("seccomp")
    if name is None:
        fail("libseccomp is missing (the package libseccomp2)", 3)
    library = ctypes.CDLL(name)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_load.argtypes = [ctypes.c_void_p]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Comparison)]
    return library


class Filter:
    """What becomes of calls. Of several filters of a process the strictest counts."""

    def __init__(self, library, usual):
        self.library, self.usual = library, usual
        self.context = library.seccomp_init(usual)
        if not self.context:
            fail("a filter can't be made")

    def add(self, action, call, *comparisons):
        number = self.library.seccomp_syscall_resolve_name(call.encode())
        # Calls of other architectures have no number, and those that have one below 0 are none of this one's.
        if number < 0 or action == self.usual:
            return
        rules = (Comparison * max(1, len(comparisons)))(*(Comparison(*values) for values in comparisons))
        result = self.library.seccomp_rule_add_array(self.context, action, number, len(comparisons), rules)
        if result != 0:
            fail(f"no rule can be made for {call}: {os.strerror(-result)}")

    def load(self):
        result = self.library.seccomp_load(self.context)
        if result != 0:
            fail(f"the system takes no filter: {os.strerror(-result)}")


def settings(unit):
    """The lines of a unit, as pairs of key and value."""
    with open(unit) as file:
        return [tuple(part.strip() for part in line.split("=", 1)) for line in file if "=" in line and line[0] not in "#;["]


def calls(names):
    """The calls of a list that may have sets."""
    found, wanted, known = set(), list(names), set()
    while wanted:
        name = wanted.pop()
        if not name.startswith("@"):
            found.add(name)
        elif name not in known:
            known.add(name)
            lines = subprocess.run(
                ["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True).stdout.splitlines()
            wanted += [line.strip() for line in lines[1:] if line.strip() and not line.strip().startswith("#")]
    return found


def allowed(lines):
    """The calls that lines of SystemCallFilter= allow, the first of which has to be a list of those."""
    if not lines or lines[0].startswith("~"):
        fail("the unit does not list the calls that it allows")
    result = set()
    for line in lines:
        if ":" in line or not line:
            fail(f"'SystemCallFilter={line}' is not understood")
        if line.startswith("~"):
            result -= calls(line[1:].split())
        else:
            result |= calls(line.split())
    return result | calls(ALWAYS)


def restrict_families(library, names):
    """Lets sockets be of some families alone."""
    families = sorted(int(getattr(socket, name)) for name in names)
    filter, refused = Filter(library, ALLOW), ERRNO | errno.EAFNOSUPPORT
    filter.add(refused, "socket", (0, LESS, families[0], 0))
    filter.add(refused, "socket", (0, GREATER, families[-1], 0))
    for family in range(families[0], families[-1]):
        if family not in families:
            filter.add(refused, "socket", (0, EQUAL, family, 0))
    filter.load()


def refuse_made_code(library):
    """Refuses memory that is written to and run as code."""
    filter, refused = Filter(library, ALLOW), ERRNO | errno.EPERM
    both = WRITABLE | EXECUTABLE
    filter.add(refused, "mmap", (2, MASKED, both, both))
    filter.add(refused, "mprotect", (2, MASKED, EXECUTABLE, EXECUTABLE))
    filter.add(refused, "pkey_mprotect", (2, MASKED, EXECUTABLE, EXECUTABLE))
    filter.add(refused, "shmat", (2, MASKED, EXECUTABLE_SEGMENT, EXECUTABLE_SEGMENT))
    filter.load()


def main():
    if len(sys.argv) < 3:
        fail(__doc__)
    unit, program = sys.argv[1], sys.argv[2:]
    if shutil.which("systemd-analyze") is None:
        fail("systemd-analyze is missing (the package systemd)", 3)
    lib = library()
    lines = settings(unit)
    values = dict(lines)
    permitted = allowed([value for key, value in lines if key == "SystemCallFilter"])
    refused = ERRNO | getattr(errno, values["SystemCallErrorNumber"])
    # As systemd does: what it does not know counts as a call that the kernel does not have.
    main = Filter(lib, ERRNO | errno.ENOSYS)
    for call in sorted(permitted):
        main.add(ALLOW, call)
    for call in sorted(calls(["@known"]) - permitted):
        main.add(refused, call)
    families = values.get("RestrictAddressFamilies", "")
    if families:
        restrict_families(lib, families.split())
    if values.get("MemoryDenyWriteExecute") == "yes":
        refuse_made_code(lib)
    main.load()
    try:
        os.execvp(program[0], program)
    except OSError as error:
        fail(f"{program[0]} can't be run: {error.strerror}")


if __name__ == "__main__":
    main()
