import os
import pathlib
import shutil
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("console", "integration")]


def modules():
    """The folder of npm's packages, which ./dev installs."""
    folder = os.environ.get("LONGSHORE_CONSOLE_MODULES") or TESTS.parent / "controller/console/web/node_modules"
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def node_modules():
    if not modules().is_dir():
        pytest.skip("npm's packages are not installed: ./dev setup does it")
    return modules()


@pytest.fixture(scope="session")
def chromium():
    """A real browser without a window."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: ./dev setup installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def scene():
    from canary_scene import Scene

    scene = Scene()
    yield scene
    scene.end()


@pytest.fixture(scope="module")
def in_canary(scene):
    scene.begin_canary()
    return scene


@pytest.fixture(scope="module")
def with_hostile_objects(in_canary):
    in_canary.add_hostile_objects()
    return in_canary
