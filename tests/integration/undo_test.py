"""The command undo with the real controller and real nodes under load. Run: python3 tests/integration/undo_test.py"""

import json
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "demo"))

from harness import BIN, Installation, wait_for
from load import Load, describe_failures
from local_test import half_plus

NODES = 3
RATE = 400
TWO = {"instances": [2.0]}
OLD, NEW = 3.0, 4.0  # The answers of versions 1 and 2.
LAST_ANSWER_MAX_S = 1.0
CANARY = {"hold": "100ms", "requestsMin": 20, "steps": [{"weight": 50}], "analysis": {"latency": {"enabled": False}}}


class Programs:
    """Starts programs for Load."""

    def start(self, _name, command, **options):
        return subprocess.Popen(command, **options)


class Undo(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def serve(self, rollout):
        """Rolls out version 1 and then, under load, version 2. Returns the load."""
        self.it.apply_fleet(nodes=NODES)
        self.it.apply_model("half", self.source, 1, rollout=rollout)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(NODES)
        self.it.wait_for_answers("half", TWO)
        status = self.it.fleet_status()
        load = Load(Programs(), "load", [
            BIN / "longshore-load", "--json", f"--grpc={status['grpcAddress']}", f"--rest={status['restAddress']}", "--model=half", f"--rate={RATE}",
            "--rest_share=0.2", "--keyed_share=0.5", "--keys=1000", "--connections=8"])
        self.addCleanup(load.stop)
        self.it.apply_model("half", self.source, 2, rollout=rollout)
        self.it.wait_for_stable("half", 2)
        self.wait_for_only(NEW)
        return load

    def wait_for_only(self, answer):
        wait_for(f"each node to answer {answer}", lambda: self.it.ask_each_node("half:predict", TWO, times=2) ==
                 {node: [json.dumps({"predictions": [answer]})] for node in self.it.node_pids()})

    def wait_for_nodes(self, states):
        wait_for(f"{states} on each node", lambda: [node["state"] for node in self.it.status("half")["nodes"]] == [states] * NODES,
                 seen=lambda: self.it.status("half")["nodes"])

    def undo(self, *flags, code=0):
        done = self.it.command("undo", "half", *flags)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def undo_at_once(self, rollout, before_undo=lambda: None):
        load = self.serve(rollout)
        self.wait_for_nodes("1:Ready 2:Ready")
        before_undo()
        pids, began = self.it.node_pids(), time.time()
        self.assertIn("undo: done: version 1 serves all requests;", self.undo())
        self.wait_for_only(OLD)
        load.mark("after the undo")
        wait_for("more requests", lambda: load.progress.get("sent", 0) > 0)
        time_of_mark = time.time()
        wait_for("requests after the undo", lambda: time.time() > time_of_mark + 1)
        final = load.stop()
        self.assertEqual((final["failed"], final["unanswered"], final["answered_twice"]), (0, 0, 0), describe_failures(final))
        last = final["versions"]["2"]["last_answer_unix_ms"] / 1000 - began
        print(f"\n{rollout}: last answer of version 2 after {last * 1000:.0f} ms; {final['sent']} requests, {final['failed']} failed")
        self.assertLess(last, LAST_ANSWER_MAX_S)
        self.assertEqual(self.it.node_pids(), pids)
        return self.it.status("half")

    def test_a_canary_is_undone_at_once(self):
        status = self.undo_at_once(CANARY)
        self.assertEqual((status["stableVersion"], status["failed"][-1]["version"], status["failed"][-1]["reason"]), (1, 2, "Undone"))
        self.assertEqual(self.it.command("status", "half").returncode, 1)
        self.assertIn("version 1 serves because of an earlier undo", self.undo(code=1))
        self.wait_for_only(OLD)
        self.assertIn("undo: done: version 2 serves all requests", self.undo("--to=2"))
        self.wait_for_only(NEW)

    def test_an_immediate_rollout_is_undone_at_once_by_a_controller_that_has_just_started(self):
        def restart():
            epoch = self.it.status("half")["epoch"]
            self.it.kill_controller()
            self.it.start_controller()
            wait_for("the new controller", lambda: self.it.status("half")["epoch"] > epoch)

        self.undo_at_once({"strategy": "Immediate"}, restart)
        self.assertEqual(self.it.command("retry", "half").stdout, "retry: done\n")
        self.it.wait_for_stable("half", 2)

    def test_after_keep_warm_undo_rolls_the_version_out_without_steps_and_without_a_failed_request(self):
        load = self.serve({**CANARY, "steps": [{"weight": 50}], "keepWarm": "0s"})
        self.wait_for_nodes("2:Ready")
        self.assertIn("version 1 is not kept warm (0 of 3 nodes have it), so a rollout to it has begun, without steps", self.undo())
        self.it.wait_for_stable("half", 1)
        self.wait_for_only(OLD)
        final = load.stop()
        self.assertEqual((final["failed"], final["unanswered"]), (0, 0), describe_failures(final))
        status = self.it.status("half")
        happened = [entry["what"] for entry in status["history"]][-3:]
        self.assertEqual((happened, status["failed"][-1]["reason"]), (["Started", "Validated", "Undone"], "Undone"))

    def test_a_command_during_a_rollout_ends_it(self):
        self.serve({**CANARY, "steps": [{"weight": 50}]})
        newest = {**CANARY, "steps": [{"weight": 50, "pause": "Manual"}]}
        (self.source / "2").rename(self.source / "3")
        self.it.apply_model("half", self.source, 3, rollout=newest)
        wait_for("the step", lambda: self.it.status("half")["rollout"]["weight"] == 50 and self.it.status("half")["rollout"]["candidate"] == 3)
        self.assertIn("undo: done: the rollout of version 3 has ended; version 2 serves all requests", self.undo())


if __name__ == "__main__":
    unittest.main(verbosity=2)
