"""How a story under load is told: what was expected beside what was seen, and which versions may answer when."""

import time


class Telling:
    """For a story to inherit. `view` is set before the first act; `programs` are those of demo/programs.py."""

    def __init__(self, programs):
        self.programs = programs
        self.view = None
        self.loads = {}
        self.expectations = []
        self.allowed = {}       # Segment of the digits load -> versions that may answer in it.
        self.result = {}

    def tell(self, acts):
        """`acts`: (title, what to do), in order."""
        for title, act in acts:
            self.view.act(title)
            act()

    def all_met(self):
        return all(entry["met"] for entry in self.expectations)

    def expect(self, what, met, seen):
        self.expectations.append({"what": what, "met": bool(met), "seen": str(seen)})
        self.view.expectation(what, met, seen)

    def wait(self, until, patience_s):
        """Whether it came true in time. A program that ended by itself stops the story."""
        deadline = time.monotonic() + patience_s
        while not until():
            if time.monotonic() > deadline:
                return False
            self.pause(0.05)
        return True

    def pause(self, seconds):
        """Lets time pass, and collects what has ended meanwhile."""
        deadline = time.monotonic() + seconds
        while True:
            self.programs.reap()
            self.programs.check_alive(*self.must_live())
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.2))

    def must_live(self):
        """Names of the programs without which the story cannot go on."""
        return ()

    def mark(self, segment, allowed):
        self.loads["digits"].mark(segment)
        self.allowed[segment] = set(allowed)
