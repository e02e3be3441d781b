"""The built pages in controller/console/dist are those of the sources in controller/console/web, with the packages of the lockfile."""

import json
import pathlib
import shutil
import subprocess

CONSOLE = pathlib.Path(__file__).resolve().parents[2] / "controller/console"
WEB = CONSOLE / "web"
DIST = CONSOLE / "dist"


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def build(node_modules, folder):
    """Builds the pages in `folder`, which gets a copy of the sources."""
    web = folder / "web"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("node_modules"))
    (web / "node_modules").symlink_to(node_modules)
    done = subprocess.run(["npm", "run", "build"], cwd=web, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


def test_the_pages_are_built_from_the_sources(node_modules, tmp_path):
    built = files_of(build(node_modules, tmp_path))
    changed = sorted(name for name in built.keys() | files_of(DIST) if built.get(name) != files_of(DIST).get(name))
    assert changed == [], "run ./dev console, and commit controller/console/dist"


def test_the_packages_are_those_of_the_lockfile(node_modules):
    """npm writes what it has installed to a hidden lockfile."""
    installed, locked = (json.loads(path.read_text())["packages"] for path in (node_modules / ".package-lock.json", WEB / "package-lock.json"))
    assert len(installed) >= 4
    assert {name: package["integrity"] for name, package in installed.items()} == {name: locked[name]["integrity"] for name in installed}
