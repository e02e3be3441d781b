"""A manual page made from the texts that a program and its commands print for --help."""

import datetime
import pathlib
import re
import subprocess

# Commands that --help of the program does not list, because a person needs them rarely.
UNLISTED = {"longshore-node": ["replay"]}
# Their commands have the page of another program.
ELSEWHERE = {"longshore model"}


def write(program: pathlib.Path, about: str, version: str, date: datetime.date, target: pathlib.Path) -> None:
    """Runs the program and writes its page. `about` is the line that `apropos` shows."""
    text = help_of(program, [])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(program.name, about, version, date, text, commands_of(program, [], text)), encoding="utf-8")


def help_of(program: pathlib.Path, words: list[str]) -> str:
    shown = subprocess.run([program, *words, "--help"], check=False, capture_output=True, text=True, timeout=60)
    if shown.returncode != 0 or not shown.stdout:
        raise SystemExit(f"release: {program.name} {' '.join([*words, '--help'])} exited with {shown.returncode}: {shown.stderr.strip()}")
    return shown.stdout


def commands_of(program: pathlib.Path, words: list[str], text: str) -> dict[str, str]:
    """Command -> its text for --help, for every command that `text` lists, and for their own commands."""
    found = {}
    for word in [*listed_in(text), *(UNLISTED.get(program.name, []) if not words else [])]:
        name = " ".join([program.name, *words, word])
        found[name] = help_of(program, [*words, word])
        if name not in ELSEWHERE:
            found |= commands_of(program, [*words, word], found[name])
    return found


def listed_in(text: str) -> list[str]:
    """The first words of the lines below `Subcommands:`, until an empty line."""
    section = re.search(r"^Subcommands:\n((?:  .*\n?)*)", text, re.MULTILINE)
    return re.findall(r"^  ([a-z]\S*)", section[1], re.MULTILINE) if section else []


def page(name: str, about: str, version: str, date: datetime.date, text: str, commands: dict[str, str]) -> str:
    """The page in the language of man(7). The texts keep their lines: they are laid out for a terminal already."""
    parts = [f'.TH {name.upper()} 1 "{date}" "Longshore {version}" "User Commands"\n'
             f".SH NAME\n{literal(name)} \\- {literal(about)}\n.SH DESCRIPTION\n{as_is(text)}"]
    parts += [".SH COMMANDS\n"] if commands else []
    parts += [f".SS {literal(command)}\n{as_is(shown)}" for command, shown in commands.items()]
    return "".join(parts)


def as_is(text: str) -> str:
    return f".nf\n{literal(text.rstrip())}\n.fi\n"


def literal(text: str) -> str:
    """The text with every character that man(7) would interpret escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.split("\n"))
