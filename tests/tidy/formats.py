"""Checks that other programs make: clang-format, ruff, shellcheck, yamllint, helm."""

import json
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


# The rules of yamllint -> how to repair a violation, and the options of the rule. All are errors.
_YAML_RULES = {
    "key-duplicates": ("remove one of the two keys", {}),
    "trailing-spaces": ("remove the spaces at the end of the line", {}),
    "new-line-at-end-of-file": ("end the last line with a line break", {}),
    "empty-lines": ("remove empty lines", {"max": 1, "max-start": 0, "max-end": 0}),
    "new-lines": ("end lines with LF", {}),
    "truthy": ("write true or false, or put the text in quotes", {"check-keys": False}),
    "colons": ("write one space after the colon and none before it", {}),
    "hyphens": ("write one space after the hyphen", {}),
    "comments": ("write a space after #, and at least one before it", {"min-spaces-from-content": 1}),
    "comments-indentation": ("indent the comment as the line that it explains", {}),
    "braces": ("remove spaces inside the braces", {}),
    "brackets": ("remove spaces inside the brackets", {}),
    "anchors": ("define the anchor before its first use", {}),
}
_YAML_SYNTAX_FIX = "make it valid YAML; texts with a colon or a # need quotes"


def _yaml_fix(problem):
    rule = re.search(r"\(([\w-]+)\)$", problem)
    return _YAML_RULES[rule[1]][0] if rule and rule[1] in _YAML_RULES else _YAML_SYNTAX_FIX


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
    for process, part in zip(running, filter(None, parts)):
        errors = process.communicate()[1]
        before = len(first_lines)
        for line in errors.split("\n"):
            match = _PLACE.match(line)
            if match and "[-Wclang-format-violations]" in line:
                first_lines.setdefault(match["path"], int(match["line"]))
        if process.returncode != 0 and len(first_lines) == before:
            problem = f"clang-format ended with {process.returncode}: {errors.strip()[-400:]}"
            yield Finding(part[0], 0, problem, "run clang-format --dry-run --Werror by hand with this file and the others")
    for path, line in first_lines.items():
        yield Finding(path, line, "not formatted from here on", f"run clang-format -i {path}, or ./dev format for all files")


def check_python(root, paths):
    files = [path for path in paths if path.endswith(".py")]
    ruff = [sys.executable, "-m", "ruff"]
    yield from _run(root, [*ruff, "check", "--output-format=concise", "--no-cache"], files, _python_fix)


def check_shell(root, paths):
    files = [path for path in paths if is_shell(root, path)]
    shellcheck = str(pathlib.Path(sys.executable).parent / "shellcheck")
    yield from _run(root, [shellcheck, "--external-sources", "--format=gcc"], files, _shell_fix)


def check_yaml(root, paths):
    # The templates of the chart are YAML only after helm has rendered them; helm lint checks them.
    files = [path for path in paths if path.endswith((".yaml", ".yml")) and "/templates/" not in path]
    rules = {rule: {"level": "error", **options} for rule, (_, options) in _YAML_RULES.items()}
    command = [sys.executable, "-m", "yamllint", "--format=parsable", "-d", json.dumps({"rules": rules})]
    yield from _run(root, command, files, _yaml_fix)


def find_helm():
    """The path of helm: from LONGSHORE_KUBERNETES, from the cache folder of ./dev, or from PATH; None if none of them has it."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "longshore/kubernetes/bin"
    folders = [os.environ.get("LONGSHORE_KUBERNETES", ""), str(cache), os.environ.get("PATH", "")]
    return next((found for folder in folders if folder and (found := shutil.which("helm", path=folder))), None)


def check_chart(root, paths, must_run=False):
    """`helm lint` for a changed chart. Without helm the chart is not checked, which is a violation if `must_run`."""
    charts = sorted({str(path.parent.relative_to(root)) for path in root.glob("helm/**/Chart.yaml")})
    if not any(path.startswith("helm/") for path in paths):
        return
    helm = find_helm()
    if helm is None and must_run:
        yield Finding("helm", 0, "the charts are not checked, because helm was not found", "run ./dev setup, which builds it")
    elif helm is None:
        print("tidy: the chart is not checked, because helm was not found: ./dev setup builds it", file=sys.stderr)
    for chart in charts if helm else ():
        result = subprocess.run([helm, "lint", "--strict", chart], cwd=root, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            continue
        output = result.stdout + result.stderr
        lines = [line for line in output.split("\n") if line.startswith(("[ERROR]", "[WARNING]"))]
        for line in lines or [f"helm lint ended with {result.returncode}: {output.strip()[-400:]}"]:
            yield Finding(chart, 0, line, "helm lint --strict " + chart)
