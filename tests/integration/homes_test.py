"""A fleet with more nodes than a model has home nodes: every node answers for the model, for every kind of request."""

import json
import pathlib
import unittest
import urllib.error

from harness import Installation, wait_for
from local_test import Load, half_plus

NODES = 6
ROLLOUT = {"hold": "100ms", "requestsMin": 20, "steps": [{"weight": 50, "proof": "Sampled"}]}


class Homes(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(pathlib.Path(self.it.dir))
        self.it.apply_fleet(nodes=NODES)
        self.apply(1)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(NODES)
        self.it.wait_for_answers("half", {"instances": [2.0]})

    def apply(self, version):
        self.it.apply_model("half", self.source, version, rollout=ROLLOUT, extra="  replicas: 1\n")

    def nodes_with_the_model_in_their_state(self):
        """Returns the nodes whose desired state contains the model."""
        states = {path.parent.name: path.read_bytes() for path in self.it.state.glob("**/desired.pb")}
        self.assertEqual(len(states), NODES, set(states))
        return [name for name, state in states.items() if str(self.source).encode() in state]

    def assert_not_found_at_any_node(self, path, body=None):
        for _ in range(2 * NODES):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                self.it.ask(path, body)
            self.assertEqual(caught.exception.code, 404, path)
            caught.exception.close()

    def test_nodes_without_the_model_in_their_state_answer_for_it(self):
        wait_for("few nodes to have the model in their state", lambda: 1 <= len(self.nodes_with_the_model_in_their_state()) <= 4,
                 seen=self.nodes_with_the_model_in_their_state)
        for answers in self.it.ask_each_node("half:predict", {"instances": [2.0]}, times=3).values():
            self.assertEqual(answers, [json.dumps({"predictions": [3.0]})])
        for path in ("half/versions/1", "half"):
            for answers in self.it.ask_each_node(path, times=3).values():
                self.assertEqual([json.loads(one)["model_version_status"][0]["state"] for one in answers], ["AVAILABLE"])
        described = self.it.ask_each_node("half/metadata", times=3).values()
        self.assertEqual(len({json.dumps(json.loads(one), sort_keys=True) for answers in described for one in answers}), 1)
        self.assert_not_found_at_any_node("other:predict", {"instances": [2.0]})
        self.assert_not_found_at_any_node("other/metadata")
        self.assert_not_found_at_any_node("half/versions/9:predict", {"instances": [2.0]})

    def test_a_canary_loses_no_request_at_any_node(self):
        with Load(self.it, "half") as load:
            self.apply(2)
            self.it.wait_for_stable("half", 2)
            wait_for("the new version to answer", lambda: load.answers[-1] == 4.0)
        self.assertEqual(load.errors, [])
        self.assertEqual(set(load.answers), {3.0, 4.0})


if __name__ == "__main__":
    unittest.main()
