"""Kills the controller before, after and with the reply lost, at every operation of a whole rollout.

An operation is a write to the store or a message to a node (controller/runtime/failpoint.h). A first rollout runs
undisturbed and counts them; then each point is tried in each mode, the controller is started again, and the end has to be
the same: the same stable version and phase, every node with the same weights, the same answers.

    python3 tests/integration/crash_points.py [--every N]
"""

import argparse
import shutil
import sys
import urllib.error

from harness import MODELS, Installation, wait_for

MODES = ("before", "lost", "after")


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
    it.wait_for_ready_nodes(1)
    status = it.status("half")
    end = {"stable": status["stableVersion"], "phase": it.phase("half"), "failed": status["failed"],
           "nodes": len(it.node_pids())}
    return end, wrong


def run(crash_at, count_file=None):
    with Installation() as it:
        source = prepare(it)
        pids = it.node_pids()
        env = {"LONGSHORE_CRASH_AT": crash_at} if crash_at else {"LONGSHORE_CRASH_COUNT_FILE": str(it.dir / "count")}
        before = it.started
        end, wrong = roll_out(it, source, env)
        operations = (it.dir / "count").read_text().splitlines() if not crash_at else []
        return {"end": end, "wrong": wrong, "same_nodes": pids == it.node_pids(), "died": it.started - before > 1,
                "operations": operations}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="try only every Nth point")
    arguments = parser.parse_args()
    undisturbed = run(None)
    points = list(range(1, len(undisturbed["operations"]) + 1, arguments.every))
    print(f"an undisturbed rollout has {len(undisturbed['operations'])} operations", flush=True)
    failures, tested, not_reached = [], 0, 0
    for point in points:
        for mode in MODES:
            try:
                seen = run(f"{point}:{mode}")
            except AssertionError as error:
                seen = {"end": repr(error), "wrong": [], "same_nodes": True, "died": True}
            good = seen["end"] == undisturbed["end"] and not seen["wrong"] and seen["same_nodes"]
            not_reached += not seen["died"]
            if not good:
                failures.append((point, mode, seen))
                print(f"{point}:{mode}: {seen}", flush=True)
        tested += 1
    print(f"points tested {tested} of {len(points)}, each {', '.join(MODES)}; "
          f"{not_reached} runs needed fewer operations than their point; {len(failures)} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
