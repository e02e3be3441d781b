#!/usr/bin/env python3
"""Draws comments, messages and paragraphs at random, for a reader who has not seen them before.

    python3 tests/tidy/draw.py SEED [--comments 60] [--messages 60] [--paragraphs 30]

The reader restates each text in their own words, and marks it if one reading was not enough. SEED is a text, usually the hash of a
commit, so that anybody can repeat the draw. Comments are the blocks of all C++ sources; messages are the string literals of what
ships, the descriptions in crds/, the comments of the chart's values, and the texts of alerts and dashboards; paragraphs come from all
Markdown pages.
"""

import argparse
import pathlib
import random
import re
import subprocess

import sources
import texts

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked_paths():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(path for path in listed.split("\0") if path)


def comments(every_source):
    return [(source.path, text.line, text.text) for source in every_source for text in source.comments if " " in text.text]


def messages(every_source, paths):
    shipped = [source for source in every_source if not source.path.startswith("tests/") and not source.is_test]
    found = [(source.path, text.line, text.text) for source in shipped for text in source.messages if " " in text.text]
    for kind in (texts.descriptions, texts.value_comments, texts.alerts, texts.dashboards):
        found.extend((page.path, text.line, text.text) for page in kind(ROOT, paths) for text in page.texts if " " in text.text)
    return found


def paragraphs(paths):
    """Paragraphs of at least eight words: no headings, tables, lists or code."""
    found = []
    for path in paths:
        if not path.endswith(".md"):
            continue
        text = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), (ROOT / path).read_text(encoding="utf-8"), flags=re.DOTALL)
        for match in re.finditer(r"(?:^|(?<=\n\n))[^\s#|>*-](?:[^\n]|\n(?!\n))+", text):
            if len(match[0].split()) >= 8:
                found.append((path, text.count("\n", 0, match.start()) + 1, " ".join(match[0].split())))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", metavar="SEED")
    parser.add_argument("--comments", type=int, default=60)
    parser.add_argument("--messages", type=int, default=60)
    parser.add_argument("--paragraphs", type=int, default=30)
    arguments = parser.parse_args()
    paths = tracked_paths()
    every_source = sources.read(ROOT, paths)
    chance = random.Random(arguments.seed)
    kinds = {
        "comment": (comments(every_source), arguments.comments),
        "message": (messages(every_source, paths), arguments.messages),
        "paragraph": (paragraphs(paths), arguments.paragraphs),
    }
    for kind, (population, count) in kinds.items():
        for number, (path, line, text) in enumerate(chance.sample(population, min(count, len(population))), 1):
            print(f"{kind} {number} ({path}:{line}): {text}")


if __name__ == "__main__":
    main()
