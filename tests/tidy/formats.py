"""Checks that other programs make: clang-format, ruff, shellcheck, yamllint, helm."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from findings import Finding

_PLACE = re.compile(r"^(?P<path>[^:\s]+):(?P<line>\d+):(?:\d+:)? (?P<problem>.*)$")


def _run(root, command, files, fix):
    """Runs `command` with `files`; each line PATH:LINE:COLUMN: PROBLEM of its output is a finding."""
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
            yield Finding(match["path"], int(match["line"]), match["problem"], fix)
    if not found:
        text = (result.stdout + result.stderr).strip()[-400:]
        yield Finding(files[0], 0, f"{command[0]} ended with {result.returncode}: {text}", fix)


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
        yield Finding(path, line, "not formatted from here on", "./dev format")


def check_python(root, paths):
    files = [path for path in paths if path.endswith(".py")]
    ruff = [sys.executable, "-m", "ruff"]
    yield from _run(root, [*ruff, "check", "--output-format=concise", "--no-cache"], files, "ruff's documentation explains the rule")


def check_shell(root, paths):
    def is_shell(path):
        if path.endswith(".sh"):
            return True
        with (root / path).open("rb") as file:
            return bool(re.match(rb"#!.*\b(?:ba)?sh\b", file.readline(80)))

    files = [path for path in paths if "." not in pathlib.PurePosixPath(path).name or path.endswith(".sh") or path == ".ci/run"]
    files = [path for path in files if is_shell(path)]
    shellcheck = str(pathlib.Path(sys.executable).parent / "shellcheck")
    yield from _run(root, [shellcheck, "--format=gcc"], files, "shellcheck's wiki explains each number")


def check_yaml(root, paths):
    # The templates of the chart are YAML only after helm has rendered them; helm lint checks them.
    files = [path for path in paths if path.endswith((".yaml", ".yml")) and "/templates/" not in path]
    config = "{extends: relaxed, rules: {line-length: disable, indentation: disable, commas: disable}}"
    command = [sys.executable, "-m", "yamllint", "--format=parsable", "-d", config]
    yield from _run(root, command, files, "yamllint's documentation explains the rule in brackets")


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
