"""./dev test runs pytest for two lists of folders at the same time. Compilers, ctest and pytest are replaced by scripts."""

import os
import pathlib
import signal
import subprocess
import time

import pytest
from dev_test import NO_TESTS_COLLECTED, ROOT, link_cache, run_dev, write_script

FIRST = "tests/judge"  # A folder of the first list.


@pytest.fixture
def run(tmp_path: pathlib.Path):
    """Runs ./dev test FILTER. `first` and `second` are the commands of a shell that take the place of pytest for the two lists."""

    def prepare(first: str, second: str, unit_tests: str = "Total Tests: 0"):
        link_cache(tmp_path / "cache/longshore", f'case "$*" in *{FIRST}*) {first} ;; *) {second} ;; esac')
        write_script(tmp_path / "bin/cmake", "exit 0")
        write_script(tmp_path / "bin/ctest", f'case " $* " in *" -N "*) echo "{unit_tests}" ;; esac')

    def run_test(*commands: str, **options: str):
        prepare(*commands, **options)
        return run_dev(tmp_path, "test", "some")

    run_test.prepare = prepare
    return run_test


def test_the_lists_run_at_the_same_time_and_their_outputs_are_printed_one_after_the_other(run, tmp_path: pathlib.Path):
    wait = 'for i in $(seq 200); do [ -e {} ] && break; sleep 0.05; done; [ -e {} ] || exit 3'
    first, second = tmp_path / "first", tmp_path / "second"
    done = run(f"echo one; touch {first}; {wait.format(second, second)}; echo two", f"echo three; touch {second}; {wait.format(first, first)}; echo four")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["one", "two", "three", "four"]


@pytest.mark.parametrize(("first", "second", "unit_tests", "code"), [
    (0, 7, False, 7),
    (7, 0, False, 7),
    (NO_TESTS_COLLECTED, 7, False, 7),
    (NO_TESTS_COLLECTED, 0, False, 0),
    (0, NO_TESTS_COLLECTED, False, 0),
    (NO_TESTS_COLLECTED, NO_TESTS_COLLECTED, False, 1),
    (NO_TESTS_COLLECTED, NO_TESTS_COLLECTED, True, 0),
])
def test_a_failure_of_either_list_fails_and_a_filter_must_match_a_test_of_one_list(run, first: int, second: int, unit_tests: bool, code: int):
    done = run(f"exit {first}", f"exit {second}", unit_tests="  Test #1: some_test" if unit_tests else "Total Tests: 0")
    assert done.returncode == code, done.stderr


def test_without_a_filter_each_list_must_have_tests(tmp_path: pathlib.Path):
    script = (ROOT / "dev").read_text().rpartition('verb="${1:-help}"')[0]
    write_script(tmp_path / "python", f'case "$*" in *{FIRST}*) exit {NO_TESTS_COLLECTED} ;; esac')
    done = subprocess.run(["bash", "-c", f"{script}\nPYTHON={tmp_path}/python program_tests release", ROOT / "dev"], capture_output=True, text=True,
                          timeout=60, check=False, env={**os.environ, "LONGSHORE_LOGS": str(tmp_path)})
    assert done.returncode == NO_TESTS_COLLECTED, done.stderr


def test_an_interrupt_ends_both_lists(run, tmp_path: pathlib.Path):
    """A terminal sends the signal to the whole group. Both shells handle it, which is possible only if they do not ignore it from the start."""
    until_interrupted = 'trap "touch {}; exit 2" INT; touch {}.begun; for i in $(seq 600); do sleep 0.05; done'
    run.prepare(*(until_interrupted.format(tmp_path / name, tmp_path / name) for name in ("first", "second")))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "LONGSHORE_LOGS": str(tmp_path / "logs"),
                   "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    with subprocess.Popen(["env", "--default-signal=INT", ROOT / "dev", "test", "some"], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as process:
        end = time.monotonic() + 30
        while not all((tmp_path / f"{name}.begun").exists() for name in ("first", "second")):
            assert time.monotonic() < end and process.poll() is None, "the lists do not begin"
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
    assert (tmp_path / "first").exists() and (tmp_path / "second").exists()
