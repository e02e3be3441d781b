"""The record of releases, which the upgrade tests read."""

import pathlib
import subprocess
import sys

import pytest
import releases

ROW = "  - {version: %s, commit: %s, date: 2030-01-31}\n"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def record(*versions: str) -> str:
    return "# A comment.\nreleases:\n" + "".join(ROW % (version, COMMIT) for version in versions)


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-B", releases.__file__, *arguments], capture_output=True, text=True, check=False)


def test_the_record_of_this_repository_is_valid():
    releases.parse(releases.RECORD.read_text())


def test_an_empty_record_has_no_previous_release():
    assert releases.previous(releases.parse("releases: []\n")) is None


def test_versions_are_compared_as_numbers():
    found = releases.parse(record("0.10.0", "0.9.0", "0.8.1"))
    assert releases.previous(found).version == "0.10.0"
    assert releases.previous(found, before="0.10.0").version == "0.9.0"
    assert releases.previous(found, before="0.8.1") is None


def test_the_program_prints_nothing_if_there_is_no_previous_release(tmp_path: pathlib.Path):
    (tmp_path / "releases.yaml").write_text("releases: []\n")
    done = run("previous", f"--record={tmp_path / 'releases.yaml'}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_program_prints_version_commit_and_date(tmp_path: pathlib.Path):
    (tmp_path / "releases.yaml").write_text(record("0.2.0", "0.1.0"))
    done = run("previous", "--before=0.2.0", f"--record={tmp_path / 'releases.yaml'}")
    assert done.stdout == f"0.1.0 {COMMIT} 2030-01-31\n"


@pytest.mark.parametrize(("text", "message"), [
    (record("0.1.0", "0.2.0"), "line 4: version 0.2.0 must be older than version 0.1.0"),
    (record("0.1.0", "0.1.0"), "line 4: version 0.1.0 must be older"),
    (record("0.1"), "line 3: not a valid row"),
    (record("0.1.0").replace(COMMIT, "main"), "line 3: not a valid row"),
])
def test_an_invalid_row_is_reported_with_its_line(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        releases.parse(text)


def test_an_invalid_version_is_reported(tmp_path: pathlib.Path):
    (tmp_path / "releases.yaml").write_text(record("0.1.0"))
    done = run("previous", "--before=next", f"--record={tmp_path / 'releases.yaml'}")
    assert done.returncode == 1 and '"next" is not a valid version' in done.stderr
