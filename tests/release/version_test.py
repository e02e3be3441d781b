"""Every file that contains the version of Longshore has the version of CMakeLists.txt, and the programs print it."""

import os
import pathlib
import re
import subprocess

import pytest
import release

ROOT = release.ROOT
BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", ROOT / "build/dev/bin"))
# File -> a pattern of the version in it. The file contains at least one match.
PLACES = {
    "helm/longshore/Chart.yaml": r"^(?:appVersion|version): (\S+)$",
    "deploy/docker/Dockerfile.node": r"^ARG VERSION=(\S+)$",
    "deploy/docker/Dockerfile.controller": r"^ARG VERSION=(\S+)$",
    "README.md": r"/longshore/(?:node|controller):(\S+)",
    "tests/e2e/target.py": r'^TAGS = \("dev", "([^"]+)"\)',
    "tests/e2e/e2e.py": r"with the tags dev and ([0-9.]+[0-9])",
}


@pytest.mark.parametrize("path", PLACES)
def test_a_file_has_the_version_of_the_project(path: str):
    found = re.findall(PLACES[path], (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(found) == {release.project_version()}


def test_the_chart_has_a_version_and_an_application_version():
    chart = (ROOT / "helm/longshore/Chart.yaml").read_text(encoding="utf-8")
    assert len(re.findall(PLACES["helm/longshore/Chart.yaml"], chart, re.MULTILINE)) == 2


@pytest.mark.parametrize("program", ["longshore", "longshore-controller", "longshore-model", "longshore-node"])
def test_a_program_prints_the_version_of_the_project(program: str):
    shown = subprocess.run([BIN / program, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"{program} {release.project_version()}\n" in shown
