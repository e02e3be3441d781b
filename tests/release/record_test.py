"""No release is forgotten in the record: a version with a section in CHANGELOG.md has a row in deploy/release/releases.yaml.

The commit of a release cannot have its own row, which names this commit. So the row of the version of the working tree may be missing on the
commit that adds the section, and only there: the next commit adds the row and sets the next version.
"""

import pathlib
import re
import subprocess

import pytest
import releases
import version
from releases_test import git

HEADING = r"^## \[([0-9]+\.[0-9]+\.[0-9]+)\]"


def unrecorded(repository: pathlib.Path) -> list[str]:
    """The versions with a section that lack a row, in the working tree of a clone."""
    recorded = {it.version for it in releases.read(repository / "deploy/release/releases.yaml")}
    current = releases.project_version(repository)
    return [it for it in sections((repository / "CHANGELOG.md").read_text(encoding="utf-8"))
            if it not in recorded and (it != current or is_released(repository, it))]


def sections(changelog: str) -> list[str]:
    return re.findall(HEADING, changelog, re.MULTILINE)


def is_released(repository: pathlib.Path, name: str) -> bool:
    """Whether a parent of HEAD has the section already, with other files than HEAD. A shallow clone of one commit has no parent."""
    parents = releases.git(repository, "rev-list", "--parents", "--max-count=1", "HEAD").split()[1:]
    tree = releases.git(repository, "rev-parse", "HEAD^{tree}")
    return any(releases.git(repository, "rev-parse", f"{it}^{{tree}}") != tree and name in sections(changelog_of(repository, it)) for it in parents)


def changelog_of(repository: pathlib.Path, commit: str) -> str:
    return subprocess.run(["git", "-C", repository, "show", f"{commit}:CHANGELOG.md"], capture_output=True, text=True, check=False).stdout


def test_each_version_in_the_changelog_is_recorded():
    assert unrecorded(releases.REPOSITORY) == [], "record the release, as docs/releasing.md describes"


def test_each_recorded_version_is_in_the_changelog():
    listed = sections((releases.REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert [it.version for it in releases.read() if it.version not in listed] == []


def test_the_version_of_the_working_tree_is_not_released():
    recorded = [it.version for it in releases.read()]
    assert releases.project_version() not in recorded, "the commit that records a release also sets the next version: ./dev version X.Y.Z"


class Project:
    """A repository with a version, a changelog and a record, before its first release."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.record = folder, folder / "deploy/release/releases.yaml"
        self.record.parent.mkdir(parents=True)
        self.record.write_text("releases: []\n")
        (folder / "CMakeLists.txt").write_text("project(longshore VERSION 0.1.0 LANGUAGES CXX)\n")
        (folder / "CHANGELOG.md").write_text("## [Unreleased]\n")
        git(folder, "init", "--quiet", "--initial-branch=main")
        self.commit("first")

    def commit(self, message: str) -> None:
        git(self.folder, "add", ".")
        git(self.folder, "commit", "--quiet", "--allow-empty", f"--message={message}")

    def add_section(self, name: str) -> None:
        (self.folder / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n## [{name}] - 2030-01-31\n")

    def release(self) -> None:
        self.add_section("0.1.0")
        self.commit("release")

    def write(self, content: str) -> None:
        (self.folder / "file").write_text(content)


@pytest.fixture
def project(tmp_path: pathlib.Path) -> Project:
    return Project(tmp_path / "project")


def test_the_row_may_be_missing_until_the_commit_of_the_release(project: Project):
    assert unrecorded(project.folder) == []
    project.add_section("0.1.0")
    assert unrecorded(project.folder) == []
    project.commit("release")
    assert unrecorded(project.folder) == []
    project.write("a change that is not committed")
    assert unrecorded(project.folder) == []


def test_a_recorded_release_is_complete_in_its_own_commit_and_in_later_ones(project: Project, monkeypatch):
    monkeypatch.setattr(version, "PLACES", version.PLACES[:1])
    project.release()
    row = releases.head(project.folder)
    project.record.write_text(releases.with_row(project.record.read_text(), row))
    version.write(project.folder, "0.2.0")
    for step in ("record the release", "later", "later still"):
        assert unrecorded(project.folder) == []
        project.commit(step)
        assert unrecorded(project.folder) == []
        project.write(step)
    assert releases.commit_of(releases.previous(project.record), project.folder) == row.commit


def test_a_forgotten_row_is_found_in_the_commit_after_the_release_and_later(project: Project):
    project.release()
    for content in ("next", "later"):
        project.write(content)
        project.commit("a change")
        assert unrecorded(project.folder) == ["0.1.0"]


def test_a_forgotten_row_is_found_if_the_version_was_set(project: Project):
    project.release()
    (project.folder / "CMakeLists.txt").write_text("project(longshore VERSION 0.2.0 LANGUAGES CXX)\n")
    assert unrecorded(project.folder) == ["0.1.0"]


def test_a_merge_of_the_release_needs_the_row_only_if_it_adds_something(project: Project):
    git(project.folder, "checkout", "--quiet", "-b", "release")
    project.release()
    git(project.folder, "checkout", "--quiet", "main")
    git(project.folder, "merge", "--quiet", "--no-ff", "--message=merge", "release")
    assert unrecorded(project.folder) == []
    git(project.folder, "reset", "--quiet", "--hard", "HEAD~1")
    project.write("meanwhile")
    project.commit("meanwhile")
    git(project.folder, "merge", "--quiet", "--no-ff", "--message=merge", "release")
    assert unrecorded(project.folder) == ["0.1.0"]


def test_a_shallow_clone_of_the_release_passes(project: Project, tmp_path: pathlib.Path):
    project.release()
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project.folder}", "clone")
    assert unrecorded(tmp_path / "clone") == []
