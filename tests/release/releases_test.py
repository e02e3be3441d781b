"""The record of releases, which the upgrade tests read."""

import datetime
import pathlib
import subprocess
import sys

import pytest
import releases

ROW = "  - {version: %s, commit: %s, tree: %s, date: 2030-01-31}\n"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TREE = "89abcdef0123456789abcdef0123456789abcdef"


def record(*versions: str) -> str:
    return "# A comment.\nreleases:\n" + "".join(ROW % (version, COMMIT, TREE) for version in versions)


def git(repository: pathlib.Path, *words: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    return subprocess.run(["git", "-C", repository, *identity, *words], capture_output=True, text=True, check=True).stdout.strip()


def commit(repository: pathlib.Path, content: str) -> tuple[str, str]:
    """Commits a file with this content; returns the commit and its tree."""
    (repository / "file").write_text(content)
    git(repository, "add", "file")
    git(repository, "commit", "--quiet", "--message=change")
    return git(repository, "rev-parse", "HEAD"), git(repository, "rev-parse", "HEAD^{tree}")


def release_of(found: tuple[str, str]) -> releases.Release:
    return releases.Release("0.1.0", *found, datetime.date(2030, 1, 31))


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-B", releases.__file__, *arguments], capture_output=True, text=True, check=False)


def test_each_recorded_release_is_an_ancestor_of_this_commit_and_has_its_version():
    for release in releases.parse(releases.RECORD.read_text()):
        project = git(releases.REPOSITORY, "show", f"{releases.commit_of(release)}:CMakeLists.txt")
        assert f"project(longshore VERSION {release.version} " in project


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


def test_the_program_prints_a_row(tmp_path: pathlib.Path):
    (tmp_path / "releases.yaml").write_text(record("0.2.0", "0.1.0"))
    done = run("previous", "--before=0.2.0", f"--record={tmp_path / 'releases.yaml'}")
    assert done.stdout == f"0.1.0 {COMMIT} {TREE} 2030-01-31\n"


@pytest.mark.parametrize(("text", "message"), [
    (record("0.1.0", "0.2.0"), "line 4: version 0.2.0 must be older than version 0.1.0"),
    (record("0.1.0", "0.1.0"), "line 4: version 0.1.0 must be older"),
    (record("0.1"), "line 3: not a valid row"),
    (record("0.1.0").replace(COMMIT, "main"), "line 3: not a valid row"),
    (record("0.1.0").replace(f" tree: {TREE},", ""), "line 3: not a valid row"),
])
def test_an_invalid_row_is_reported_with_its_line(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        releases.parse(text)


def test_an_invalid_version_is_reported(tmp_path: pathlib.Path):
    (tmp_path / "releases.yaml").write_text(record("0.1.0"))
    done = run("previous", "--before=next", f"--record={tmp_path / 'releases.yaml'}")
    assert done.returncode == 1 and '"next" is not a valid version' in done.stderr


def test_a_release_is_found_by_its_commit_and_after_a_rewrite_by_its_tree(tmp_path: pathlib.Path):
    git(tmp_path, "init", "--quiet")
    released = commit(tmp_path, "released")
    commit(tmp_path, "later")
    assert releases.commit_of(release_of(released), tmp_path) == released[0]
    assert releases.commit_of(release_of((COMMIT, released[1])), tmp_path) == released[0]


def test_a_release_that_is_not_an_ancestor_is_reported(tmp_path: pathlib.Path):
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commit(tmp_path, "first")
    git(tmp_path, "checkout", "--quiet", "-b", "other")
    other = commit(tmp_path, "other")
    git(tmp_path, "checkout", "--quiet", "main")
    with pytest.raises(ValueError, match="release 0.1.0: HEAD has no ancestor"):
        releases.commit_of(release_of(other), tmp_path)


def test_a_commit_with_another_tree_than_the_recorded_one_is_reported(tmp_path: pathlib.Path):
    git(tmp_path, "init", "--quiet")
    with pytest.raises(ValueError, match="HEAD has no ancestor"):
        releases.commit_of(release_of((commit(tmp_path, "released")[0], TREE)), tmp_path)
