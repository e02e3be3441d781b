"""A skipped test has checked nothing: a whole run (./dev test without a filter sets LONGSHORE_ALL_TESTS) fails when a test
is skipped that is not listed here."""

import os
import re

import pytest

# Test, reason, how many at most, and why the run is good without them.
ALLOWED_SKIPS = [
    # Models that were drawn at random and need an op that the engine does not have. The test has checked the refusal.
    (r"judge_unseen_test\.py", r"refused: ", 10),
    # Containers need root; without it the rest of the tests is still worth a run.
    (r"tests/image/", r"needs root", 100),
]
_skips = {}


def unlisted(skips):
    """The tests of `skips` (name to reason) that no row of ALLOWED_SKIPS covers, or that are above a row's number."""
    counts = [0] * len(ALLOWED_SKIPS)
    beyond = []
    for name, reason in skips.items():
        for row, (test, why, count_max) in enumerate(ALLOWED_SKIPS):
            if re.search(test, name) and re.search(why, reason):
                counts[row] += 1
                if counts[row] > count_max:
                    beyond.append(name)
                break
        else:
            beyond.append(name)
    return beyond


def pytest_runtest_logreport(report):
    if report.skipped:
        _skips[report.nodeid] = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_collectreport(report):
    if report.skipped:
        _skips[report.nodeid] = str(report.longrepr)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    beyond = unlisted(_skips)
    if os.environ.get("LONGSHORE_ALL_TESTS") and beyond and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    beyond = unlisted(_skips)
    if os.environ.get("LONGSHORE_ALL_TESTS") and beyond:
        terminalreporter.section("skipped, and not listed in tests/conftest.py")
        for name in beyond:
            terminalreporter.line(f"{name}: {_skips[name]}", red=True)
