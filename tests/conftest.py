"""Fails a whole run if it skips a test that ALLOWED_SKIPS does not list, because a skipped test has checked nothing.

A whole run is `./dev test` without a filter, which sets LONGSHORE_ALL_TESTS."""

import os
import pathlib
import re
import sys

import pytest

# (pattern of the test, pattern of the reason, the most skips that are allowed). Comments say why a run may pass without them.
ALLOWED_SKIPS = [
    # Some models need an op that the engine does not have. The test has then checked the error message.
    (r"judge_unseen_test\.py", r"rejected: ", 10),
    # Containers need root. Without root, the other tests are still worth running.
    (r"tests/image/", r"needs root", 100),
    # Before the first release there is nothing to compare with. The tests skip only if deploy/release/releases.yaml has no row.
    (r"tests/release/compatibility_test\.py", r"no release is recorded", 2),
    (r"tests/upgrade/", r"no release is recorded", 4),
]
_skips = {}


def unlisted(skips):
    """Returns the tests of `skips` (name -> reason) that no row of ALLOWED_SKIPS covers or that exceed the number of their row."""
    counts = [0] * len(ALLOWED_SKIPS)
    unlisted_tests = []
    for name, reason in skips.items():
        for row, (test, why, count_max) in enumerate(ALLOWED_SKIPS):
            if re.search(test, name) and re.search(why, reason):
                counts[row] += 1
                if counts[row] > count_max:
                    unlisted_tests.append(name)
                break
        else:
            unlisted_tests.append(name)
    return unlisted_tests


@pytest.fixture(scope="session")
def plain_control_plane():
    """An API server with Longshore's kinds and without controllers. Tests of several files share it: each removes its own objects."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parent / "cluster"))
    from control_plane import ControlPlane

    with ControlPlane() as server:
        yield server


def pytest_runtest_logreport(report):
    if report.skipped:
        _skips[report.nodeid] = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_collectreport(report):
    if report.skipped:
        _skips[report.nodeid] = str(report.longrepr)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    unlisted_tests = unlisted(_skips)
    if os.environ.get("LONGSHORE_ALL_TESTS") and unlisted_tests and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    unlisted_tests = unlisted(_skips)
    if os.environ.get("LONGSHORE_ALL_TESTS") and unlisted_tests:
        terminalreporter.section("skipped tests that tests/conftest.py does not allow")
        for name in unlisted_tests:
            terminalreporter.line(f"{name}: {_skips[name]}", red=True)
