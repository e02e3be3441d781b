#!/usr/bin/env python3
"""Reads and writes deploy/release/releases.yaml, the record of all releases.

    deploy/release/releases.py previous   print the newest release, as VERSION and its commit in this clone
    deploy/release/releases.py record     add a row for the release that was made from HEAD

Tests of compatibility and of upgrades compare the working tree with the newest release. Before the first release, `previous` prints
nothing and exits with 0. The commit in this clone is another one than the recorded one if the history was rewritten, but it has the same
files.
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
        """The row of this release."""
        return f"- {{version: {self.version}, commit: {self.commit}, tree: {self.tree}, date: {self.date}}}"


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


def read(record: pathlib.Path | None = None) -> list[Release]:
    """All releases of the record (default: RECORD), newest first. Raises ValueError as parse() does."""
    return parse((record or RECORD).read_text(encoding="utf-8"))


def previous(record: pathlib.Path | None = None) -> Release | None:
    """The release with which tests compare the working tree: the newest one; None before the first release."""
    return next(iter(read(record)), None)


def with_row(text: str, release: Release) -> str:
    """The text of the record with a row for a new release. Raises ValueError if it is not newer than all others."""
    added, found = re.subn(r"^releases:(?: \[\])?$", f"releases:\n  {release}", text, count=1, flags=re.MULTILINE)
    if not found:
        raise ValueError('the record has no line "releases:"')
    parse(added)
    return added


def commit_of(release: Release, repository: pathlib.Path = REPOSITORY) -> str:
    """The ancestor of HEAD that has the files of the release: the recorded commit, or the newest one with the recorded tree.

    Raises ValueError if there is no such ancestor.
    """
    trees = dict(line.split() for line in git(repository, "log", "--format=%H %T").splitlines())
    if trees.get(release.commit) == release.tree:
        return release.commit
    found = next((commit for commit, tree in trees.items() if tree == release.tree), None)
    if found is None:
        raise ValueError(f"release {release.version}: HEAD has no ancestor {release.commit} with the tree {release.tree}, and no other ancestor "
                         "with this tree; a shallow clone needs git fetch --unshallow")
    return found


def head(repository: pathlib.Path = REPOSITORY) -> Release:
    """The release that was made from HEAD. Raises ValueError if the working tree has changes."""
    if git(repository, "status", "--porcelain"):
        raise ValueError("the working tree has changes: record a release before any change that follows it")
    commit, tree = git(repository, "rev-parse", "HEAD", "HEAD^{tree}").split()
    return Release(project_version(repository), commit, tree, datetime.datetime.now(datetime.UTC).date())


def project_version(repository: pathlib.Path = REPOSITORY) -> str:
    """The version of the working tree."""
    text = (repository / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(longshore VERSION ([0-9.]+)", text, re.MULTILINE)[1]


def git(repository: pathlib.Path, *words: str) -> str:
    """The output of git. Raises ValueError, with git's message, if it fails."""
    ran = subprocess.run(["git", "-C", repository, *words], check=False, capture_output=True, text=True)
    if ran.returncode != 0:
        raise ValueError(f"git {words[0]} failed in {repository}: {ran.stderr.strip()}")
    return ran.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["previous", "record"])
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="file to read or write (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        if arguments.command == "record":
            release = head()
            arguments.record.write_text(with_row(arguments.record.read_text(encoding="utf-8"), release), encoding="utf-8")
            print(release)
        elif release := previous(arguments.record):
            print(release.version, commit_of(release))
    except (OSError, ValueError) as error:
        raise SystemExit(f"releases.py: {error}") from None


if __name__ == "__main__":
    main()
