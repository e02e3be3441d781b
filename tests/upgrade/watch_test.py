"""A watch finds each violation, and does not end in silence."""

import copy
import time

import pytest
from watch import FIXED, Watch

STATUS = {"epoch": 7, "rollout": {
    **dict.fromkeys(FIXED, "same"), "verdict": {"numbers": {"candidateRequests": 10}},
    "analysis": {"candidate": {"requests": 10}, "stable": {"requests": 20}}}}


class Fake:
    """An installation whose next answer for the status is `answer`; an exception is raised."""

    def __init__(self):
        self.answer, self.reads = copy.deepcopy(STATUS), 0

    def status(self, _name: str) -> dict:
        self.reads += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def wait_for_reads(self) -> None:
        """Waits until a read that began after this call has been checked."""
        wanted, end = self.reads + 3, time.monotonic() + 30
        while self.reads < wanted:
            assert time.monotonic() < end
            time.sleep(0.01)


def changed(**values) -> dict:
    status = copy.deepcopy(STATUS)
    status["rollout"] |= values
    return status


def test_a_status_that_does_not_change_is_no_violation():
    fake = Fake()
    with Watch(fake) as watch:
        fake.wait_for_reads()
    assert watch.violations == [] and watch.seen > 0 and not watch.thread.is_alive()


@pytest.mark.parametrize(("answer", "violation"), [
    (changed(step="other"), "step: was same, is other"),
    (changed(verdict={"numbers": {}}), "candidateRequests: fell from 10 to 0"),
    (changed(analysis={"candidate": {"requests": 10}, "stable": {"requests": 19}}), "analysis.stable.requests: fell from 20 to 19"),
    ({**STATUS, "epoch": 6}, "the epoch fell from 7 to 6"),
    ({"epoch": 7}, "the status has no rollout"),
])
def test_a_violation_is_found(answer: dict, violation: str):
    fake = Fake()
    with Watch(fake) as watch:
        fake.answer = answer
        fake.wait_for_reads()
    assert violation in watch.violations


@pytest.mark.parametrize("answer", [OSError("no file"), {**STATUS, "rollout": None}])
def test_a_watch_that_has_ended_fails_the_test(answer):
    fake = Fake()
    with pytest.raises(AssertionError, match="the watch ended"):
        with Watch(fake) as watch:
            fake.answer = answer
            watch.thread.join(timeout=30)
    assert len(watch.violations) == 1


def test_a_failure_inside_of_a_watch_is_not_hidden_by_its_end():
    fake = Fake()
    with pytest.raises(ZeroDivisionError):
        with Watch(fake) as watch:
            fake.answer = OSError("no file")
            watch.thread.join(timeout=30)
            raise ZeroDivisionError
