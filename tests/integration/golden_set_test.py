"""Golden sets that run again while a version serves. Run: python3 tests/integration/golden_set_test.py"""

import unittest
import urllib.request

import tensorflow as tf
from harness import Installation, wait_for
from local_test import half_plus
from tensorflow_serving.apis import prediction_log_pb2

EVERY_S = 60
RUN_MAX_S = EVERY_S + 60  # Until the golden set has run once more on a busy machine.
VALIDATION = "  validation: {goldenSet: {path: golden/half.tfrecord, metric: tolerance, every: 1m}}\n"


def record(x, y):
    """The request x with the known answer y."""
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.inputs["x"].CopyFrom(tf.make_tensor_proto([x], tf.float32))
    log.predict_log.response.outputs["y"].CopyFrom(tf.make_tensor_proto([y], tf.float32))
    return log.SerializeToString()


class GoldenSet(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)
        (self.source / "golden").mkdir()

    def write_golden_set(self, *records):
        draft = self.source / "golden/draft"
        with tf.io.TFRecordWriter(str(draft)) as writer:
            for each in records:
                writer.write(each)
        draft.rename(self.source / "golden/half.tfrecord")

    def condition(self):
        return self.it.condition("Model", "half", "GoldenSetPasses")

    def wait_for_condition(self, status, reason, message):
        wait_for(f"GoldenSetPasses to be {status}: {reason}", lambda: (
            self.condition().get("status") == status and self.condition()["reason"] == reason and message in self.condition()["message"]),
            RUN_MAX_S, seen=self.condition)

    def happened(self):
        return [entry["what"] for entry in self.it.status("half")["history"]]

    def metrics_of_nodes(self):
        for node in self.it.fleet_status()["nodes"]:
            with urllib.request.urlopen(f"http://{node['adminAddress']}/metrics", timeout=10) as answer:
                yield answer.read().decode()

    def test_a_version_without_its_golden_set_fails_at_once_and_is_tried_again_when_it_is_there(self):
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, 1, extra=VALIDATION)
        self.it.start_controller()
        waited = self.it.command("status", "half", "--wait")  # Its timeout is longer than that of this command.
        self.assertEqual(waited.returncode, 1, waited.stdout + waited.stderr)
        self.assertIn("GoldenSet: version 1 failed", waited.stdout)
        self.assertIn("golden/half.tfrecord", waited.stdout)
        self.write_golden_set(record(2.0, 3.0))
        wait_for("version 1 to serve", lambda: self.it.status("half").get("stableVersion") == 1)

    def test_a_golden_set_runs_again_and_its_failures_are_reported(self):
        self.write_golden_set(record(2.0, 3.0), record(4.0, 4.0))
        self.it.apply_fleet(nodes=2)
        self.it.apply_model("half", self.source, 1, extra=VALIDATION)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.wait_for_condition("True", "Passed", "version 1 passed on all 2 nodes")
        for metrics in self.metrics_of_nodes():
            self.assertIn('longshore_golden_passed{model="half",version="1"} 1\n', metrics)

        self.write_golden_set(record(2.0, 3.0), record(4.0, 5.0))
        self.wait_for_condition("False", "GoldenSetFailed", "version 1 fails its golden set on 2 of 2 nodes")
        self.assertIn("scored 0.5000, below the minimum of 0.9500", self.condition()["message"])
        self.assertEqual(self.happened()[-1], "GoldenSetFailed")
        self.assertEqual(self.it.status("half")["failed"], [])
        self.assertEqual(self.it.predict("half", {"instances": [2.0]}), {"predictions": [3.0]})
        explained = self.it.command("explain", "half").stdout
        self.assertIn("No weight changes by itself.\n", explained)
        self.assertNotIn("longshore undo", explained)  # No version served before.
        self.assertIn("trouble   GoldenSetPasses: ", self.it.command("status", "half").stdout)
        for metrics in self.metrics_of_nodes():
            self.assertIn('longshore_golden_score{model="half",version="1"} 0.5\n', metrics)

    def validate(self, name="half"):
        return self.it.command("validate", name, "--timeout=50s")

    def serve_half(self, nodes, extra):
        self.it.apply_fleet(nodes=nodes)
        self.it.apply_model("half", self.source, 1, extra=extra)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(nodes)
        self.it.wait_for_answers("half", {"instances": [2.0]})
        wait_for("the version on all nodes", lambda: [node["state"] for node in self.it.status("half").get("nodes", [])] == ["1:Ready"] * nodes,
                 seen=lambda: self.it.status("half"))

    def test_validate_runs_the_golden_set_now_and_prints_the_result_of_each_node(self):
        self.write_golden_set(record(2.0, 3.0), record(4.0, 4.0))
        self.serve_half(2, VALIDATION.replace(", every: 1m", ""))
        passed = self.validate()
        self.assertEqual(passed.returncode, 0, passed)
        self.assertIn("validate: done: 2 nodes run the golden set of version 1 now\n", passed.stdout)
        for node in self.it.node_pids():
            self.assertIn(f"node {node}: passed: 2 of 2 records passed\n", passed.stdout)
        self.assertIn("passed on 2 of 2 nodes, failed on 0\n", passed.stdout)
        self.assertEqual(self.condition(), {})

        self.write_golden_set(record(2.0, 3.0), record(4.0, 5.0))
        failed = self.validate()
        self.assertEqual(failed.returncode, 1, failed)
        self.assertIn("passed on 0 of 2 nodes, failed on 2\n", failed.stdout)
        self.assertEqual(failed.stdout.count('first difference: record 1: output "y" is 4 at index 0, not 5'), 2, failed.stdout)

        self.it.apply_model("half", self.source, 1)
        wait_for("the manifest to be read", lambda: self.it.status("half")["observedGeneration"] == 2)
        refused = self.validate()
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("this Model has no golden set to run: spec.validation.goldenSet is not set", refused.stderr)
        self.assertEqual(self.validate("quarter").returncode, 3)

    def test_a_failure_survives_restarts_of_the_controller_and_of_the_nodes(self):
        self.write_golden_set(record(2.0, 3.0))
        self.serve_half(1, VALIDATION.replace("1m", "24h"))
        self.write_golden_set(record(2.0, 4.0))
        self.assertEqual(self.validate().returncode, 1)
        self.wait_for_condition("False", "GoldenSetFailed", "version 1 fails its golden set on 1 of 1 nodes")
        self.it.kill_controller()
        self.it.stop_fleets()
        self.it.start_controller()
        wait_for("the nodes to be new", lambda: self.it.status("half")["epoch"] == 2)
        self.it.wait_for_ready_nodes(1)
        self.it.wait_for_answers("half", {"instances": [2.0]})
        self.assertEqual((self.condition()["status"], self.condition()["reason"]), ("False", "GoldenSetFailed"))
        self.assertEqual(self.happened().count("GoldenSetFailed"), 1)

        self.write_golden_set(record(2.0, 3.0))
        self.assertEqual(self.validate().returncode, 0)
        self.wait_for_condition("True", "Passed", "version 1 passed on all 1 nodes")
        self.assertEqual(self.happened()[-1], "GoldenSetPassed")


if __name__ == "__main__":
    unittest.main()
