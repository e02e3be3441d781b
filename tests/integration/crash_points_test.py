"""Kills the controller before, after and with the reply lost, at every operation of a promotion, of a rollback and of an undo.

An operation is a write to the store or a message to a node (controller/runtime/failpoint.h). A point is the name of an
operation, which describes what is written. Undisturbed rollouts on two nodes find the points. Then the test crashes the
controller at each point in each mode and starts it again. The final state must be the same as without a crash: stable version,
weight, digests, failures, conditions, versions and answers of each node, and the same node processes. No request may fail.

The test must reach each point that every undisturbed rollout had. Other points occur only if two changes were not written
together; the test tries them too, but a rollout may end without them.

A run tries every second point, from the first or from the second one, which its seed decides; LONGSHORE_SEED=N repeats a run that
printed its seed. `./dev test --full` sets LONGSHORE_FULL, and tries every point. LONGSHORE_CRASH_EVERY=N tries every Nth point.
LONGSHORE_CRASH_JOBS is the number of points that are tried in parallel.
"""

import concurrent.futures
import os
import random
import secrets
import shutil
import subprocess
import unittest
import urllib.error
from unittest import mock

from harness import BIN, MODELS, Installation, read_images, wait_for

MODES = ("before", "lost", "after")
TRIES_MAX = 6
TRIES_OF_RARE_MAX = 2
UNDISTURBED = 3
NODES = 2


class Promotion:
    name, model, candidate, phase, stable = "promotion", "half", 2, "Completed", 2
    requests = [{"instances": [2.0]}]
    extra = ""
    node_state = "2:Ready"  # At the end: the unload of the other version, after keepWarm, is the last step.
    points_min = 10

    def make_source(self, directory):
        shutil.copytree(MODELS / "half_plus_two_tf2/1", directory / "half/1")
        shutil.copytree(MODELS / "half_plus_three_tf2/1", directory / "half/2")
        return directory / "half"

    def requests_at(self, _phase):
        return self.requests * 10

    def prepare(self, it, source):
        """Before the controller with the failpoint starts."""

    def begin(self, it, source):
        """Causes the change; returns a function that checks its result at the end."""
        it.apply_model(self.model, source, self.candidate, extra=self.extra)
        return lambda: None


