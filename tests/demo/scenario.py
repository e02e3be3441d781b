"""Base class of the scenarios of ./dev demo and ./dev e2e.

Runs the stages, and records expected and observed results and which versions may answer in each segment of the load.
"""

import time


class Scenario:
    """`programs`: the Programs of demo/programs.py. `view` must be set before run_stages.

    `objects`: the Models and fleets as a thread last read them.
    """

    def __init__(self, programs):
        self.programs = programs
        self.view = None
        self.objects = None
        self.loads = {}
        self.expectations = []
        self.allowed = {}       # Segment of the digits load -> versions that may answer in it.
        self.result = {}

    def run_stages(self, stages):
        """`stages`: (title, function) in order."""
        for title, stage in stages:
            self.view.stage(title)
            stage()

    def all_met(self):
        return all(entry["met"] for entry in self.expectations)

    def expect(self, what, met, seen):
        self.expectations.append({"what": what, "met": bool(met), "seen": str(seen)})
        self.view.expectation(what, met, seen)

    def wait(self, until, timeout_s):
        """Waits until `until()` is true. Returns False at the timeout; raises DemoError if a required program has ended."""
        deadline = time.monotonic() + timeout_s
        while not until():
            if time.monotonic() > deadline:
                return False
            self.pause(0.05)
        return True

    def pause(self, seconds):
        """Sleeps, and meanwhile reaps ended processes and checks that the required programs are running."""
        deadline = time.monotonic() + seconds
        while True:
            self.programs.reap()
            self.programs.check_alive(*self.required_programs())
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.2))

    def required_programs(self):
        """The names of the programs without which the scenario cannot continue."""
        return ()

    def verdict(self, model="digits"):
        verdict = self.objects.rollout(model).get("verdict") or {}
        return f"{verdict.get('result')} ({verdict.get('reason')}): {verdict.get('message')}"

    def is_over(self, version, phase, model="digits"):
        rollout = self.objects.rollout(model)
        return rollout.get("candidate") == version and rollout.get("phase") == phase

    def mark(self, segment, allowed):
        self.loads["digits"].mark(segment)
        self.allowed[segment] = set(allowed)
