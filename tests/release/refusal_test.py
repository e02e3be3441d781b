"""./dev release rejects invalid input with advice, before it writes any file, and if possible before it compiles."""

import datetime
import pathlib
import sys

import pytest
import release
import releases


def test_missing_programs_are_named(tmp_path: pathlib.Path):
    with pytest.raises(SystemExit, match="has no longshore, longshore-controller, .*: run ./dev build release, or name another folder"):
        release.check_programs(tmp_path, "0.1.0")


def test_programs_of_another_version_are_rejected(tmp_path: pathlib.Path):
    for name in release.debian_package.PROGRAMS:
        (tmp_path / name).write_text("#!/bin/sh\necho longshore 0.0.9\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(SystemExit, match='has the version "longshore 0.0.9", CMakeLists.txt has 0.1.0'):
        release.check_programs(tmp_path, "0.1.0")


def test_compiled_programs_are_accepted_only_for_a_snapshot(tmp_path: pathlib.Path):
    with pytest.raises(SystemExit, match="--bin is possible only together with --snapshot"):
        release.plan(tmp_path, snapshot=False)
    assert release.plan(tmp_path, snapshot=True).programs == tmp_path


def recorded(version: str) -> releases.Release:
    return releases.Release(version, "0" * 40, "1" * 40, datetime.date(2030, 1, 31))


def test_a_version_that_was_released_is_rejected():
    release.check_record("0.2.0", [recorded("0.1.0")])
    with pytest.raises(SystemExit, match=r"0.1.0 was released from commit 0{40} .*: set the next version with ./dev version"):
        release.check_record("0.1.0", [recorded("0.2.0"), recorded("0.1.0")])


@pytest.mark.parametrize("snapshot", [False, True])
def test_the_record_is_read_for_a_release_and_for_a_snapshot(monkeypatch, tmp_path: pathlib.Path, snapshot: bool):
    (tmp_path / "releases.yaml").write_text(f"releases:\n  {recorded(releases.project_version())}\n")
    monkeypatch.setattr(releases, "RECORD", tmp_path / "releases.yaml")
    monkeypatch.setattr(release, "git", lambda *_: "")
    with pytest.raises(SystemExit, match="was released from commit"):
        release.plan(None, snapshot)


def test_check_needs_no_compiled_program_and_makes_no_file(monkeypatch, tmp_path: pathlib.Path):
    monkeypatch.setattr(release, "check_programs", lambda *_: pytest.fail("programs were checked"))
    monkeypatch.setattr(release, "make", lambda *_: pytest.fail("files were made"))
    monkeypatch.setattr(sys, "argv", ["release.py", "--check", "--snapshot", f"--output={tmp_path / 'new'}"])
    release.main()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").touch()
    monkeypatch.setattr(sys, "argv", ["release.py", "--check", "--snapshot", f"--output={tmp_path}"])
    with pytest.raises(SystemExit, match="has files that are not of a release"):
        release.main()


def test_a_folder_with_other_files_is_not_replaced(tmp_path: pathlib.Path):
    release.check_output(tmp_path)
    (tmp_path / "mine").touch()
    with pytest.raises(SystemExit, match="has files that are not of a release"):
        release.check_output(tmp_path)
    (tmp_path / "SHA256SUMS").touch()
    release.check_output(tmp_path)


def test_debian_sorts_a_snapshot_before_the_release():
    assert release.Release("0.1.0-snapshot", "unknown", 0, pathlib.Path()).debian_version == "0.1.0~snapshot"