class Undo(Promotion):
    """Version 2 has replaced version 1, which is warm. The command waits for its answer through all crashes."""

    name, phase, stable = "undo", "RolledBack", 1
    node_state = "1:Ready 2:Ready"
    points_min = 2

    def prepare(self, it, source):
        it.apply_model(self.model, source, 2, rollout={"strategy": "Immediate", "keepWarm": "1h"})
        it.wait_for_stable(self.model, 2)
        wait_for("version 2 on each node", lambda: it.ask_each_node("half:predict", self.requests[0], times=1) ==
                 {node: ['{"predictions": [4.0]}'] for node in it.node_pids()})

    def begin(self, it, source):
        command = subprocess.Popen([BIN / "longshore", "undo", "half", "--id=once", "--timeout=60s", f"--manifests={it.manifests}"],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        def check():
            output, _ = command.communicate(timeout=60)
            assert "undo: done: version 1 serves all requests" in output, output
            assert [(answer["id"], answer["result"]) for answer in it.status("half")["answers"]] == [("once", "Done")]
            assert [entry["what"] for entry in it.status("half")["history"]].count("Undone") == 1
        return check


class Rollback(Promotion):
    """Version 4 passes its rehearsal but returns NaN for some images. The test sends these only after the version has traffic."""

    name, model, candidate, phase, stable = "rollback", "digits", 4, "RolledBack", 1
    extra = "  validation: {nonFinite: Reject}\n"
    node_state = "1:Ready"

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


def restart_if_crashed(it):
    """Restarts a controller that has crashed. The new process has no failpoint."""
    if it.controller.poll() is not None:
        it.start_controller()


def crashes_at_the_end(it):
    """Waits briefly: the effect of the last operation is visible before its failpoint ends the controller."""
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


def final_state(it, rollout):
    """Returns the final state after the rollout; None while anything is still in progress."""
    restart_if_crashed(it)
    status = it.status(rollout.model)
    states = {node["node"]: node["state"] for node in status["nodes"]}
    if not is_over(it, rollout) or set(states.values()) != {rollout.node_state}:
        return None
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
    """Runs the rollout under constant requests. Returns its final state (see wait_for_end) and the failed requests."""
    failures = []
    it.start_controller(env)
    check = rollout.begin(it, source)

    def finished():
        restart_if_crashed(it)
        ask(it, rollout, failures)
        return is_over(it, rollout)

    wait_for(f"the {rollout.name}", finished, seen=lambda: it.status(rollout.model))
    end = wait_for_end(it, rollout, expected)
    if crashes_at_the_end(it):
        epoch = it.status(rollout.model)["epoch"]
        restart_if_crashed(it)
        wait_for("the new controller to write the status", lambda: it.status(rollout.model)["epoch"] > epoch)
        end = wait_for_end(it, rollout, expected)
    check()
    return end, failures


def wait_for_end(it, rollout, expected):
    """Waits for the expected final state; after a timeout, returns the last state seen. Without `expected`, waits for two equal states."""
    last = None

    def settled():
        nonlocal last
        before, last = last, final_state(it, rollout)
        return last and last == (expected or before)

    try:
        wait_for("the final state", settled, seen=lambda: it.status(rollout.model))
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
        rollout.prepare(it, source)
        it.kill_controller()
        pids, before = it.node_pids(), it.started
        count = it.dir / "count"
        env = {"LONGSHORE_CRASH_AT": crash_at} if crash_at else {"LONGSHORE_CRASH_COUNT_FILE": str(count)}
        end, failures = roll_out(it, rollout, source, env, expected)
        return {"end": end, "failures": failures, "same_nodes": pids == it.node_pids(), "died": it.started - before > 1,
                "points": count.read_text().splitlines() if not crash_at else []}


def try_point(rollout, expected, crash_at, tries_max):
    """The failures are those of all tries: a request that is lost before the controller reaches the point is lost, too."""
    failures = []
    for _ in range(tries_max):
        try:
            seen = run(rollout, expected, crash_at)
        except AssertionError as error:
            return {"end": repr(error), "failures": failures, "same_nodes": True, "died": True}
        failures += seen["failures"]
        if seen["died"]:
            break
    return {**seen, "failures": failures}


def sample():
    """Returns the first point and the step between points, both for the sorted list of all points. Prints the seed."""
    every = int(os.environ.get("LONGSHORE_CRASH_EVERY") or ("1" if os.environ.get("LONGSHORE_FULL") else "2"))
    seed = int(os.environ.get("LONGSHORE_SEED") or secrets.randbelow(2**31))
    start = random.Random(seed).randrange(every)
    print(f"\nevery {every} points from point {start}; LONGSHORE_SEED={seed} repeats this", flush=True)
    return slice(start, None, every)


class Sample(unittest.TestCase):
    def sample_with(self, **variables):
        with mock.patch.dict(os.environ, {"LONGSHORE_CRASH_EVERY": "", "LONGSHORE_FULL": "", "LONGSHORE_SEED": "", **variables}):
            return list(range(9))[sample()]

    def test_a_seed_repeats_its_half_of_the_points_and_some_seeds_have_the_other_half(self):
        halves = [self.sample_with(LONGSHORE_SEED=str(seed)) for seed in range(20)]
        self.assertEqual(halves, [self.sample_with(LONGSHORE_SEED=str(seed)) for seed in range(20)])
        self.assertEqual(sorted(set(map(tuple, halves))), [(0, 2, 4, 6, 8), (1, 3, 5, 7)])

    def test_a_full_run_tries_every_point_and_each_share_can_be_chosen(self):
        self.assertEqual(self.sample_with(LONGSHORE_FULL="1"), list(range(9)))
        self.assertEqual(len(self.sample_with(LONGSHORE_CRASH_EVERY="3")), 3)


class CrashPoints(unittest.TestCase):
    def crash_everywhere(self, rollout):
        chosen = sample()
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("LONGSHORE_CRASH_JOBS", "4"))) as pool:
            undisturbed = list(pool.map(lambda _: run(rollout), range(UNDISTURBED)))
            expected = undisturbed[0]["end"]
            for seen in undisturbed:
                self.assertEqual((seen["end"], seen["failures"]), (expected, []))
            counted = [set(seen["points"]) for seen in undisturbed]
            points = sorted(set.intersection(*counted))[chosen]
            rare = sorted(set.union(*counted) - set.intersection(*counted))[chosen]
            self.assertGreater(len(points) * chosen.step, rollout.points_min)
            tries = {(point, mode): pool.submit(try_point, rollout, expected, f"{mode}:{point}", tries_max)
                     for some, tries_max in ((points, TRIES_MAX), (rare, TRIES_OF_RARE_MAX))
                     for point in some for mode in MODES}
            seen = {at: future.result() for at, future in tries.items()}
        differ = [f"{at}: {what}" for at, what in seen.items()
                  if what["end"] != expected or what["failures"] or not what["same_nodes"]]
        reached = {point for point in points if all(seen[point, mode]["died"] for mode in MODES)}
        reached_rare = {point for point in rare if all(seen[point, mode]["died"] for mode in MODES)}
        print(f"\n{rollout.name} on {NODES} nodes: tested {len(reached)} of {len(points)} points, each in the modes {', '.join(MODES)}; "
              f"these points were in all {UNDISTURBED} undisturbed rollouts; of {len(rare)} points that only "
              f"some rollouts had, {len(reached_rare)} were tested; {len(differ)} final states differ", flush=True)
        self.assertEqual(differ, [], f"expected {expected}")
        missed = set(points) - reached
        if missed:  # They may have been in all undisturbed rollouts by chance: check again.
            missed.intersection_update(*(run(rollout)["points"] for _ in range(UNDISTURBED)))
        self.assertEqual(missed, set(), "every undisturbed rollout has these points, but no attempt reached them")

    def test_a_crash_at_any_point_of_a_promotion_leads_to_the_same_final_state(self):
        self.crash_everywhere(Promotion())

    def test_a_crash_at_any_point_of_a_rollback_leads_to_the_same_final_state(self):
        self.crash_everywhere(Rollback())

    def test_a_crash_at_any_point_of_an_undo_leads_to_the_same_final_state(self):
        self.crash_everywhere(Undo())


if __name__ == "__main__":
    unittest.main(verbosity=2)
