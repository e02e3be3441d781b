"""The software bill of materials in SPDX 2.3: the programs and every library that they use."""

import hashlib
import json
import pathlib
import re
import subprocess
import time

import debian_package
import root

# Debian's short names of licences whose SPDX identifiers are certain. Any other licence is NOASSERTION, with Debian's name as a comment.
LICENSES = {"Apache-2.0": "Apache-2.0", "Expat": "MIT", "MIT": "MIT", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause",
            "BSL-1.0": "BSL-1.0", "curl": "curl", "ISC": "ISC", "Zlib": "Zlib", "LGPL-2.1+": "LGPL-2.1-or-later", "GPL-2+": "GPL-2.0-or-later"}
ROOT = pathlib.Path(__file__).resolve().parents[2]
ONEDNN = ROOT / "cmake/onednn.txt"
CONSOLE = ROOT / "controller/console/web/package-lock.json"  # The built pages of the web console contain its packages.
NAME = "longshore-{}.spdx.json"


def write(programs: pathlib.Path, version: str, epoch: int, output: pathlib.Path) -> None:
    libraries = root.libraries_of([programs / name for name in debian_package.PROGRAMS])
    linked = root.packages_of([library for library in libraries if library == root.path_in_image(library)])
    packages = [package("longshore", version, "Apache-2.0")]
    packages += [debian(name) for name in sorted(linked | set(root.HEADER_PACKAGES))]
    if any(pathlib.Path(library).name.startswith("libdnnl") for library in libraries):
        packages.append(onednn())
    in_pages = pages()
    packages += in_pages
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", packages[0])]
    static = {*root.HEADER_PACKAGES, *(it["name"] for it in in_pages)}
    relations += [relation(packages[0]["SPDXID"], "STATIC_LINK" if it["name"] in static else "DYNAMIC_LINK", it) for it in packages[1:]]
    digest = hashlib.sha256(json.dumps([packages, epoch], sort_keys=True).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"longshore-{version}",
        "documentNamespace": f"https://longshore.dev/spdx/longshore-{version}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "creators": ["Tool: longshore-release"]},
        "packages": packages, "relationships": relations}
    (output / NAME.format(version)).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def package(name: str, version: str, license_id: str, url: str = "", **further) -> dict:
    """`url` is the package URL, by which scanners of vulnerabilities look the package up."""
    references = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}] if url else []
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-plus-", name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseDeclared": license_id, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
            "externalRefs": references, **further}


def debian(name: str) -> dict:
    version, architecture = subprocess.run(["dpkg-query", "-W", "-f=${Version} ${Architecture}\n", name], check=True, capture_output=True,
                                           text=True).stdout.split("\n")[0].split()
    text = pathlib.Path(f"/usr/share/doc/{name}/copyright").read_text(errors="replace")
    main = re.search(r"^Files: *\*\s*\n(?:(?!Files:).*\n)*?License: *(.+)$", text, re.MULTILINE)
    words = main[1].strip() if main else ""
    comment = f"Debian's name of the licence: {words}." if words else "The copyright file of the package is not in Debian's format for programs."
    url = f"pkg:deb/debian/{name}@{version}?arch={architecture}".replace("+", "%2B")
    return package(name, version, LICENSES.get(words, "NOASSERTION"), url, licenseComments=comment)


def onednn() -> dict:
    name, version, digest = re.search(r"^(onednn-cpu-gomp)==(\S+) \\\n +--hash=sha256:(\w+)", ONEDNN.read_text(), re.MULTILINE).groups()
    return package(name, version, "Apache-2.0", f"pkg:pypi/{name}@{version}", checksums=[{"algorithm": "SHA256", "checksumValue": digest}])


def pages() -> list[dict]:
    """The packages of npm that the pages contain; those that only build or test them are marked as `dev`."""
    locked = json.loads(CONSOLE.read_text())["packages"]
    names = [path.removeprefix("node_modules/") for path, it in locked.items() if path and not it.get("dev") and not it.get("devOptional")]
    of_npm = {name: locked[f"node_modules/{name}"] for name in names}
    return [package(name, it["version"], it["license"], f"pkg:npm/{name}@{it['version']}") for name, it in sorted(of_npm.items())]


def relation(source: str, kind: str, target: dict) -> dict:
    return {"spdxElementId": source, "relationshipType": kind, "relatedSpdxElement": target["SPDXID"]}
