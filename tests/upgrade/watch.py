"""Watches the status of a rollout while programs are replaced."""

import threading

# These fields do not change while the rollout waits for the command promote.
FIXED = ("id", "attempt", "step", "weight", "phase", "stable", "candidate", "startedAt", "stepStartedAt", "stepCandidateRequests")


def counts_of(rollout: dict) -> dict[str, float]:
    """The statistics of a rollout that can only grow."""
    arms = {arm: rollout["analysis"].get(arm, {}) for arm in ("candidate", "stable")}
    return {"candidateRequests": rollout["verdict"]["numbers"].get("candidateRequests", 0),
            **{f"analysis.{arm}.requests": counts.get("requests", 0) for arm, counts in arms.items()}}


class Watch:
    """Reads the status of the rollout all the time and keeps every violation: a field of FIXED that changed, a count that fell, a status
    that cannot be read or has no rollout. A test checks `violations` after the watch; leaving it fails if the thread has ended before.
    """

    def __init__(self, it):
        """`it`: an Installation of tests/integration."""
        self.it, self.violations, self.seen = it, [], 0
        status = it.status("half")
        rollout = status["rollout"]
        self.fixed, self.counts, self.epoch = {name: rollout[name] for name in FIXED}, counts_of(rollout), status["epoch"]
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        try:
            while not self.ending.wait(0.02):
                self.check(self.it.status("half"))
        except Exception as error:  # Otherwise the thread would end, and the test would pass.
            self.violations.append(f"the watch ended: {error!r}")

    def check(self, status: dict) -> None:
        self.seen += 1
        if "rollout" not in status:
            self.violations.append("the status has no rollout")
            return
        rollout = status["rollout"]
        self.violations += [f"{name}: was {was}, is {rollout.get(name)}" for name, was in self.fixed.items() if rollout.get(name) != was]
        now = counts_of(rollout)
        self.violations += [f"{name}: fell from {was} to {now[name]}" for name, was in self.counts.items() if now[name] < was]
        self.violations += [f"the epoch fell from {self.epoch} to {status['epoch']}"] if status["epoch"] < self.epoch else []
        self.counts, self.epoch = now, status["epoch"]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, failure, *_):
        alive = self.thread.is_alive()
        self.ending.set()
        self.thread.join()
        assert alive or failure, self.violations
