#!/usr/bin/env python3
"""Reads deploy/release/releases.yaml, the record of all releases.

    deploy/release/releases.py list                     VERSION COMMIT DATE of each release, newest first
    deploy/release/releases.py previous                 the newest release
    deploy/release/releases.py previous --before 0.2.0  the newest release that is older than 0.2.0

Tests of upgrades build the previous release from its commit. If there is no such release, nothing is printed and the exit code is 0.
"""

import argparse
import dataclasses
import datetime
import pathlib
import re

RECORD = pathlib.Path(__file__).with_name("releases.yaml")

_ROW = re.compile(r"- \{version: (\d+\.\d+\.\d+), commit: ([0-9a-f]{40}), date: (\d{4}-\d\d-\d\d)\}")


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    commit: str
    date: datetime.date

    def __str__(self) -> str:
        return f"{self.version} {self.commit} {self.date}"


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
        releases.append(Release(row[1], row[2], datetime.date.fromisoformat(row[3])))
        if len(releases) > 1 and number_of(releases[-2].version) <= number_of(row[1]):
            raise ValueError(f"line {at}: version {row[1]} must be older than version {releases[-2].version} above it")
    return releases


def previous(releases: list[Release], before: str | None = None) -> Release | None:
    """The newest release that is older than `before`, or the newest release; None if there is no such release."""
    older = [it for it in releases if before is None or number_of(it.version) < number_of(before)]
    return max(older, key=lambda it: number_of(it.version), default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "previous"])
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
    except (OSError, ValueError) as error:
        raise SystemExit(f"releases.py: {error}") from None
    for release in found:
        print(release)


if __name__ == "__main__":
    main()
