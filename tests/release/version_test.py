"""Every file that contains the version of Longshore has the version of CMakeLists.txt, and the programs print it."""

import os
import pathlib
import shutil
import subprocess

import pytest
import releases
import version

ROOT = releases.REPOSITORY
BIN = pathlib.Path(os.environ.get("LONGSHORE_BIN", ROOT / "build/dev/bin"))


@pytest.mark.parametrize(("path", "pattern"), version.places(ROOT))
def test_a_file_has_the_version_of_the_project(path: str, pattern: str):
    assert version.versions(ROOT, path, pattern) == {releases.project_version()}


def test_images_are_found_in_all_tracked_files():
    assert {"README.md", "docs/images.md"} <= {path for path, pattern in version.places(ROOT) if pattern == version.IMAGE}


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    """A git repository with the files that contain the version."""
    for path, _ in version.places(ROOT):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    return tmp_path


def test_a_version_is_written_into_every_file_and_nothing_else_changes(copy: pathlib.Path):
    before = {path: (copy / path).read_bytes() for path, _ in version.places(copy)}
    old, new = releases.project_version(copy), "12.34.56"
    assert version.write(copy, new) == sorted(before)
    assert releases.project_version(copy) == new
    assert [version.versions(copy, *place) for place in version.places(copy)] == [{new}] * len(version.places(ROOT))
    assert all((copy / path).read_bytes().count(new.encode()) >= 1 for path in before)
    version.write(copy, old)
    assert {path: (copy / path).read_bytes() for path in before} == before


def test_nothing_is_written_if_a_file_has_no_version(copy: pathlib.Path):
    (copy / "helm/longshore/Chart.yaml").write_text("name: longshore\nversion: 0.1.0\n")
    before = (copy / "CMakeLists.txt").read_bytes()
    with pytest.raises(ValueError, match="no version was found in helm/longshore/Chart.yaml"):
        version.write(copy, "12.34.56")
    assert (copy / "CMakeLists.txt").read_bytes() == before


@pytest.mark.parametrize(("wanted", "message"), [("1.2", '"1.2" is not a valid version'), ("0.1.0", "0.1.0 was released already")])
def test_an_invalid_or_released_version_is_rejected(monkeypatch, tmp_path: pathlib.Path, wanted: str, message: str):
    (tmp_path / "releases.yaml").write_text(f"releases:\n  - {{version: 0.1.0, commit: {'0' * 40}, tree: {'1' * 40}, date: 2030-01-31}}\n")
    monkeypatch.setattr(releases, "RECORD", tmp_path / "releases.yaml")
    monkeypatch.setattr(version, "write", lambda *_: pytest.fail("files were written"))
    monkeypatch.setattr("sys.argv", ["version", wanted])
    with pytest.raises(SystemExit, match=message):
        version.main()


@pytest.mark.parametrize("program", ["longshore", "longshore-controller", "longshore-model", "longshore-node"])
def test_a_program_prints_the_version_of_the_project(program: str):
    shown = subprocess.run([BIN / program, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"{program} {releases.project_version()}\n" in shown
