#!/usr/bin/env python3
"""Writes what a program is made of, as SPDX 2.3 in JSON: what is linked into it, and the libraries that it needs.

    sbom.py PROGRAM VERSION SWIFT_VERSION

The time of its making is SOURCE_DATE_EPOCH, and the name of the document follows from the program's bytes, so that the
same program gives the same document.
"""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

RUNTIME = "Apache-2.0 WITH Swift-exception"
# What the static libraries of the toolchain bring into a program, by a text that is in it.
LINKED = [
    ("swift-runtime", RUNTIME, b"swift_retain"),
    ("swift-corelibs-foundation", RUNTIME, b"Foundation"),
    ("swift-corelibs-libdispatch", RUNTIME, b"dispatch"),
    ("swift-foundation-icu", "Unicode-3.0", b"icudt"),
    ("blocksruntime", "MIT", b"_NSConcreteMallocBlock"),
]


def main():
    program, version, swift = sys.argv[1:]
    content = pathlib.Path(program).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    packages = [package("backstitch", version, "MIT", checksum=digest)]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", "backstitch")]
    for name, licence, text in LINKED:
        if text in content:
            packages.append(package(name, swift, licence))
            relations.append(relation("SPDXRef-backstitch", "STATIC_LINK", name))
    for library in sorted(needed(program)):
        owner, owner_version = debian_package(library)
        if any(known["name"] == owner for known in packages):
            continue
        packages.append(package(owner, owner_version, "NOASSERTION", library=library))
        relations.append(relation("SPDXRef-backstitch", "DYNAMIC_LINK", owner))
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "backstitch",
        "documentNamespace": f"https://example.org/backstitch/spdx/{digest}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: Packaging/sbom.py"],
        },
        "packages": packages,
        "relationships": relations,
    }
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    print()


def package(name, version, licence, checksum=None, library=None):
    result = {
        "SPDXID": f"SPDXRef-{name}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }
    if checksum:
        result["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
    if library:
        result["comment"] = f"Loaded when the program starts, as {library}; the licence is in that package."
    return result


def relation(subject, kind, name):
    return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": f"SPDXRef-{name}"}


def needed(program):
    lines = subprocess.run(["objdump", "-p", program], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[1] for line in lines if line.split()[:1] == ["NEEDED"]]


def debian_package(library):
    """The package that has a library, and the version that it is built against."""
    # A folder may be known under two names (/lib and /usr/lib).
    found = subprocess.run(["dpkg-query", "--search", f"*/{library}"], check=True, capture_output=True, text=True)
    name = found.stdout.split(":")[0]
    version = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Version}", name], check=True, capture_output=True, text=True)
    return name, version.stdout


main()
