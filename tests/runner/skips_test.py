"""A run of all program tests fails if a test skips without a row in tests/conftest.py."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

CONFTEST = pathlib.Path(__file__).resolve().parents[1] / "conftest.py"
SKIP = 'import pytest\n\ndef test_this():\n    pytest.skip("{reason}")\n'


@pytest.fixture
def run_pytest(tmp_path: pathlib.Path):
    """Runs pytest on a folder with this project's conftest.py and the given files. Returns the exit code and the output."""

    def run(files, all_tests=True):
        shutil.copy(CONFTEST, tmp_path)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        environment = {name: value for name, value in os.environ.items() if name != "LONGSHORE_ALL_TESTS"}
        environment |= {"LONGSHORE_ALL_TESTS": "1"} if all_tests else {}
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout

    return run


def test_a_skip_without_a_row_fails_and_is_named(run_pytest):
    code, out = run_pytest({"some_test.py": SKIP.format(reason="no time")})
    assert code == 1
    assert "some_test.py::test_this: Skipped: no time" in out


def test_a_file_that_skips_as_a_whole_fails(run_pytest):
    whole = 'import pytest\n\npytest.skip("no time", allow_module_level=True)\n'
    code, out = run_pytest({"some_test.py": whole, "other_test.py": "def test_that():\n    pass\n"})
    assert code == 1
    assert "some_test.py" in out


def test_a_skip_with_a_row_passes(run_pytest):
    assert run_pytest({"tests/image/some_test.py": SKIP.format(reason="needs root")})[0] == 0


def test_a_row_is_for_its_reason_and_its_tests_only(run_pytest):
    assert run_pytest({"tests/image/some_test.py": SKIP.format(reason="no time")})[0] == 1
    assert run_pytest({"tests/other/other_test.py": SKIP.format(reason="needs root")})[0] == 1


def test_more_skips_than_a_row_allows_fail(run_pytest):
    skips = "import pytest\n\n@pytest.mark.parametrize('i', range({}))\ndef test_this(i):\n    pytest.skip('rejected: op')\n"
    assert run_pytest({"judge_unseen_test.py": skips.format(10)})[0] == 0
    assert run_pytest({"judge_unseen_test.py": skips.format(11)})[0] == 1


def test_a_run_with_a_filter_may_skip(run_pytest):
    assert run_pytest({"some_test.py": SKIP.format(reason="no time")}, all_tests=False)[0] == 0
