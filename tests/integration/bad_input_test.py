"""Bad input gets a clear message and affects nothing else: other models of the fleet answer without a failed request."""

import json
import os
import shutil
import signal
import socket
import subprocess
import unittest
import urllib.error

from harness import BIN, MODELS, Installation, read_images, wait_for
from local_test import Load, half_plus
from small_disk import fill, mount

TWO = {"instances": [2.0]}


class BadInput(unittest.TestCase):
    """The model `half` gets bad input, while `bystander` gets requests all the time. Version 1 of `half` serves before and after."""

    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def serve(self, nodes=1):
        self.it.apply_fleet(nodes=nodes)
        self.it.apply_model("bystander", self.source, 1)
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller()
        for model in ("half", "bystander"):
            self.it.wait_for_stable(model, 1)
        self.it.wait_for_ready_nodes(nodes)
        for model in ("half", "bystander"):
            self.it.wait_for_answers(model, TWO)
        bystander = Load(self.it, "bystander")
        bystander.__enter__()
        self.addCleanup(self.assert_nothing_lost, bystander)

    def assert_nothing_lost(self, bystander):
        bystander.__exit__()
        self.assertEqual(bystander.errors, [])
        self.assertEqual(set(bystander.answers), {3.0})
        self.assertEqual(self.it.status("bystander")["failed"], [])

    def rejection_of_version_2(self):
        """Requests version 2 and returns the reason why it is rejected. Version 1 must answer meanwhile."""
        with Load(self.it, "half") as load:
            self.it.apply_model("half", self.source, 2)
            wait_for("the rollback", lambda: self.it.phase("half") == "RolledBack", seen=lambda: self.it.status("half"))
        self.assertEqual((load.errors, set(load.answers)), ([], {3.0}))
        failed = self.it.status("half")["failed"][-1]
        self.assertEqual((failed["version"], failed["reason"]), (2, "LoadFailed"), failed)
        self.assertEqual(self.it.condition("Model", "half", "Stalled")["reason"], "LoadFailed")
        return failed["message"]

    def wait_for_missing_file_message(self, text):
        """An incomplete version may still be copied, so the node waits for it; the status and `explain` must name the missing file."""
        self.it.apply_model("half", self.source, 2)
        wait_for(f"the status to contain {text}", lambda: text in self.it.condition("Model", "half", "Progressing")["message"],
                 seen=lambda: self.it.condition("Model", "half", "Progressing"))
        self.assertIn(text, self.it.command("explain", "half").stdout)
        self.assertEqual(self.it.predict("half", TWO), {"predictions": [3.0]})

    def assert_served_after(self, complete):
        with Load(self.it, "half") as load:
            complete()
            self.it.wait_for_stable("half", 2)
        self.assertEqual(load.errors, [])

    def test_a_version_without_variables_is_rejected_with_the_missing_file_and_retried_on_request(self):
        self.serve()
        missing, aside = self.source / "2/variables/variables.data-00000-of-00001", self.it.dir / "the_rest"
        missing.rename(aside)
        self.assertIn("variables.data-00000-of-00001", self.rejection_of_version_2())
        aside.rename(missing)
        self.assertEqual(self.it.command("retry", "half").returncode, 0)
        with Load(self.it, "half") as load:
            wait_for("the complete version", lambda: self.it.status("half")["stableVersion"] == 2)
        self.assertEqual(load.errors, [])

    def test_a_half_copied_version_is_awaited_and_the_missing_file_is_named(self):
        self.serve()
        graph, aside = self.source / "2/saved_model.pb", self.it.dir / "the_rest"
        graph.rename(aside)
        self.wait_for_missing_file_message("saved_model.pb")
        self.assert_served_after(lambda: aside.rename(graph))

    def test_a_missing_version_is_awaited_and_its_folder_is_named(self):
        self.serve()
        aside = self.it.dir / "the_rest"
        (self.source / "2").rename(aside)
        self.wait_for_missing_file_message(f"no directory of version 2 in {self.source}")
        self.assert_served_after(lambda: aside.rename(self.source / "2"))

    def test_a_source_that_is_the_folder_of_a_version_is_named_with_the_folder_to_give_instead(self):
        self.serve()
        self.it.apply_model("wrong", self.source / "1", None)
        source_ready = lambda: self.it.condition("Model", "wrong", "SourceReady")  # noqa: E731
        wait_for("the condition", lambda: source_ready().get("reason") == "WrongFolder", seen=source_ready)
        advice = f"give its parent folder, {self.source}"
        self.assertIn(advice, source_ready()["message"])
        self.assertIn(advice, self.it.condition("Model", "wrong", "Ready")["message"])
        self.assertIn(advice, self.it.command("explain", "wrong").stdout)
        self.it.apply_model("wrong", self.source, 1)
        self.it.wait_for_stable("wrong", 1)

    def test_a_truncated_variables_file_is_named(self):
        self.serve()
        (self.source / "2/variables/variables.data-00000-of-00001").write_bytes(b"x")
        self.assertIn("variables.data-00000-of-00001", self.rejection_of_version_2())

    def test_an_unknown_op_is_named(self):
        self.serve()
        graph = self.source / "2/saved_model.pb"
        graph.write_bytes(graph.read_bytes().replace(b"AddV2", b"OddV2"))
        self.assertIn("OddV2", self.rejection_of_version_2())

    def test_an_invalid_request_is_rejected_with_its_error(self):
        self.serve()
        for body, text in (({"instances": [[1.0, 2.0], [3.0]]}, "size: 2 but got: 1"), ({"instances": ["two"]}, "two"),
                           ({"inputs": {"y": [1.0]}}, "named input: x"), ({"rows": []}, "instances")):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.it.predict("half", body)
            answer = json.loads(refused.exception.read())
            self.assertEqual(refused.exception.code, 400, answer)
            self.assertIn(text, answer["error"])
        self.assertEqual(self.it.predict("half", TWO), {"predictions": [3.0]})

    def test_a_malformed_manifest_is_named_with_line_and_field_and_the_last_good_one_stays_in_effect(self):
        self.serve()
        good = (self.it.manifests / "half.yaml").read_text()
        for bad, place in ((good.replace("version: 1", "version: one"), "half.yaml:7: spec.version"),
                           (good.replace("version: 1", "verison: 1"), "half.yaml:7: spec.verison"),
                           (good.replace("spec:", "spec: ["), "half.yaml:")):
            self.it.write_manifest("half.yaml", bad)
            wait_for(f"a condition that names {place}",
                     lambda: place in self.it.condition("Model", "half", "ManifestAccepted").get("message", "")
                     or place in (self.it.dir / "controller.log").read_text(),
                     seen=lambda: self.it.condition("Model", "half", "ManifestAccepted"))
            self.assertEqual(self.it.predict("half", TWO), {"predictions": [3.0]})
        self.it.write_manifest("half.yaml", good)
        wait_for("the good manifest", lambda: self.it.condition("Model", "half", "ManifestAccepted")["status"] == "True")

    def test_a_port_in_use_is_named_and_awaited_while_another_fleet_serves(self):
        self.serve()
        other = socket.create_server(("127.0.0.1", 0))
        port = other.getsockname()[1]
        fleet = (self.it.manifests / "fleet.yaml").read_text()
        self.it.write_manifest("late.yaml", fleet.replace("name: cpu", "name: late").replace("grpc: 0", f"grpc: {port}"))
        wait_for("the condition",
                 lambda: f"port {port} on 127.0.0.1 is in use"
                 in self.it.condition("ServingFleet", "late", "Listening").get("message", ""))
        self.assertEqual(self.it.predict("half", TWO), {"predictions": [3.0]})
        other.close()
        wait_for("the port to be taken", lambda: self.it.status("late", "ServingFleet").get("readyReplicas") == 1)

    def test_a_port_of_longshore_itself_is_named_with_the_field_to_change(self):
        self.serve()
        fleet_port = int(self.it.fleet_status()["restAddress"].rsplit(":", 1)[1])
        taken = {"fleet default/cpu": fleet_port,
                 "node default.cpu-0 of fleet default/cpu": int(self.it.fleet_status()["nodes"][0]["adminAddress"].rsplit(":", 1)[1]),
                 "the controller (--admin_port or --console_port)": int(self.it.console_url().rsplit(":", 1)[1])}
        fleet = (self.it.manifests / "fleet.yaml").read_text()
        for number, (holder, port) in enumerate(taken.items()):
            for field in ("grpc", "rest"):
                name = f"late{number}{field}"
                self.it.write_manifest(f"{name}.yaml", fleet.replace("name: cpu", f"name: {name}").replace(f"{field}: 0", f"{field}: {port}"))
                wait_for(f"a condition that names {holder}", lambda: self.it.condition("ServingFleet", name, "Listening").get("message"))
                message = self.it.condition("ServingFleet", name, "Listening")["message"]
                self.assertTrue(message.startswith(f"spec.ports.{field}: port {port} on 127.0.0.1 is in use by "), message)
                self.assertIn(holder, message)
        again = subprocess.run([BIN / "longshore-node", "--model_name=half", f"--model_base_path={self.it.dir}", "--host=127.0.0.1",
                                f"--port={fleet_port}"], capture_output=True, text=True, timeout=40)
        self.assertNotEqual(again.returncode, 0)
        self.assertRegex(again.stderr, rf"--port={fleet_port}: port {fleet_port} on 127.0.0.1 is in use by \S+ .*\(process \d+\)")

    def test_a_full_disk_of_a_node_is_named_and_serving_continues(self):
        disk = self.it.state / "nodes/default.cpu-0"
        mount(self, disk, "256k")
        self.serve()
        fill(disk)
        self.it.apply_model("half", self.source, 2)
        wait_for("the error", lambda: "refused its state: " in self.it.condition("ServingFleet", "cpu", "Ready")["message"])
        self.assertIn("No space left on device", self.it.condition("ServingFleet", "cpu", "Ready")["message"])
        self.assertEqual(self.it.predict("half", TWO), {"predictions": [3.0]})
        (disk / "filler").unlink()
        with Load(self.it, "half") as load:
            self.it.wait_for_stable("half", 2)
        self.assertEqual(load.errors, [])

    def test_a_version_that_crashes_its_rehearsal_is_rejected_and_the_signal_is_named(self):
        self.serve(nodes=2)
        digits = self.it.dir / "digits"
        shutil.copytree(MODELS / "digits", digits)
        (digits / "golden/long.tfrecord").write_bytes((digits / "golden/golden.tfrecord").read_bytes() * 100)
        image = {"instances": read_images(digits / "traffic.f32")[:1]}
        self.it.apply_model("digits", digits, 1)
        self.it.wait_for_stable("digits", 1)
        self.it.wait_for_answers("digits", image)
        before = self.it.node_pids()
        self.it.apply_model("digits", digits, 2, extra="  validation: {goldenSet: {path: golden/long.tfrecord}}\n")
        os.kill(wait_for("the rehearsal to run", self.it.rehearsal_pids)[0], signal.SIGSEGV)
        wait_for("the version to be rejected", lambda: self.it.phase("digits") == "RolledBack")
        failed = self.it.status("digits")["failed"][-1]
        self.assertEqual((failed["version"], failed["reason"]), (2, "Crashed"), failed)
        self.assertIn("signal 11 (SIGSEGV)", failed["message"])
        self.assertEqual(self.it.node_pids(), before)
        self.assertIn("predictions", self.it.predict("digits", image))


if __name__ == "__main__":
    unittest.main(verbosity=2)
