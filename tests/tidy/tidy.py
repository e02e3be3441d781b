#!/usr/bin/env python3
"""Checks how the repository is written: sizes, dependencies, language, documents, formats.

    ./dev check            the files that differ from the commit before, or that are not committed; every file if the clone has one commit
    ./dev check --all      every file
    ./dev check FILE...    these files

Rules that need the whole repository (dependencies, cycles, sizes of folders) always read all of it. Each violation is printed with
its file, its line and how to repair it. The limits are in limits.yaml. Exits with 1 if there is a violation.
"""

import argparse
import pathlib
import subprocess
import sys
import time

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import documents
import formats
import plain_english
import reference
import python_tests
import sources
import structure
import texts

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMIT_BEFORE = "HEAD~1"


def git_paths(*arguments):
    listed = subprocess.run(["git", *arguments, "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {path for path in listed.split("\0") if path and (ROOT / path).is_file()}


def all_paths():
    return git_paths("ls-files") | git_paths("ls-files", "--others", "--exclude-standard")


def git_line(*arguments):
    """The output of git; an empty string if it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def changed_paths(base):
    if base == COMMIT_BEFORE and not git_line("rev-parse", "--verify", "--quiet", base):
        base = git_line("hash-object", "-t", "tree", "/dev/null")  # The empty tree.
    return git_paths("diff", "--name-only", base) | git_paths("ls-files", "--others", "--exclude-standard")


def findings_of(paths, everything, limits):
    every_source = sources.read(ROOT, everything)
    chosen = [source for source in every_source if source.path in set(paths)]
    yield from structure.check_functions(ROOT, chosen, limits)
    yield from structure.check_files(chosen, limits)
    yield from structure.check_scripts(ROOT, paths, limits)
    yield from structure.check_script_limit(ROOT, everything, limits)
    yield from structure.check_folders(every_source, limits)
    yield from structure.check_exceptions(every_source, limits)
    yield from structure.check_declared(ROOT, every_source)
    yield from structure.check_cycles(every_source, limits)
    yield from structure.check_namespaces(chosen, limits)
    yield from structure.check_pure(chosen, limits, structure.test_paths(every_source))
    yield from structure.check_pure_links(ROOT, limits)
    yield from structure.check_threaded(ROOT, every_source)
    yield from python_tests.check(ROOT, everything, limits)
    yield from plain_english.check(every_source, limits, [*texts.descriptions(ROOT, everything), *texts.value_comments(ROOT, everything)])
    yield from documents.check(ROOT, everything)
    yield from documents.check_comments(every_source, everything)
    yield from reference.check(ROOT)
    for check in (formats.check_cpp, formats.check_python, formats.check_shell, formats.check_yaml):
        yield from check(ROOT, paths)
    yield from formats.check_chart(ROOT, paths, must_run=paths == everything)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="check every file")
    parser.add_argument("--base", default=COMMIT_BEFORE, metavar="COMMIT", help="check the files that differ from it [HEAD~1]")
    parser.add_argument("files", nargs="*", metavar="FILE", help="check these files")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    started = time.monotonic()
    everything = sorted(all_paths())
    if arguments.all:
        paths = everything
    elif arguments.files:
        paths = [str(pathlib.Path(file).resolve().relative_to(ROOT)) for file in arguments.files]
    else:
        paths = sorted(changed_paths(arguments.base))
    limits = yaml.safe_load((pathlib.Path(__file__).parent / "limits.yaml").read_text(encoding="utf-8"))
    found = []
    for finding in findings_of(paths, everything, limits):
        print(finding)
        if not isinstance(finding, plain_english.Summary):
            found.append(finding)
    print(f"{len(paths)} files, {len(found)} violations, {time.monotonic() - started:.1f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
