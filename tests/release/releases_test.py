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


@pytest.fixture
def repository(tmp_path: pathlib.Path) -> pathlib.Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    return tmp_path


def test_each_recorded_release_is_an_ancestor_of_this_commit_and_has_its_version():
    for release in releases.read():
        project = git(releases.REPOSITORY, "show", f"{releases.commit_of(release)}:CMakeLists.txt")
        assert f"project(longshore VERSION {release.version} " in project


def test_the_previous_release_is_the_newest_one(tmp_path: pathlib.Path):
    path = tmp_path / "releases.yaml"
    path.write_text("releases: []\n")
    assert releases.previous(path) is None
    path.write_text(record("0.10.0", "0.9.0", "0.8.1"))
    assert releases.previous(path).version == "0.10.0"


def test_the_program_prints_nothing_if_there_is_no_previous_release(tmp_path: pathlib.Path):
    (tmp_path / "releases.yaml").write_text("releases: []\n")
    done = run("previous", f"--record={tmp_path / 'releases.yaml'}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_program_prints_the_previous_release_with_its_commit_in_this_clone(tmp_path: pathlib.Path):
    commit, tree = git(releases.REPOSITORY, "rev-parse", "HEAD", "HEAD^{tree}").split()
    (tmp_path / "releases.yaml").write_text("releases:\n" + ROW % ("0.1.0", COMMIT, tree))
    done = run("previous", f"--record={tmp_path / 'releases.yaml'}")
    assert done.stdout == f"0.1.0 {commit}\n", done.stderr


def test_a_release_that_this_clone_does_not_have_is_reported_with_advice(tmp_path: pathlib.Path):
    (tmp_path / "releases.yaml").write_text(record("0.1.0"))
    done = run("previous", f"--record={tmp_path / 'releases.yaml'}")
    assert done.returncode == 1 and "a shallow clone needs git fetch --unshallow" in done.stderr


@pytest.mark.parametrize("before", ["# A comment with releases: in it.\nreleases: []\n", record("0.1.0"), record("0.10.0", "0.1.0")])
def test_a_row_is_added_above_the_others(before: str):
    added = releases.with_row(before, releases.Release("0.11.0", COMMIT, TREE, datetime.date(2030, 1, 31)))
    assert releases.parse(added)[0].version == "0.11.0" and releases.parse(added)[1:] == releases.parse(before)
    assert added.splitlines()[0] == before.splitlines()[0] and added.endswith("}\n")


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "next"])
def test_a_row_is_not_added_if_the_version_is_not_newer(version: str):
    with pytest.raises(ValueError, match="must be older than version|not a valid row"):
        releases.with_row(record("0.1.0"), releases.Release(version, COMMIT, TREE, datetime.date(2030, 1, 31)))


def test_a_row_is_not_added_to_another_file():
    with pytest.raises(ValueError, match='has no line "releases:"'):
        releases.with_row("rows: []\n", release_of((COMMIT, TREE)))


def test_the_row_of_a_release_names_the_commit_of_a_clean_working_tree(repository: pathlib.Path):
    (repository / "CMakeLists.txt").write_text("project(longshore VERSION 0.3.0 LANGUAGES CXX)\n")
    git(repository, "add", "CMakeLists.txt")
    made = commit(repository, "released")
    release = releases.head(repository)
    assert (release.version, release.commit, release.tree) == ("0.3.0", *made)
    (repository / "file").write_text("changed")
    with pytest.raises(ValueError, match="the working tree has changes"):
        releases.head(repository)


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


def test_a_release_is_found_by_its_commit_and_after_a_rewrite_by_its_tree(repository: pathlib.Path):
    released = commit(repository, "released")
    commit(repository, "later")
    assert releases.commit_of(release_of(released), repository) == released[0]
    assert releases.commit_of(release_of((COMMIT, released[1])), repository) == released[0]


def test_a_release_that_is_not_an_ancestor_is_reported(repository: pathlib.Path):
    commit(repository, "first")
    git(repository, "checkout", "--quiet", "-b", "other")
    other = commit(repository, "other")
    git(repository, "checkout", "--quiet", "main")
    with pytest.raises(ValueError, match="release 0.1.0: HEAD has no ancestor"):
        releases.commit_of(release_of(other), repository)


def test_a_commit_with_another_tree_than_the_recorded_one_is_reported(repository: pathlib.Path):
    with pytest.raises(ValueError, match="HEAD has no ancestor"):
        releases.commit_of(release_of((commit(repository, "released")[0], TREE)), repository)
