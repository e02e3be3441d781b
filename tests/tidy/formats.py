"""Checks that other programs make: clang-format, ruff, shellcheck, yamllint, helm."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from findings import Finding
from sources import is_shell

_PLACE = re.compile(r"^(?P<path>[^:\s]+):(?P<line>\d+):(?:\d+:)? (?P<problem>.*)$")


def _run(root, command, files, fix_of):
    """Runs `command` with `files`; each line PATH:LINE:COLUMN: PROBLEM of its output is a finding.

    `fix_of` returns the repair of a problem.
    """
    if not files:
        return
    result = subprocess.run([*command, *files], cwd=root, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return
    found = 0
    for line in (result.stdout + result.stderr).split("\n"):
        match = _PLACE.match(line)
        if match:
            found += 1
            yield Finding(match["path"], int(match["line"]), match["problem"], fix_of(match["problem"]))
    if not found:
        text = (result.stdout + result.stderr).strip()[-400:]
        yield Finding(files[0], 0, f"{command[0]} ended with {result.returncode}: {text}", "run the command by hand; " + shlex.join(command))


def _python_fix(problem):
    if "[*]" in problem:
        return "ruff can repair it: python -m ruff check --fix FILE"
    return f"do what the message says; `python -m ruff rule {problem.split()[0]}` has examples"


def _shell_fix(problem):
    number = re.search(r"SC\d+", problem)
    return f"do what the message says; https://www.shellcheck.net/wiki/{number[0] if number else ''} has examples"


_YAML_FIXES = {
    "key-duplicates": "remove one of the two keys",
    "trailing-spaces": "remove the spaces at the end of the line",
    "new-line-at-end-of-file": "end the last line with a line break",
    "empty-lines": "remove empty lines",
    "new-lines": "end lines with LF",
    "truthy": "write true or false, or put the text in quotes",
    "colons": "write one space after the colon and none before it",
    "hyphens": "write one space after the hyphen",
    "comments": "write a space after #, and two before a comment behind a value",
    "comments-indentation": "indent the comment as the line that it explains",
    "document-start": "begin the document with ---",
    "braces": "remove spaces inside the braces",
    "brackets": "remove spaces inside the brackets",
    "syntax": "make it valid YAML; texts with a colon or a # need quotes",
}


def _yaml_fix(problem):
    rule = re.search(r"\(([\w-]+)\)$", problem)
    return _YAML_FIXES.get(rule[1] if rule else "", "do what the message says")


def check_cpp(root, paths):
    files = [path for path in paths if path.endswith((".h", ".cc"))]
    # One process for each processor, because clang-format handles files one after the other.
    parts = [files[part :: os.cpu_count()] for part in range(os.cpu_count())]
    running = [
        subprocess.Popen(
            ["clang-format", "--dry-run", "--Werror", *part], cwd=root, stderr=subprocess.PIPE, text=True
        )
        for part in parts
        if part
    ]
    first_lines = {}
    for process in running:
        for line in process.communicate()[1].split("\n"):
            match = _PLACE.match(line)
            if match:
                first_lines.setdefault(match["path"], int(match["line"]))
    for path, line in first_lines.items():
        yield Finding(path, line, "not formatted from here on", f"run clang-format -i {path}, or ./dev format for all files")


def check_python(root, paths):
    files = [path for path in paths if path.endswith(".py")]
    ruff = [sys.executable, "-m", "ruff"]
    yield from _run(root, [*ruff, "check", "--output-format=concise", "--no-cache"], files, _python_fix)


def check_shell(root, paths):
    files = [path for path in paths if is_shell(root, path)]
    shellcheck = str(pathlib.Path(sys.executable).parent / "shellcheck")
    yield from _run(root, [shellcheck, "--format=gcc"], files, _shell_fix)


def check_yaml(root, paths):
    # The templates of the chart are YAML only after helm has rendered them; helm lint checks them.
    files = [path for path in paths if path.endswith((".yaml", ".yml")) and "/templates/" not in path]
    config = "{extends: relaxed, rules: {line-length: disable, indentation: disable, commas: disable}}"
    command = [sys.executable, "-m", "yamllint", "--format=parsable", "-d", config]
    yield from _run(root, command, files, _yaml_fix)


def check_chart(root, paths):
    """`helm lint`, where the tests have built helm (LONGSHORE_KUBERNETES) or PATH has it."""
    if not any(path.startswith("helm/") for path in paths):
        return
    folder = os.environ.get("LONGSHORE_KUBERNETES", "")
    helm = shutil.which("helm", path=folder) or shutil.which("helm")
    if helm is None:
        print("tidy: the chart is not checked, because helm was not found: ./dev setup builds it", file=sys.stderr)
        return
    for chart in sorted({str(path.parent.relative_to(root)) for path in root.glob("helm/**/Chart.yaml")}):
        result = subprocess.run([helm, "lint", "--strict", chart], cwd=root, capture_output=True, text=True, check=False)
        for line in result.stdout.split("\n"):
            if result.returncode and line.startswith(("[ERROR]", "[WARNING]")):
                yield Finding(chart, 0, line, "helm lint --strict " + chart)
