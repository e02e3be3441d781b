"""Kills the controller before, after and with the reply lost, at every operation of a whole rollout.

An operation is a write to the store or a message to a node (controller/runtime/failpoint.h). Undisturbed rollouts count
them; then each point is tried in each mode, the controller is started again, and the end has to be the same: the same stable
version and phase, the same versions on the same node processes, and no request that was not answered rightly.

How many operations a rollout has depends a little on time, as two changes may be written as one. Every operation of the
shortest of three is tried; a try in which the rollout was over before its operation came is repeated.

LONGSHORE_CRASH_EVERY=N tries every Nth point only; LONGSHORE_CRASH_JOBS of them are tried at once.
"""

import concurrent.futures
import os
import shutil
import subprocess
import unittest
import urllib.error

from harness import MODELS, Installation, wait_for

MODES = ("before", "lost", "after")
TRIES_MAX = 6
UNDISTURBED = 3


def prepare(it):
    source = it.dir / "half"
    shutil.copytree(MODELS / "half_plus_two_tf2/1", source / "1")
    shutil.copytree(MODELS / "half_plus_three_tf2/1", source / "2")
    it.apply_fleet(nodes=1)
    it.apply_model("half", source, 1)
    it.start_controller()
    it.wait_for_stable("half", 1)
    it.wait_for_ready_nodes(1)
    it.wait_for_answers("half", {"instances": [2.0]})
    it.kill_controller()
    return source


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


def ask(it):
    try:
        return it.predict("half", {"instances": [2.0]})["predictions"][0]
    except (urllib.error.URLError, OSError) as error:
        return repr(error)


def roll_out(it, source, env):
    """The rollout with requests all the time. Returns how the world looks afterwards, and the answers nobody may get."""
    wrong = []
    it.start_controller(env)
    it.apply_model("half", source, 2)

    def finished():
        keep_alive(it)
        for _ in range(10):
            answer = ask(it)
            if answer not in (3.0, 4.0):
                wrong.append(answer)
        return it.status("half").get("stableVersion") == 2 and it.phase("half") == "Completed"

    wait_for("the rollout to be completed", finished)

    def answers_settled():
        keep_alive(it)
        return all(ask(it) == 4.0 for _ in range(20))

    wait_for("only the new version to answer", answers_settled)

    def settled():
        keep_alive(it)
        # The old version is unloaded after its soak, which is the last thing that happens.
        return [node["state"] for node in it.status("half")["nodes"]] == ["2:Ready"]

    wait_for("the old version to be unloaded", settled)
    if died_at_last(it):
        epoch = it.status("half")["epoch"]
        keep_alive(it)
        wait_for("the new controller's word", lambda: it.status("half")["epoch"] > epoch)
        wait_for("the old version to stay unloaded", settled)
    it.wait_for_ready_nodes(1)
    status = it.status("half")
    end = {"stable": status["stableVersion"], "phase": it.phase("half"), "failed": status["failed"],
           "nodes": len(it.node_pids())}
    return end, wrong


def run(crash_at=None):
    with Installation() as it:
        source = prepare(it)
        pids = it.node_pids()
        env = {"LONGSHORE_CRASH_AT": crash_at} if crash_at else {"LONGSHORE_CRASH_COUNT_FILE": str(it.dir / "count")}
        before = it.started
        end, wrong = roll_out(it, source, env)
        operations = len((it.dir / "count").read_text().splitlines()) if not crash_at else 0
        return {"end": end, "wrong": wrong, "same_nodes": pids == it.node_pids(), "died": it.started - before > 1,
                "operations": operations}


def try_point(point, mode):
    for _ in range(TRIES_MAX):
        try:
            seen = run(f"{point}:{mode}")
        except AssertionError as error:
            return {"end": repr(error), "wrong": [], "same_nodes": True, "died": True}
        if seen["died"]:
            break
    return seen


class CrashPoints(unittest.TestCase):
    def test_a_controller_that_dies_anywhere_in_a_rollout_ends_where_an_undisturbed_one_does(self):
        every = int(os.environ.get("LONGSHORE_CRASH_EVERY", "1"))
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("LONGSHORE_CRASH_JOBS", "4"))) as pool:
            undisturbed = min(pool.map(lambda _: run(), range(UNDISTURBED)), key=lambda seen: seen["operations"])
            self.assertGreater(undisturbed["operations"], 10)
            self.assertEqual(undisturbed["wrong"], [])
            points = range(1, undisturbed["operations"] + 1, every)
            failures, reached = [], set(points)
            tries = {(point, mode): pool.submit(try_point, point, mode) for point in points for mode in MODES}
            for (point, mode), future in tries.items():
                seen = future.result()
                if not seen["died"]:
                    reached.discard(point)
                if seen["end"] != undisturbed["end"] or seen["wrong"] or not seen["same_nodes"]:
                    failures.append(f"{point}:{mode}: {seen}")
                    print(failures[-1], flush=True)
        print(f"\npoints tested {len(reached)} of {len(points)}, each {', '.join(MODES)}; {len(failures)} differ", flush=True)
        self.assertEqual(failures, [])
        self.assertEqual(len(reached), len(points), sorted(set(points) - reached))


if __name__ == "__main__":
    unittest.main(verbosity=2)
