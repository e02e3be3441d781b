#!/usr/bin/env python3
"""The version of Longshore in every file that contains it.

    ./dev version         print the version of the working tree
    ./dev version X.Y.Z   write another version into all files
"""

import argparse
import pathlib
import re
import subprocess

import releases

# (file, pattern whose group is the version). The file contains at least one match.
PLACES = [
    ("CMakeLists.txt", r"^project\(longshore VERSION ([0-9.]+)"),
    ("deploy/docker/Dockerfile.controller", r"^ARG VERSION=(\S+)$"),
    ("deploy/docker/Dockerfile.node", r"^ARG VERSION=(\S+)$"),
    ("helm/longshore/Chart.yaml", r"^version: (\S+)$"),
    ("helm/longshore/Chart.yaml", r"^appVersion: (\S+)$"),
    ("tests/e2e/e2e.py", r"with the tags dev and ([0-9.]+[0-9])"),
    ("tests/e2e/target.py", r'^TAGS = \("dev", "([^"]+)"\)'),
]
# In any tracked file, an image whose tag looks like a version has the version of Longshore.
IMAGE = r"longshore/(?:node|controller):([0-9]+\.[0-9]+\.[0-9]+)"


def places(root: pathlib.Path) -> list[tuple[str, str]]:
    """PLACES, and a row for each tracked file with an image that matches IMAGE."""
    listed = subprocess.run(["git", "-C", root, "grep", "--files-with-matches", "-I", "--extended-regexp", IMAGE.replace("?:", "")],
                            check=False, capture_output=True, text=True)
    if listed.returncode > 1:  # 1: no file matches.
        raise ValueError(f"git grep failed: {listed.stderr.strip()}")
    return PLACES + [(path, IMAGE) for path in listed.stdout.splitlines()]


def versions(root: pathlib.Path, path: str, pattern: str) -> set[str]:
    """The versions that the pattern finds in a file."""
    return set(re.findall(pattern, (root / path).read_text(encoding="utf-8"), re.MULTILINE))


def replaced(text: str, pattern: str, version: str) -> str:
    """The text with this version in the group of each match."""
    return re.sub(pattern, lambda it: f"{it[0][:it.start(1) - it.start()]}{version}{it[0][it.end(1) - it.start():]}", text, flags=re.MULTILINE)


def write(root: pathlib.Path, version: str) -> list[str]:
    """Writes the version into all files, and returns their paths. Raises ValueError before any change if a file has no version to replace."""
    found = places(root)
    missing = [path for path, pattern in found if not versions(root, path, pattern)]
    if missing:
        raise ValueError(f"no version was found in {', '.join(missing)}: deploy/release/version.py has the patterns")
    for path, pattern in found:
        text = (root / path).read_text(encoding="utf-8")
        (root / path).write_text(replaced(text, pattern, version), encoding="utf-8")
    return sorted({path for path, _ in found})


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev version", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", metavar="X.Y.Z")
    arguments = parser.parse_args()
    if arguments.version is None:
        print(releases.project_version())
        return
    try:
        releases.number_of(arguments.version)
        if arguments.version in [it.version for it in releases.read()]:
            raise ValueError(f"{arguments.version} was released already")
        print("\n".join(write(releases.REPOSITORY, arguments.version)))
    except ValueError as error:
        raise SystemExit(f"version: {error}") from None


if __name__ == "__main__":
    main()
