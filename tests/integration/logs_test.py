"""`longshore logs` with a real controller: nodes, fleets, restarts, full files and the controller."""

import os
import signal
import subprocess
import unittest

from harness import BIN, Installation, wait_for
from local_test import half_plus

NODE = "default.cpu-0"


class Logs(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)

    def start(self, nodes=1, flags=()):
        self.it.apply_fleet(nodes=nodes)
        self.it.start_controller(flags=flags)
        self.it.wait_for_ready_nodes(nodes)

    def logs(self, *words, code=0):
        done = self.it.command("logs", *words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def follow(self, *words):
        """Starts `logs --follow`, and returns a function with all that it has printed."""
        path = self.it.dir / "followed"
        with open(path, "wb") as out:
            process = subprocess.Popen([BIN / "longshore", "logs", *words, "--follow", f"--manifests={self.it.manifests}"],
                                       stdout=out, stderr=out)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, path.read_text

    def restart(self, node=NODE):
        pid = self.it.node_pids()[node]
        os.kill(pid, signal.SIGKILL)
        wait_for("another process of the node", lambda: self.it.node_pids().get(node) not in (pid, 0, None))
        self.it.wait_for_ready_nodes(len(self.it.node_pids()))

    def test_prints_the_log_of_a_node_and_selects_lines(self):
        self.start()
        log = self.logs(NODE)
        self.assertRegex(log, r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z I longshore-node: ")
        self.assertEqual(self.logs(NODE, "--tail", "1"), log.splitlines(keepends=True)[-1])
        self.assertEqual(self.logs(NODE, "--since", "1h"), log)
        self.assertEqual(self.logs(NODE, "--since", "1us"), "")

    def test_the_log_of_the_process_before_a_restart_is_kept(self):
        self.start()
        self.assertIn(f"node {NODE} has no previous log", self.logs(NODE, "--previous", code=3))
        first = self.logs(NODE)
        self.restart()
        self.assertTrue(self.logs(NODE, "-p").startswith(first))
        self.assertNotIn(first.splitlines()[0], self.logs(NODE))
        self.assertIn("I longshore-node: ", self.logs(NODE))

    def test_follows_a_node_across_a_restart_until_it_leaves(self):
        self.start(nodes=2)
        process, followed = self.follow("default.cpu-1", "--tail=0")
        self.restart("default.cpu-1")
        wait_for("lines of the new process", lambda: "I longshore-node: " in followed())
        self.it.apply_fleet(nodes=1)
        process.wait(timeout=40)
        self.assertEqual(process.returncode, 0)
        self.assertIn("shutdown complete", followed())

    def test_follows_all_nodes_of_a_fleet_with_their_names(self):
        self.start(nodes=2)
        _, followed = self.follow("fleet/cpu")
        wait_for("lines of both nodes",
                 lambda: all(f"[default.cpu-{i}] " in followed() for i in (0, 1)))
        self.it.apply_model("half", half_plus(self.it.dir), 1, rollout={"strategy": "Immediate"})
        wait_for("new lines of both nodes", lambda: all(
            any(line.startswith(f"[default.cpu-{i}] ") and "half" in line for line in followed().splitlines()) for i in (0, 1)))
        self.assertEqual(len(self.logs("fleet/cpu", "--tail=1").splitlines()), 2)

    def test_the_log_of_a_node_is_bounded(self):
        self.start(flags=("--node_flag=log_file_bytes_max=500", "--node_log_level=debug"))
        source = half_plus(self.it.dir)
        for name in ("a", "b", "c"):  # Each model writes some lines.
            self.it.apply_model(name, source, 1, rollout={"strategy": "Immediate"})
            self.it.wait_for_stable(name, 1)
        folder = self.it.state / "nodes" / NODE
        wait_for("a second file", (folder / "log.1").exists)
        for file in ("log", "log.1"):
            self.assertLessEqual((folder / file).stat().st_size, 500)
        self.assertGreater(len(self.logs(NODE)), (folder / "log").stat().st_size)

    def test_an_unknown_node_and_a_kind_without_log_are_explained(self):
        self.start()
        self.assertIn(f"did you mean {NODE}?", self.logs("default.cpu-1", code=3))
        self.assertIn("for the fleet, use fleet/cpu", self.logs("cpu", code=3))
        self.assertIn("fleet gpu does not exist in namespace default", self.logs("fleet/gpu", code=3))
        self.assertIn("model/half has no log", self.logs("model/half", code=2))

    def test_prints_the_log_of_the_controller_if_it_is_a_file(self):
        self.start()
        self.assertIn("the controller has started with state directory", self.logs("controller"))
        self.it.kill_controller()
        self.assertIn("no controller is running", self.logs("controller", code=1))
        self.assertIn("I longshore-node: ", self.logs(NODE), "the nodes outlive the controller")


if __name__ == "__main__":
    unittest.main()
