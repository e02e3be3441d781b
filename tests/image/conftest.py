"""Fixtures: both images, built once, and a folder for running them."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("judge", "conformance", "image")]
sys.path.append(str(ROOT / "deploy" / "docker"))

from images import Image, make_image  # noqa: E402


@pytest.fixture(scope="session")
def node_image(tmp_path_factory) -> Image:
    return make_image("node", tmp_path_factory.mktemp("node"))


@pytest.fixture(scope="session")
def controller_image(tmp_path_factory) -> Image:
    return make_image("controller", tmp_path_factory.mktemp("controller"))


@pytest.fixture(params=["node", "controller"])
def image(request) -> Image:
    return request.getfixturevalue(f"{request.param}_image")


@pytest.fixture
def scratch(tmp_path):
    """A folder that containers share with the test. After the test, containers that are still running are removed."""
    if os.getuid() != 0:
        pytest.skip("running containers with another user id needs root")
    yield tmp_path
    state = tmp_path / ".runc"
    for left in state.iterdir() if state.exists() else ():
        subprocess.run(["runc", "--root", state, "delete", "--force", left.name], check=True)
