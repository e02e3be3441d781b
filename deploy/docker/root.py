#!/usr/bin/env python3
"""Makes the file tree of an image: the programs, the libraries they need, and little else.

    deploy/docker/root.py node --bin=build/release/bin --output=/image

OUTPUT/system and OUTPUT/program become one layer each, so that a new version of Longshore can be pulled without the libraries.
All libraries come from the system that compiled the programs. There is no shell and no package manager. The copyright files and
versions of the Debian packages are included, for their licenses and for vulnerability scanners.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess

PROGRAMS = {
    "node": ["longshore-node", "longshore-model"],  # Models are examined where they are mounted.
    "controller": ["longshore-controller", "longshore"],
}

# Header-only libraries that are compiled into the programs, so their licenses must be included.
HEADER_PACKAGES = ["libboost1.74-dev", "libcli11-dev", "libexpected-dev", "nlohmann-json3-dev", "rapidjson-dev"]

USER_ID = 65532  # The user of other images without a shell, such as distroless.

TEXTS = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nlongshore:x:{USER_ID}:{USER_ID}:longshore:/:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nlongshore:x:{USER_ID}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}

# Writable for all users, because a cluster may run the image as any user. Used if no volume is mounted there.
SHARED_FOLDERS = ["tmp", "var/lib/longshore"]

# Copyright files refer to these files; a full stop may follow the path.
COMMON_LICENSE = re.compile(r"/(usr/share/common-licenses/[\w.+-]*\w)")

LICENSE = pathlib.Path(__file__).resolve().parents[2] / "LICENSE"
CERTIFICATES = pathlib.Path("etc/ssl/certs/ca-certificates.crt")


def lay_out(image: str, binaries: pathlib.Path, output: pathlib.Path) -> None:
    programs = [binaries / name for name in PROGRAMS[image]]
    system, program = output / "system", output / "program"
    libraries = libraries_of(programs)
    copy_libraries(libraries, system)
    of_debian = [library for library in libraries if library == path_in_image(library)]
    copy_package_licenses(packages_of(of_debian) | {"ca-certificates", *HEADER_PACKAGES}, system)
    for library in set(libraries) - set(of_debian):
        copy_licenses(pathlib.Path(library), system)
    copy(pathlib.Path("/") / CERTIFICATES, system / CERTIFICATES)
    link(system / "usr/lib/ssl/cert.pem", f"/{CERTIFICATES}")  # The default file of OpenSSL.
    copy(pathlib.Path("/etc/os-release"), system / "etc/os-release")
    for path, text in TEXTS.items():
        write(system / path, text)
    for folder in SHARED_FOLDERS:
        (system / folder).mkdir(parents=True)
        (system / folder).chmod(0o1777)
    copy(LICENSE, program / "usr/share/doc/longshore/copyright")
    copy(LICENSE.with_name("NOTICE"), program / "usr/share/doc/longshore/NOTICE")
    for path in programs:
        strip(path, program / "usr/bin" / path.name)


def libraries_of(programs: list[pathlib.Path]) -> list[str]:
    """All libraries, including their dependencies, and the loader. glibc resolves names itself, so no modules are loaded later."""
    text = subprocess.run(["ldd", *map(str, programs)], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"(\S+) => not found", text)
    if missing:
        raise SystemExit(f"root.py: missing libraries: {' '.join(sorted(set(missing)))}")
    return sorted(set(re.findall(r"^\t(?:\S+ => )?(/\S+) \(0x", text, re.MULTILINE)))


def copy_libraries(libraries: list[str], system: pathlib.Path) -> None:
    for name in ("lib", "lib64"):
        (system / "usr" / name).mkdir(parents=True)
        link(system / name, f"usr/{name}")
    for library in libraries:
        copy(pathlib.Path(library), system / path_in_image(library).lstrip("/"))


def path_in_image(library: str) -> str:
    """Its path in the image. A library outside of Debian's packages, oneDNN, is put into a folder that the loader searches."""
    if library.startswith(("/lib", "/usr/lib")):
        return library
    return f"/usr/lib/{platform.machine()}-linux-gnu/{pathlib.Path(library).name}"


def copy_licenses(library: pathlib.Path, system: pathlib.Path) -> None:
    """Copies the licences that a Python package puts next to its libraries."""
    folders = [folder for folder in (library.parent.parent / "share/doc").iterdir() if (folder / "LICENSE").exists()]
    if not folders:
        raise SystemExit(f"root.py: no LICENSE file found for {library} in ../share/doc")
    for folder in folders:
        for name in ("LICENSE", "THIRD-PARTY-PROGRAMS"):
            if (folder / name).exists():
                copy(folder / name, system / "usr/share/doc" / folder.name / name)


def packages_of(libraries: list[str]) -> set[str]:
    # dpkg knows a file by the path in its package, which may be with or without /usr.
    found = subprocess.run(["dpkg-query", "-S", *libraries, *map(os.path.realpath, libraries),
                            *(library.removeprefix("/usr") for library in libraries)],
                           check=False, capture_output=True, text=True).stdout
    owners = {path.removeprefix("/usr"): owner.split(":")[0]
              for owner, path in (line.split(": ", 1) for line in found.splitlines())}
    return {owners.get(library.removeprefix("/usr")) or owners[os.path.realpath(library).removeprefix("/usr")]
            for library in libraries}


def copy_package_licenses(packages: set[str], system: pathlib.Path) -> None:
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
    """Strips a program. It keeps its build ID, by which a debugger finds the symbols in build/release."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "-o", str(target), str(source)], check=True)
    target.chmod(0o755)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", choices=PROGRAMS)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the compiled programs")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder to create")
    arguments = parser.parse_args()
    os.umask(0o022)
    lay_out(arguments.image, arguments.bin, arguments.output)


if __name__ == "__main__":
    main()
