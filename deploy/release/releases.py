#!/usr/bin/env python3
"""Reads deploy/release/releases.yaml, the record of all releases.

    deploy/release/releases.py list                     VERSION COMMIT TREE DATE of each release, newest first
    deploy/release/releases.py previous                 the newest release
    deploy/release/releases.py previous --before 0.2.0  the newest release that is older than 0.2.0
    deploy/release/releases.py find                     the newest release, as VERSION and its commit in this clone

Tests of upgrades build the previous release from its commit. If there is no such release, nothing is printed and the exit code is 0.
The commit in this clone is another one than the recorded one if the history was rewritten, but it has the same files.
"""

import argparse
import dataclasses
import datetime
import pathlib
import re
import subprocess

RECORD = pathlib.Path(__file__).with_name("releases.yaml")
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

_ROW = re.compile(r"- \{version: (\d+\.\d+\.\d+), commit: ([0-9a-f]{40}), tree: ([0-9a-f]{40}), date: (\d{4}-\d\d-\d\d)\}")


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    commit: str
    tree: str  # Git's name for the files of the commit: git rev-parse COMMIT^{tree}.
    date: datetime.date

    def __str__(self) -> str:
        return f"{self.version} {self.commit} {self.tree} {self.date}"


def number_of(version: str) -> tuple[int, ...]:
    """The version as numbers that compare as versions do: 0.10.0 is newer than 0.9.0."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f'"{version}" is not a valid version; a valid one is 0.1.0')
    return tuple(int(part) for part in version.split("."))


def parse(text: str) -> list[Release]:
    """All releases, newest first. Raises ValueError, with the line, if a row is not valid or the rows are not in order."""
    releases: list[Release] = []
    for at, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or line.strip() in ("", "releases:", "releases: []"):
            continue
        row = _ROW.fullmatch(line.strip())
        if not row:
            raise ValueError(f"line {at}: not a valid row: {line.strip()}; the comment of the file shows a valid row")
        releases.append(Release(row[1], row[2], row[3], datetime.date.fromisoformat(row[4])))
        if len(releases) > 1 and number_of(releases[-2].version) <= number_of(row[1]):
            raise ValueError(f"line {at}: version {row[1]} must be older than version {releases[-2].version} above it")
    return releases


def previous(releases: list[Release], before: str | None = None) -> Release | None:
    """The newest release that is older than `before`, or the newest release; None if there is no such release."""
    older = [it for it in releases if before is None or number_of(it.version) < number_of(before)]
    return max(older, key=lambda it: number_of(it.version), default=None)


def commit_of(release: Release, repository: pathlib.Path = REPOSITORY) -> str:
    """The ancestor of HEAD that has the files of the release: the recorded commit, or the newest one with the recorded tree.

    Raises ValueError if there is no such ancestor.
    """
    shown = subprocess.run(["git", "-C", repository, "log", "--format=%H %T"], check=False, capture_output=True, text=True)
    if shown.returncode != 0:
        raise ValueError(f"cannot read the history of {repository}: {shown.stderr.strip()}")
    trees = dict(line.split() for line in shown.stdout.splitlines())
    if trees.get(release.commit) == release.tree:
        return release.commit
    found = next((commit for commit, tree in trees.items() if tree == release.tree), None)
    if found is None:
        raise ValueError(f"release {release.version}: HEAD has no ancestor {release.commit} with the tree {release.tree}, and no other ancestor "
                         "with this tree; a shallow clone needs git fetch --unshallow")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "previous", "find"])
    parser.add_argument("--before", metavar="VERSION", help="only releases older than this version")
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="file to read (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        releases = parse(arguments.record.read_text(encoding="utf-8"))
        if arguments.command == "list":
            found = [it for it in releases if arguments.before is None or number_of(it.version) < number_of(arguments.before)]
        else:
            newest = previous(releases, arguments.before)
            found = [newest] if newest else []
        lines = [f"{it.version} {commit_of(it)}" if arguments.command == "find" else str(it) for it in found]
    except (OSError, ValueError) as error:
        raise SystemExit(f"releases.py: {error}") from None
    for line in lines:
        print(line)


if __name__ == "__main__":
    main()
