"""Rules for documents and comments: the targets of links and the files that they name exist."""

import pathlib
import re

from findings import Finding

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`((?:common|controller|serving-node|crds|helm|proto|deploy|tests|docs|cmake)/[\w./-]*)`")


# A file of the repository: in a document a path of two names or more in backquotes, in a comment also a single name. A system's header
# is written as <sched.h>, and a name such as NAME_fuzz.cc stands for several files.
_NAMED_IN_DOCUMENT = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:h|cc|py|yaml))`")
_NAMED_IN_COMMENT = re.compile(r"(?<![\w/.:<-])((?:[\w.-]+/)*[\w.-]+\.(?:h|cc|py))\b(?!>)")
_STANDS_FOR_SEVERAL = re.compile(r"[A-Z]{3}|^x(?:_test|_bench)?\.")


def endings(paths):
    """Returns each path, and what remains of it without its first folders: a/b/c.h, b/c.h and c.h."""
    return {path.split("/", depth)[-1] for path in paths for depth in range(path.count("/") + 1)}


def check_comments(sources, everything):
    """A comment names files by their path or by its end."""
    known = endings(everything)
    for source in sources:
        for comment in source.comments:
            for named in _NAMED_IN_COMMENT.findall(comment.text):
                if named not in known and not _STANDS_FOR_SEVERAL.search(named):
                    yield Finding(
                        source.path,
                        comment.line,
                        f"the comment names {named}, which does not exist",
                        "name the file as it is now; write a header of the system as <sched.h>",
                    )


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
    """Checks relative links, their anchors, and paths in backquotes: of folders from the root, of files at least their end."""
    known = endings(paths)
    for path in paths:
        if not path.endswith(".md"):
            continue
        content = (root / path).read_text(encoding="utf-8")
        for number, line in enumerate(content.split("\n"), 1):
            for link in _LINK.findall(_CODE.sub("", line)):
                yield from _check_link(root, path, number, link)
            for named in _PATH.findall(line):
                if not (root / named).exists() and not list(root.glob(named + ".*"))[:1]:
                    yield Finding(path, number, f"{named} does not exist", "name the file or folder as it is now")
            for named in _NAMED_IN_DOCUMENT.findall(line):
                if named not in known and not _PATH.fullmatch(f"`{named}`"):
                    yield Finding(path, number, f"no file has a path that ends with {named}", "name the file as it is now")


def _check_link(root, path, number, link):
    if re.match(r"[a-z]+:", link):
        return
    target, _, anchor = link.partition("#")
    file = root / pathlib.PurePosixPath(path).parent / target if target else root / path
    if not file.exists():
        yield Finding(path, number, f"the target of the link {link} does not exist", "link to a file that exists")
    elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
        yield Finding(path, number, f"{target or path} has no heading #{anchor}", "link to a heading that exists")
