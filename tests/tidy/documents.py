"""Rules for the documents: the targets of links and paths exist."""

import pathlib
import re

from findings import Finding

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`((?:common|controller|serving-node|crds|helm|proto|deploy|tests|docs|cmake)/[\w./-]*)`")


def anchors(content):
    """Returns the names by which GitHub links to the headings of a document."""
    names = set()
    for heading in _HEADING.findall(_FENCE.sub("", content)):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while f"{name}-{number}" in names if number else name in names:
            number += 1
        names.add(f"{name}-{number}" if number else name)
    return names


def check(root, paths):
    """Checks relative links, their anchors, and paths in backquotes that begin with a folder of the repository."""
    for path in paths:
        if not path.endswith(".md"):
            continue
        content = (root / path).read_text(encoding="utf-8")
        for number, line in enumerate(content.split("\n"), 1):
            for link in _LINK.findall(line):
                yield from _check_link(root, path, number, link)
            for named in _PATH.findall(line):
                if not (root / named).exists() and not list(root.glob(named + ".*"))[:1]:
                    yield Finding(path, number, f"{named} does not exist", "name the file or folder as it is now")


def _check_link(root, path, number, link):
    if re.match(r"[a-z]+:", link):
        return
    target, _, anchor = link.partition("#")
    file = root / pathlib.PurePosixPath(path).parent / target if target else root / path
    if not file.exists():
        yield Finding(path, number, f"the target of the link {link} does not exist", "link to a file that exists")
    elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
        yield Finding(path, number, f"{target or path} has no heading #{anchor}", "link to a heading that exists")
