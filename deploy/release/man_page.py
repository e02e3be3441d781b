"""A manual page made from the text that a program prints for --help."""

import datetime
import pathlib
import subprocess


def write(program: pathlib.Path, about: str, version: str, date: datetime.date, target: pathlib.Path) -> None:
    """Runs the program and writes its page. `about` is the line that `apropos` shows."""
    shown = subprocess.run([program, "--help"], check=False, capture_output=True, text=True, timeout=60)
    if shown.returncode != 0 or not shown.stdout:
        raise SystemExit(f"release: {program.name} --help exited with {shown.returncode}: {shown.stderr.strip()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(program.name, about, version, date, shown.stdout), encoding="utf-8")


def page(name: str, about: str, version: str, date: datetime.date, text: str) -> str:
    """The page in the language of man(7). The text keeps its lines: it is laid out for a terminal already."""
    return (f'.TH {name.upper()} 1 "{date}" "Longshore {version}" "User Commands"\n'
            f".SH NAME\n{literal(name)} \\- {literal(about)}\n.SH DESCRIPTION\n.nf\n{literal(text.rstrip())}\n.fi\n")


def literal(text: str) -> str:
    """The text with every character that man(7) would interpret escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.split("\n"))
