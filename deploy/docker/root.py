#!/usr/bin/env python3
"""Lays out what an image holds: the programs, the libraries they need, and little else.

    deploy/docker/root.py node --bin=build/release/bin --output=/image

OUTPUT/system and OUTPUT/program become one layer each, so that a new version of Longshore is pulled without the libraries.
Everything comes from the Debian that compiled the programs. There is no shell and no package manager, only what
Debian's license terms and scanners for known holes ask for: the packages' copyright files and versions.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess

PROGRAMS = {
    "node": ["longshore-node", "longshore-model"],  # There the models lie that people want to look at.
    "controller": ["longshore-controller", "longshore"],
}

# Parts of these are compiled into the programs: their licenses want to come along.
HEADER_PACKAGES = ["libboost1.74-dev", "libcli11-dev", "libexpected-dev", "nlohmann-json3-dev", "rapidjson-dev"]

USER_ID = 65532  # As other images without a shell have it.

TEXTS = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nlongshore:x:{USER_ID}:{USER_ID}:longshore:/:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nlongshore:x:{USER_ID}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}

# Writable for everybody, since a cluster may run it as any user: what programs write when no volume lies there.
SHARED_FOLDERS = ["tmp", "var/lib/longshore"]

# Copyright files refer to these instead of repeating them; a full stop may follow.
COMMON_LICENSE = re.compile(r"/(usr/share/common-licenses/[\w.+-]*\w)")

LICENSE = pathlib.Path(__file__).resolve().parents[2] / "LICENSE"
CERTIFICATES = pathlib.Path("etc/ssl/certs/ca-certificates.crt")


def lay_out(image: str, binaries: pathlib.Path, output: pathlib.Path) -> None:
    programs = [binaries / name for name in PROGRAMS[image]]
    system, program = output / "system", output / "program"
    libraries = libraries_of(programs)
    copy_libraries(libraries, system)
    of_debian = [library for library in libraries if library == place_of(library)]
    copy_packages_words(packages_of(of_debian) | {"ca-certificates", *HEADER_PACKAGES}, system)
    for library in set(libraries) - set(of_debian):
        copy_words(pathlib.Path(library), system)
    copy(pathlib.Path("/") / CERTIFICATES, system / CERTIFICATES)
    link(system / "usr/lib/ssl/cert.pem", f"/{CERTIFICATES}")  # Where OpenSSL looks when nobody names a file.
    copy(pathlib.Path("/etc/os-release"), system / "etc/os-release")
    for path, text in TEXTS.items():
        write(system / path, text)
    for folder in SHARED_FOLDERS:
        (system / folder).mkdir(parents=True)
        (system / folder).chmod(0o1777)
    copy(LICENSE, program / "usr/share/doc/longshore/copyright")
    for path in programs:
        strip(path, program / "usr/bin" / path.name)


def libraries_of(programs: list[pathlib.Path]) -> list[str]:
    """All libraries, those of libraries too, and the loader. glibc looks names up by itself: no module comes later."""
    text = subprocess.run(["ldd", *map(str, programs)], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"(\S+) => not found", text)
    if missing:
        raise SystemExit(f"root.py: libraries that are not installed: {' '.join(sorted(set(missing)))}")
    return sorted(set(re.findall(r"^\t(?:\S+ => )?(/\S+) \(0x", text, re.MULTILINE)))


def copy_libraries(libraries: list[str], system: pathlib.Path) -> None:
    for name in ("lib", "lib64"):
        (system / "usr" / name).mkdir(parents=True)
        link(system / name, f"usr/{name}")
    for library in libraries:
        copy(pathlib.Path(library), system / place_of(library).lstrip("/"))


def place_of(library: str) -> str:
    """Where it lies in an image: what no package of Debian's has installed, oneDNN, goes to where the loader looks."""
    if library.startswith(("/lib", "/usr/lib")):
        return library
    return f"/usr/lib/{platform.machine()}-linux-gnu/{pathlib.Path(library).name}"


def copy_words(library: pathlib.Path, system: pathlib.Path) -> None:
    """The licences that a package of Python's index has put beside its libraries."""
    folders = [folder for folder in (library.parent.parent / "share/doc").iterdir() if (folder / "LICENSE").exists()]
    if not folders:
        raise SystemExit(f"root.py: {library} has no licence beside it")
    for folder in folders:
        for name in ("LICENSE", "THIRD-PARTY-PROGRAMS"):
            if (folder / name).exists():
                copy(folder / name, system / "usr/share/doc" / folder.name / name)


def packages_of(libraries: list[str]) -> set[str]:
    # dpkg knows a file by the name in its package, which may be with or without /usr.
    found = subprocess.run(["dpkg-query", "-S", *libraries, *map(os.path.realpath, libraries),
                            *(library.removeprefix("/usr") for library in libraries)],
                           check=False, capture_output=True, text=True).stdout
    owners = {path.removeprefix("/usr"): owner.split(":")[0]
              for owner, path in (line.split(": ", 1) for line in found.splitlines())}
    return {owners.get(library.removeprefix("/usr")) or owners[os.path.realpath(library).removeprefix("/usr")]
            for library in libraries}


def copy_packages_words(packages: set[str], system: pathlib.Path) -> None:
    for package in sorted(packages):
        words = system / "usr/share/doc" / package / "copyright"
        copy(pathlib.Path("/usr/share/doc") / package / "copyright", words)
        for path in COMMON_LICENSE.findall(words.read_text()):
            copy(pathlib.Path("/") / path, system / path)
        if package not in HEADER_PACKAGES:
            entry = subprocess.run(["dpkg-query", "--status", package], check=True, capture_output=True, text=True)
            write(system / "var/lib/dpkg/status.d" / package, entry.stdout)


def copy(source: pathlib.Path, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if os.access(source, os.X_OK) and ".so" in source.name else 0o644)


def write(target: pathlib.Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    target.chmod(0o644)


def link(target: pathlib.Path, to: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(to)


def strip(source: pathlib.Path, target: pathlib.Path) -> None:
    """The build id stays: with it a debugger finds the symbols of the program that lies in build/release."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "-o", str(target), str(source)], check=True)
    target.chmod(0o755)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", choices=PROGRAMS)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="where the compiled programs lie")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="a folder that is made")
    arguments = parser.parse_args()
    os.umask(0o022)
    lay_out(arguments.image, arguments.bin, arguments.output)


if __name__ == "__main__":
    main()
