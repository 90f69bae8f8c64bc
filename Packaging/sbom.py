#!/usr/bin/env python3
"""Writes what a program is made of, as SPDX 2.3 in JSON: what is linked into it, and the libraries that it needs.

    sbom.py PROGRAM VERSION SWIFT_VERSION
    sbom.py --check DOCUMENT PROGRAM COPYRIGHT

The second form says what of a document is not so: it has to be of these bytes, name what is linked into the program and each
library that the program needs, and no other; and COPYRIGHT, as Debian has it, has to have each licence. Exit code 1 if
anything is wrong.

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
    if sys.argv[1:2] == ["--check"]:
        problems = check(*sys.argv[2:])
        print(*problems, sep="\n", file=sys.stderr)
        sys.exit(1 if problems else 0)
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


def check(path, program, copyright):
    """What is wrong with a document, in sentences."""
    document = json.loads(pathlib.Path(path).read_text())
    content = pathlib.Path(program).read_bytes()
    licences = pathlib.Path(copyright).read_text().replace("-with-", " WITH ")
    problems = []
    if document.get("spdxVersion") != "SPDX-2.3" or document.get("dataLicense") != "CC0-1.0":
        problems.append("It is no document of SPDX 2.3.")
    packages = {package["SPDXID"]: package for package in document["packages"]}
    if len(packages) != len(document["packages"]):
        problems.append("A package is there twice.")
    related = {"DESCRIBES": set(), "STATIC_LINK": set(), "DYNAMIC_LINK": set()}
    for relationship in document["relationships"]:
        related[relationship["relationshipType"]].add(relationship["relatedSpdxElement"])
    if set().union(*related.values()) != set(packages):
        problems.append("Packages and relations differ.")
    described = [packages[name] for name in related["DESCRIBES"] if name in packages]
    digest = hashlib.sha256(content).hexdigest()
    if [value["checksumValue"] for package in described for value in package.get("checksums", [])] != [digest]:
        problems.append("It is of another program: the SHA-256 differs.")
    linked = {f"SPDXRef-{name}" for name, _, text in LINKED if text in content}
    owners = {f"SPDXRef-{debian_package(library)[0]}" for library in needed(program)}
    for kind, real in (("STATIC_LINK", linked), ("DYNAMIC_LINK", owners)):
        problems += [f"{name} is missing." for name in sorted(real - related[kind])]
        problems += [f"{name} is not in the program." for name in sorted(related[kind] - real)]
    for package in document["packages"]:
        if package["SPDXID"] in related["DYNAMIC_LINK"]:
            continue
        if f"License: {package['licenseConcluded']}\n" not in licences:
            problems.append(f"{package['name']}: {copyright} lacks the licence {package['licenseConcluded']}.")
    return problems


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
