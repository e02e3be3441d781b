"""Kills the controller before, after and with the reply lost, at every operation of a promotion and of a rollback.

An operation is a write to the store or a message to a node (controller/runtime/failpoint.h); a point is its name, which says
what is written. Undisturbed rollouts on two nodes tell the points; then each is tried in each mode, the controller is started
again, and the end has to be the same: stable version, weight, digests, failures, conditions, what the nodes hold, what each
of them answers, the same node processes; and no request may be lost on the way.

A point that every undisturbed rollout had must be reached. Some come only when two changes were not written as one; they
are tried too, but a rollout may be over without them.

LONGSHORE_CRASH_EVERY=N tries every Nth point only; LONGSHORE_CRASH_JOBS of them are tried at once.
"""

import concurrent.futures
import os
import shutil
import subprocess
import unittest
import urllib.error

from harness import MODELS, Installation, read_images, wait_for

MODES = ("before", "lost", "after")
TRIES_MAX = 6
TRIES_OF_RARE_MAX = 2
UNDISTURBED = 3
NODES = 2


class Promotion:
    name, model, candidate, phase, stable = "promotion", "half", 2, "Completed", 2
    requests = [{"instances": [2.0]}]
    extra = ""

    def make_source(self, directory):
        shutil.copytree(MODELS / "half_plus_two_tf2/1", directory / "half/1")
        shutil.copytree(MODELS / "half_plus_three_tf2/1", directory / "half/2")
        return directory / "half"

    def requests_at(self, _phase):
        return self.requests * 10


class Rollback:
    """Version 4 passes its rehearsal and gives NaN for some images, which come once it has traffic."""

    name, model, candidate, phase, stable = "rollback", "digits", 4, "RolledBack", 1
    extra = "  validation: {nonFinite: Reject}\n"

    def __init__(self):
        images = read_images(MODELS / "digits/traffic.f32")
        broken = [int(line) for line in (MODELS / "digits/traffic_nan.txt").read_text().split()]
        good = next(at for at in range(len(images)) if at not in broken)
        self.requests = [{"instances": [images[at]]} for at in (good, broken[0])]

    def make_source(self, directory):
        for version in ("1", "4"):
            shutil.copytree(MODELS / "digits" / version, directory / "digits" / version)
        return directory / "digits"

    def requests_at(self, phase):
        return self.requests * 2 if phase == "Step" else self.requests[:1] * 2


def keep_alive(it):
    """The controller may die once; the next one has no failpoint."""
    if it.controller.poll() is not None:
        it.start_controller()


def died_at_last(it):
    """The last operation shows before the controller has died of it."""
    try:
        it.controller.wait(timeout=0.3)
        return True
    except subprocess.TimeoutExpired:
        return False


def conditions(status):
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def is_over(it, rollout):
    seen = it.status(rollout.model)["rollout"]
    return (seen["candidate"], seen["phase"]) == (rollout.candidate, rollout.phase)


def end_of(it, rollout):
    """How the world looks when nothing is under way any more; None while something is."""
    keep_alive(it)
    status = it.status(rollout.model)
    states = {node["node"]: node["state"] for node in status["nodes"]}
    if not is_over(it, rollout) or set(states.values()) != {f"{rollout.stable}:Ready"}:
        return None  # The other version is unloaded after its soak, which is the last thing that happens.
    return {"stable": status["stableVersion"], "weight": status["rollout"]["weight"], "digests": status["digests"],
            "failed": [(entry["version"], entry["reason"], entry.get("digest")) for entry in status["failed"]],
            "conditions": conditions(status), "fleet": conditions(it.fleet_status()), "nodes": states,
            "answers": [it.ask_each_node(f"{rollout.model}:predict", body) for body in rollout.requests],
            "versions": it.ask_each_node(rollout.model, times=3)}


def ask(it, rollout, failures):
    for body in rollout.requests_at(it.phase(rollout.model)):
        try:
            it.predict(rollout.model, body)
        except (urllib.error.URLError, OSError) as error:
            failures.append(repr(error))


def roll_out(it, rollout, source, env, expected):
    """The rollout with requests all the time. Returns the end, the expected one if it comes, and the requests that failed."""
    failures = []
    it.start_controller(env)
    it.apply_model(rollout.model, source, rollout.candidate, extra=rollout.extra)

    def finished():
        keep_alive(it)
        ask(it, rollout, failures)
        return is_over(it, rollout)

    wait_for(f"the {rollout.name}", finished, seen=lambda: it.status(rollout.model))
    end = wait_for_end(it, rollout, expected)
    if died_at_last(it):
        epoch = it.status(rollout.model)["epoch"]
        keep_alive(it)
        wait_for("the new controller's word", lambda: it.status(rollout.model)["epoch"] > epoch)
        end = wait_for_end(it, rollout, expected)
    return end, failures


