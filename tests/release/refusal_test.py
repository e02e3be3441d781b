"""./dev release rejects invalid input with advice, before it writes any file."""

import pathlib

import pytest
import release


def test_missing_programs_are_named(tmp_path: pathlib.Path):
    with pytest.raises(SystemExit, match="has no longshore, longshore-controller, .*: run ./dev build release, or name another folder"):
        release.check_programs(tmp_path, "0.1.0")


def test_programs_of_another_version_are_rejected(tmp_path: pathlib.Path):
    for name in release.debian_package.PROGRAMS:
        (tmp_path / name).write_text("#!/bin/sh\necho longshore 0.0.9\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(SystemExit, match='has the version "longshore 0.0.9", CMakeLists.txt has 0.1.0'):
        release.check_programs(tmp_path, "0.1.0")


def test_a_folder_with_other_files_is_not_replaced(tmp_path: pathlib.Path):
    release.check_output(tmp_path)
    (tmp_path / "mine").touch()
    with pytest.raises(SystemExit, match="has files that are not of a release"):
        release.check_output(tmp_path)
    (tmp_path / "SHA256SUMS").touch()
    release.check_output(tmp_path)


def test_debian_sorts_a_snapshot_before_the_release():
    assert release.Release("0.1.0-snapshot", "unknown", 0, pathlib.Path()).debian_version == "0.1.0~snapshot"
