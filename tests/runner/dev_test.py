"""./dev test FILTER fails if no test matches, and if a test of either kind fails. Compilers and tests are replaced by scripts."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "longshore"
NO_TESTS_COLLECTED = 5  # pytest's exit code.


def write_script(path: pathlib.Path, text: str):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def link_cache(folder: pathlib.Path, pytest_exits: int):
    """Makes a cache folder with all that ./dev has installed, except Python: a script takes its place."""
    for entry in CACHE.iterdir():
        if entry.name.startswith("venv-"):
            write_script(folder / entry.name / "bin/python", f"exit {pytest_exits}")
            (folder / entry.name / ".complete").touch()
        else:
            (folder / entry.name).symlink_to(entry)


@pytest.fixture
def run_dev_test(tmp_path: pathlib.Path):
    def run(unit_tests: str, ctest_exits: int, pytest_exits: int):
        """`unit_tests`: what ctest prints as the tests that match."""
        (tmp_path / "cache/longshore").mkdir(parents=True)
        link_cache(tmp_path / "cache/longshore", pytest_exits)
        write_script(tmp_path / "bin/cmake", "exit 0")
        write_script(tmp_path / "bin/ctest", f'case " $* " in *" -N "*) echo "{unit_tests}" ;; *) exit {ctest_exits} ;; esac')
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run([ROOT / "dev", "test", "nosuch"], env=environment, capture_output=True, text=True, timeout=60, check=False)

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