def wait_for_end(it, rollout, expected):
    """The expected end, or after some time whichever there is. Without an expectation the first that is seen twice."""
    last = None

    def settled():
        nonlocal last
        before, last = last, end_of(it, rollout)
        return last and last == (expected or before)

    try:
        wait_for("the end", settled, seen=lambda: it.status(rollout.model))
    except AssertionError:
        if last is None:
            raise
    return last


def run(rollout, expected=None, crash_at=None):
    with Installation() as it:
        source = rollout.make_source(it.dir)
        it.apply_fleet(nodes=NODES)
        it.apply_model(rollout.model, source, 1, extra=rollout.extra)
        it.start_controller()
        it.wait_for_stable(rollout.model, 1)
        it.wait_for_ready_nodes(NODES)
        it.wait_for_answers(rollout.model, rollout.requests[0])
        it.kill_controller()
        pids, before = it.node_pids(), it.started
        count = it.dir / "count"
        env = {"LONGSHORE_CRASH_AT": crash_at} if crash_at else {"LONGSHORE_CRASH_COUNT_FILE": str(count)}
        end, failures = roll_out(it, rollout, source, env, expected)
        return {"end": end, "failures": failures, "same_nodes": pids == it.node_pids(), "died": it.started - before > 1,
                "points": count.read_text().splitlines() if not crash_at else []}


def try_point(rollout, expected, crash_at, tries_max):
    for _ in range(tries_max):
        try:
            seen = run(rollout, expected, crash_at)
        except AssertionError as error:
            return {"end": repr(error), "failures": [], "same_nodes": True, "died": True}
        if seen["died"]:
            break
    return seen


class CrashPoints(unittest.TestCase):
    def crash_everywhere(self, rollout):
        every = int(os.environ.get("LONGSHORE_CRASH_EVERY", "1"))
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("LONGSHORE_CRASH_JOBS", "4"))) as pool:
            undisturbed = list(pool.map(lambda _: run(rollout), range(UNDISTURBED)))
            expected = undisturbed[0]["end"]
            for seen in undisturbed:
                self.assertEqual((seen["end"], seen["failures"]), (expected, []))
            counted = [set(seen["points"]) for seen in undisturbed]
            points = sorted(set.intersection(*counted))[::every]
            rare = sorted(set.union(*counted) - set.intersection(*counted))[::every]
            self.assertGreater(len(points) * every, 10)
            tries = {(point, mode): pool.submit(try_point, rollout, expected, f"{mode}:{point}", tries_max)
                     for some, tries_max in ((points, TRIES_MAX), (rare, TRIES_OF_RARE_MAX))
                     for point in some for mode in MODES}
            seen = {at: future.result() for at, future in tries.items()}
        differ = [f"{at}: {what}" for at, what in seen.items()
                  if what["end"] != expected or what["failures"] or not what["same_nodes"]]
        reached = {point for point in points if all(seen[point, mode]["died"] for mode in MODES)}
        reached_rare = {point for point in rare if all(seen[point, mode]["died"] for mode in MODES)}
        print(f"\n{rollout.name} on {NODES} nodes: points tested {len(reached)} of {len(points)}, each {', '.join(MODES)}; "
              f"a point is what is written, and these are in all {UNDISTURBED} undisturbed rollouts; of {len(rare)} that only "
              f"some had {len(reached_rare)} were tested; {len(differ)} ends differ", flush=True)
        self.assertEqual(differ, [], f"expected {expected}")
        missed = set(points) - reached
        if missed:  # Were they in so many undisturbed rollouts by chance?
            missed.intersection_update(*(run(rollout)["points"] for _ in range(UNDISTURBED)))
        self.assertEqual(missed, set(), "these are in every undisturbed rollout, and no try came to them")

    def test_a_controller_that_dies_anywhere_in_a_promotion_ends_where_an_undisturbed_one_does(self):
        self.crash_everywhere(Promotion())

    def test_a_controller_that_dies_anywhere_in_a_rollback_ends_where_an_undisturbed_one_does(self):
        self.crash_everywhere(Rollback())


if __name__ == "__main__":
    unittest.main(verbosity=2)
