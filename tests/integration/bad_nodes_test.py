"""Rollouts on three real nodes, one of which has too little memory. Run: python3 tests/integration/bad_nodes_test.py"""

import unittest

from harness import Installation, needed_bytes, wait_for
from local_test import half_plus

NODES = 3
TWO = {"instances": [2.0]}
OLD, NEW = 3.0, 4.0  # The answers of versions 1 and 2.


class BadNodes(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def limit_one_node(self, versions):
        """The first node that starts gets a memory limit that just fits these versions of the source together."""
        self.it.limit_first_node(sum(needed_bytes(self.source, version) for version in versions) + 100)  # Versions differ by a few bytes.

    def serve_first(self, rollout, *others):
        self.it.apply_fleet(nodes=NODES)
        self.it.apply_model("half", self.source, 1, rollout=rollout)
        for other in others:
            self.it.apply_model(other, self.source, 2, rollout=rollout)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        for other in others:
            self.it.wait_for_stable(other, 2)
        self.it.wait_for_ready_nodes(NODES)
        wait_for("version 1 on each node", lambda: len(self.states()) == NODES and all("1:Ready" in state for state in self.states()),
                 seen=self.states)
        self.wait_for_only(OLD)

    def states(self):
        return [node["state"] for node in self.it.status("half")["nodes"]]

    def wait_for_only(self, answer):
        """Twenty requests, because the first ones may be answered by a node that has not heard of a change yet."""
        wait_for(f"only {answer} as the answer", lambda: all(self.it.predict("half", TWO) == {"predictions": [answer]} for _ in range(20)))

    def nodes_available(self):
        return self.it.condition("Model", "half", "NodesAvailable")

    def test_a_rollout_ends_in_promotion_without_the_node_that_lacks_memory(self):
        rollout = {"strategy": "Immediate", "maxUnavailable": 1, "keepWarm": "1h"}
        self.limit_one_node([1])
        self.serve_first(rollout)
        self.it.apply_model("half", self.source, 2, rollout=rollout)
        self.it.wait_for_stable("half", 2)
        self.wait_for_only(NEW)
        promoted = [entry for entry in self.it.status("half")["history"] if entry["what"] == "Promoted"][-1]
        self.assertRegex(promoted["message"], "it is missing on 1 of 3 nodes, for which the other nodes answer: node .* needs [0-9]+ bytes")
        self.assertEqual(self.it.command("status", "half", "--wait").returncode, 0)
        # The node unloads version 1, although it is warm, and then has the memory for version 2.
        wait_for("each node to have the version", lambda: self.nodes_available().get("status") == "True", seen=self.nodes_available)

    def test_a_rollout_that_failed_for_lack_of_memory_begins_again_when_there_is_memory(self):
        rollout = {"strategy": "Immediate", "progressDeadline": "2s", "keepWarm": "0s"}
        self.limit_one_node([1, 2])
        self.serve_first(rollout, "other")
        self.it.apply_model("half", self.source, 2, rollout=rollout)
        wait_for("a rollback for lack of memory",
                 lambda: [failed["reason"] for failed in self.it.status("half").get("failed", [])] == ["NotEnoughMemory"],
                 seen=lambda: self.it.status("half"))
        self.wait_for_only(OLD)
        self.assertIn("It is tried again when one of these nodes has enough memory", self.it.command("explain", "half").stdout)
        self.assertEqual(self.it.command("delete", "models", "other").returncode, 0)
        wait_for("version 2 to serve", lambda: self.it.status("half")["stableVersion"] == 2, seen=lambda: self.it.status("half"))
        self.wait_for_only(NEW)
        self.assertEqual(self.it.status("half").get("failed", []), [])
        wait_for("each node to have the version", lambda: self.nodes_available().get("status") == "True", seen=self.nodes_available)


if __name__ == "__main__":
    unittest.main()
