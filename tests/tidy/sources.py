"""The C++ sources of the repository: their folders, includes, comments and messages."""

import dataclasses
import functools
import pathlib
import re

CODE = ("common/", "controller/", "serving-node/", "tests/")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<raw>R"(?P<mark>[^(\s"]*)\((?:.|\n)*?\)(?P=mark)")"""
    r"""|(?P<text>"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<char>'(?:\\.|[^'\\\n])')"""
    r"""|(?P<line>//[^\n]*)"""
    r"""|(?P<block>/\*(?:.|\n)*?\*/)"""
)


@dataclasses.dataclass(frozen=True)
class Text:
    """A comment block or a message: the number of its first line, and its text as one line."""

    line: int
    text: str


@dataclasses.dataclass(frozen=True)
class Source:
    """A C++ file. `path` is relative to the repository root and is how other sources include it."""

    path: str
    content: str

    @property
    def folder(self):
        return str(pathlib.PurePosixPath(self.path).parent)

    @property
    def is_test(self):
        return self.path.endswith(("_test.cc", "_bench.cc"))

    @property
    def component(self):
        """The name that x.h and x.cc share."""
        return re.sub(r"\.(h|cc)$", "", self.path)

    @functools.cached_property
    def includes(self):
        """Pairs of line number and included path, of the project's own headers."""
        return [(self.line_of(match.start()), match[1]) for match in _INCLUDE.finditer(self.content)]

    def line_of(self, offset):
        return self.content.count("\n", 0, offset) + 1

    @functools.cached_property
    def _tokens(self):
        return list(_TOKEN.finditer(self.content))

    @functools.cached_property
    def comments(self):
        """Comment blocks: adjacent lines of // are one block, and a comment behind code is a block of its own."""
        blocks = []
        end_line = -1
        for token in self._tokens:
            if token.lastgroup not in ("line", "block"):
                continue
            line = self.line_of(token.start())
            text = _words(token.group())
            starts_line = not self.content[self.content.rfind("\n", 0, token.start()) + 1 : token.start()].strip()
            if starts_line and line == end_line + 1 and blocks:
                blocks[-1] = Text(blocks[-1].line, f"{blocks[-1].text} {text}")
            else:
                blocks.append(Text(line, text))
            end_line = line + token.group().count("\n") if starts_line else -1
        return [block for block in blocks if block.text and not block.text.startswith("namespace ")]

    @functools.cached_property
    def messages(self):
        """String literals that are sentences or parts of them, with at least three words: neighbours are one, and a raw string, such as
        the text of --help, is one message for each paragraph."""
        joined = []
        end = -1
        for token in self._tokens:
            if token.lastgroup == "raw":
                joined.extend(self._paragraphs(token))
                end = -1
            if token.lastgroup != "text":
                continue
            text = token.group()[1:-1]
            if joined and end >= 0 and not self.content[end : token.start()].strip():
                joined[-1] = Text(joined[-1].line, joined[-1].text + text)
            else:
                joined.append(Text(self.line_of(token.start()), text))
            end = token.end()
        return [message for message in joined if len(re.findall(r"[A-Za-z]{2,}", message.text)) >= 3]

    def _paragraphs(self, token):
        content = token.group()[3 + len(token["mark"]) : -2 - len(token["mark"])]  # Without R"MARK( and )MARK".
        start = token.start() + 3 + len(token["mark"])
        return [Text(self.line_of(start + offset), text) for offset, text in paragraphs(content)]


def paragraphs(content):
    """Returns pairs of offset and text, as one line, of the paragraphs, which empty lines separate."""
    return [(match.start(), " ".join(match[0].split())) for match in re.finditer(r"\S(?:.|\n(?![ \t]*\n))*", content)]


def _words(comment):
    lines = re.sub(r"^/\*+|\*/$", "", comment).split("\n")
    return " ".join(re.sub(r"^\s*(//+|\*)\s?", "", line).strip() for line in lines).strip()


def is_shell(root, path):
    """Files that end with .sh, and files without an ending whose first line names a shell."""
    if path.endswith(".sh"):
        return True
    if "." in pathlib.PurePosixPath(path).name:
        return False
    with (root / path).open("rb") as file:
        return bool(re.match(rb"#!.*\b(?:ba)?sh\b", file.readline(80)))


def is_script(root, path):
    return path.endswith(".py") or is_shell(root, path)


def read(root, paths):
    """The C++ sources among `paths`."""
    return [
        Source(path, (root / path).read_text(encoding="utf-8"))
        for path in paths
        if path.endswith((".h", ".cc")) and path.startswith(CODE)
    ]
