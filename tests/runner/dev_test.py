"""./dev test FILTER fails if no test matches, and if a test of either kind fails; ./dev upgrade, test and release reject invalid input
before they compile. Compilers and tests are replaced by scripts, and the logs of the working tree are not touched.
"""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "longshore"
NO_TESTS_COLLECTED = 5  # pytest's exit code.


def write_script(path: pathlib.Path, text: str):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def link_cache(folder: pathlib.Path, python: str):
    """Makes a cache folder with all that ./dev has installed, except the programs of releases, and Python: a script takes its place."""
    folder.mkdir(parents=True)
    for entry in CACHE.iterdir():
        if entry.name.startswith("venv-"):
            write_script(folder / entry.name / "bin/python", python)
            (folder / entry.name / ".complete").touch()
        elif entry.name != "releases":
            (folder / entry.name).symlink_to(entry)


def run_dev(folder: pathlib.Path, *arguments: str, root: pathlib.Path = ROOT) -> subprocess.CompletedProcess:
    """Runs ROOT/dev with the programs in FOLDER/bin, the cache FOLDER/cache/longshore and logs in FOLDER/logs."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "LONGSHORE_LOGS": str(folder / "logs"),
                   "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run([root / "dev", *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False)


def git(repository: pathlib.Path, *words: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    return subprocess.run(["git", "-C", repository, *identity, *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def run_dev_test(tmp_path: pathlib.Path):
    def run(unit_tests: str, ctest_exits: int, pytest_exits: int):
        """`unit_tests`: what ctest prints as the tests that match."""
        link_cache(tmp_path / "cache/longshore", f"exit {pytest_exits}")
        write_script(tmp_path / "bin/cmake", "exit 0")
        write_script(tmp_path / "bin/ctest", f'case " $* " in *" -N "*) echo "{unit_tests}" ;; *) exit {ctest_exits} ;; esac')
        done = run_dev(tmp_path, "test", "nosuch")
        assert (tmp_path / "logs/configure.log").exists()
        return done

    return run


def test_a_filter_that_matches_no_test_fails(run_dev_test):
    done = run_dev_test("Total Tests: 0", 0, NO_TESTS_COLLECTED)
    assert done.returncode == 1
    assert 'dev: test: no test has "nosuch" in its name' in done.stderr


@pytest.mark.parametrize(
    ("unit_tests", "ctest_exits", "pytest_exits", "code"),
    [
        ("  Test #1: nosuch_test", 0, NO_TESTS_COLLECTED, 0),
        ("  Test #1: nosuch_test", 8, NO_TESTS_COLLECTED, 8),
        ("  Test #1: nosuch_test", 0, 1, 1),
        ("Total Tests: 0", 0, 0, 0),
        ("Total Tests: 0", 0, 1, 1),
    ],
)
def test_the_exit_code_is_that_of_the_tests_that_match(run_dev_test, unit_tests, ctest_exits, pytest_exits, code):
    done = run_dev_test(unit_tests, ctest_exits, pytest_exits)
    assert done.returncode == code, done.stderr


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    """A repository of one commit with all that the verbs read before they compile. Its compiler notes its calls in FOLDER/compiled."""
    root = tmp_path / "copy"
    for folder in ("deploy/release", "deploy/docker"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("dev", "cmake/setup.sh", "cmake/golden.sh", "CMakeLists.txt"):
        (root / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, root / file)
    (root / "CHANGELOG.md").write_text("## [Unreleased]\n- New.\n")
    (root / "deploy/release/releases.yaml").write_text("releases: []\n")
    (root / ".gitignore").write_text("__pycache__/\n")
    git(tmp_path, "init", "--quiet", "copy")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=all")
    (tmp_path / "cache").mkdir()
    write_script(tmp_path / "bin/cmake", f"touch {tmp_path}/compiled")
    return root


def assert_rejected(folder: pathlib.Path, done: subprocess.CompletedProcess, message: str):
    assert done.returncode != 0 and message in done.stderr, done.stderr
    assert not (folder / "compiled").exists() and "installing" not in done.stderr


def test_an_upgrade_needs_a_release_or_a_commit(tmp_path: pathlib.Path, copy: pathlib.Path):
    done = run_dev(tmp_path, "upgrade", "-k", "host", root=copy)
    assert_rejected(tmp_path, done, "dev: upgrade: deploy/release/releases.yaml has no release yet: name a commit with --from")


@pytest.mark.parametrize("arguments", [["--from"], ["--from="], ["--from", ""], ["-k", "host", "--from="], ["--from", "nosuch"]])
def test_an_upgrade_from_no_commit_is_rejected(tmp_path: pathlib.Path, copy: pathlib.Path, arguments: list[str]):
    assert_rejected(tmp_path, run_dev(tmp_path, "upgrade", *arguments, root=copy), "is not a commit of this clone; --from needs one")


@pytest.mark.parametrize("verb", ["test", "upgrade"])
def test_a_clone_without_the_commit_of_the_previous_release_is_reported_before_anything_is_built(
        tmp_path: pathlib.Path, copy: pathlib.Path, verb: str):
    row = f"- {{version: 0.0.1, commit: {'0' * 40}, tree: {'1' * 40}, date: 2030-01-31}}"
    (copy / "deploy/release/releases.yaml").write_text(f"releases:\n  {row}\n")
    assert_rejected(tmp_path, run_dev(tmp_path, verb, root=copy), "a shallow clone needs git fetch --unshallow")


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "the working tree has changes"),
    (["--snapshot", "--output={root}/deploy"], "has files that are not of a release"),
    (["--bin=build/dev/bin"], "--bin is possible only together with --snapshot"),
])
def test_a_release_that_is_not_possible_is_rejected_before_it_is_built(
        tmp_path: pathlib.Path, copy: pathlib.Path, arguments: list[str], message: str):
    (copy / "CHANGELOG.md").write_text("## [Unreleased]\n- Newer.\n")
    done = run_dev(tmp_path, "release", *(it.format(root=copy) for it in arguments), root=copy)
    assert_rejected(tmp_path, done, message)


def test_the_check_of_a_release_builds_nothing(tmp_path: pathlib.Path, copy: pathlib.Path):
    done = run_dev(tmp_path, "release", "--check", "--snapshot", root=copy)
    assert done.returncode == 0 and not (tmp_path / "compiled").exists(), done.stderr


def test_the_version_is_printed(tmp_path: pathlib.Path, copy: pathlib.Path):
    (copy / "CMakeLists.txt").write_text("project(longshore VERSION 7.8.9 LANGUAGES CXX)\n")
    assert run_dev(tmp_path, "version", root=copy).stdout == "7.8.9\n"


@pytest.mark.parametrize("arguments", [
    ["--from", "HEAD", "-k", "host", "-x"], ["-k", "host", "--from", "HEAD", "-x"], ["-k", "host", "-x", "--from=HEAD"]])
def test_an_upgrade_finds_its_option_anywhere_and_passes_the_others_to_pytest(tmp_path: pathlib.Path, arguments: list[str]):
    link_cache(tmp_path / "cache/longshore", f'echo "$LONGSHORE_PREVIOUS" "$@" >{tmp_path}/called')
    write_script(tmp_path / "bin/cmake", "exit 0")
    release = tmp_path / f"cache/longshore/releases/commit-{git(ROOT, 'rev-parse', 'HEAD')[:12]}"
    release.mkdir(parents=True)
    (release / ".complete").touch()
    done = run_dev(tmp_path, "upgrade", *arguments)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "called").read_text() == f"{release}/bin -m pytest -q -p no:cacheprovider tests/upgrade -k host -x\n"
