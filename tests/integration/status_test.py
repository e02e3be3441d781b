"""`longshore status`, `get`, `apply` and `diff` with a real controller: they report what it has read and whether it runs."""

import socket
import subprocess
import time
import unittest

from harness import BIN, Installation, wait_for
from local_test import half_plus


class Status(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def serve(self, version=1):
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, version, rollout={"strategy": "Immediate"})
        self.it.start_controller()
        waited = self.it.command("status", "--wait", "--timeout=40s")
        self.assertEqual(waited.returncode, 0, waited.stdout + waited.stderr)

    def edit(self, change):
        path = self.it.manifests / "half.yaml"
        self.it.write_manifest("half.yaml", change(path.read_text()))

    def version(self):
        return self.it.object("Model", "half")["spec"]["version"]

    def test_a_wait_right_after_an_edit_ends_with_the_edited_version(self):
        self.serve()
        for version in (2, 1, 2, 1):
            self.edit(lambda text: text.replace("version: 1", f"version: {version}").replace("version: 2", f"version: {version}"))
            waited = self.it.command("status", "half", "--wait", "--timeout=40s")
            self.assertEqual(waited.returncode, 0, waited.stdout + waited.stderr)
            self.assertIn(f"serves    version {version}\n", waited.stdout)

    def test_a_wait_right_after_the_fleet_is_created_again_ends_when_its_new_nodes_have_the_version(self):
        self.serve()
        manifest = next(path for path in self.it.manifests.glob("*.yaml") if "kind: ServingFleet" in path.read_text())
        for is_noticed in (False, True, False, True):
            self.assertEqual(self.it.command("delete", "fleet", "cpu", "--yes").returncode, 0)
            if is_noticed:
                wait_for("the condition", lambda: self.it.condition("Model", "half", "Ready").get("reason") == "NoFleet")
            self.assertEqual(self.it.command("apply", "-f", manifest).returncode, 0)
            waited = self.it.command("status", "half", "--wait", "--timeout=40s")
            self.assertEqual(waited.returncode, 0, waited.stdout + waited.stderr)
            self.assertIn("version 1 is ready on 1 of 1 nodes", waited.stdout)
            self.assertNotIn("did you mean", waited.stdout)
            self.assertIn("1:Ready", [node["state"] for node in self.it.status("half")["nodes"]])

    def test_a_wait_right_after_the_fleet_is_scaled_ends_when_model_and_fleet_agree_on_its_nodes(self):
        self.serve()
        for nodes in (3, 1, 2, 1):
            self.it.apply_fleet(nodes)
            for words in (("status", "half"), ("status",)):
                waited = self.it.command(*words, "--wait", "--timeout=40s")
                self.assertEqual(waited.returncode, 0, waited.stdout + waited.stderr)
                self.assertIn(f"version 1 is ready on {nodes} of {nodes} nodes", waited.stdout)
            self.assertIn(f"{nodes} of {nodes} nodes are ready", waited.stdout)

    def test_a_wait_goes_on_if_the_controller_retries_what_failed(self):
        self.it.apply_model("half", self.source, 1, rollout={"strategy": "Immediate"})
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.it.apply_fleet(grpc=taken.getsockname()[1])
            self.it.start_controller()
            wait_for("the failure", lambda: self.it.condition("ServingFleet", "cpu", "Stalled").get("reason") == "NeedsHelp")
            words = [BIN / "longshore", "status", "--wait", "--timeout=40s", f"--manifests={self.it.manifests}"]
            waiting = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            self.addCleanup(waiting.kill)
            first = waiting.stdout.readline()
        self.assertIn("waiting for fleet default/cpu: NeedsHelp: ", first)
        rest = waiting.communicate(timeout=50)[0]
        self.assertEqual(waiting.returncode, 0, rest)

    def test_a_wait_can_begin_before_the_controller_has_read_its_manifests(self):
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller()
        waited = self.it.command("status", "half", "--wait", "--timeout=40s")
        self.assertEqual(waited.returncode, 0, waited.stdout + waited.stderr)

    def test_status_and_get_report_a_missing_controller_and_wait_for_a_later_one(self):
        self.serve()
        self.assertNotIn("no controller", self.it.command("get", "models").stdout)
        self.it.kill_controller()
        for words in (("status",), ("status", "half"), ("status", "half", "--wait")):
            status = self.it.command(*words)
            self.assertEqual(status.returncode, 5, status.stdout + status.stderr)
            self.assertIn("no controller is running; this is the state as of ", status.stdout)
        got = self.it.command("get", "fleets")
        self.assertEqual(got.returncode, 0)
        self.assertRegex(got.stdout, r"no controller is running; this is the state as of \d\d:\d\d:\d\d UTC \(\d+s ago\)")
        self.assertNotIn("no controller", self.it.command("get", "fleets", "-o", "json").stdout)
        self.it.start_controller()
        self.assertEqual(self.it.command("status", "--wait", "--timeout=40s").returncode, 0)

    def test_the_time_of_the_last_reconcile_advances_when_nothing_changes(self):
        self.serve()
        lock = self.it.manifests / ".longshore/controller.lock"
        for _ in range(3):
            before = lock.stat().st_mtime_ns
            wait_for("another reconcile", lambda: lock.stat().st_mtime_ns > before, timeout_s=10)

    def test_a_second_controller_of_the_same_manifests_refuses_to_start(self):
        self.serve()
        first, self.it.state = self.it.controller, self.it.dir / "second"
        self.assertEqual(self.it.start_controller().wait(timeout=20), 1)
        self.assertIn("another longshore-controller uses the directory of manifests", (self.it.dir / "controller.log").read_text())
        self.it.controller, self.it.state = first, self.it.dir / "state"

    def test_a_comment_does_not_override_an_apply_and_the_difference_is_reported(self):
        self.serve()
        other = self.it.dir / "other.yaml"
        other.write_text((self.it.manifests / "half.yaml").read_text().replace("version: 1", "version: 2"))
        sentence = f"{self.it.manifests}/half.yaml says version 1; Model default/half has version 2"
        applied = self.it.command("apply", "-f", other)
        self.assertIn(sentence, applied.stdout, applied.stderr)
        self.assertEqual(self.it.command("status", "half", "--wait", "--timeout=40s").returncode, 0)
        self.edit(lambda text: "# A comment.\n" + text)
        waited = self.it.command("status", "half", "--wait", "--timeout=40s")
        self.assertIn("serves    version 2\n", waited.stdout, waited.stderr)
        self.assertEqual(self.version(), 2)
        for words in (("get", "models"), ("status",), ("status", "half"), ("diff", "-f", other)):
            self.assertIn(sentence, self.it.command(*words).stdout)
        self.edit(lambda text: text.replace("version: 1", "version: 2"))
        wait_for("the manifest to be read", lambda: "as wanted" in self.it.command("status", "half").stdout)
        self.assertNotIn("says", self.it.command("get", "models").stdout)

    def test_stop_fleets_leaves_no_object_ready(self):
        self.serve()
        self.it.kill_controller()
        ended = subprocess.run([BIN / "longshore-controller", f"--state_dir={self.it.state}", "--stop-fleets"],
                               capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, "ended 1 node of 1 fleet\n"), ended.stderr)
        for kind, reason in (("fleets", "Stopped"), ("models", "FleetStopped")):
            self.assertRegex(self.it.command("get", kind).stdout, rf"False +{reason}")
        self.it.start_controller()
        self.assertEqual(self.it.command("status", "--wait", "--timeout=40s").returncode, 0)

    def test_a_wait_ends_soon_if_the_manifest_of_an_object_was_deleted(self):
        self.serve()
        (self.it.manifests / "half.yaml").unlink()
        wait_for("the condition", lambda: self.it.condition("Model", "half", "ManifestAccepted").get("reason") == "Vanished")
        waited = self.it.command("status", "half", "--wait")  # Its timeout is longer than that of this command.
        self.assertEqual(waited.returncode, 1, waited.stdout + waited.stderr)
        self.assertIn("half.yaml was deleted", waited.stdout)

    def test_a_manifest_with_a_mistake_is_named_by_status(self):
        self.serve()
        self.edit(lambda text: text + "  colour: blue\n")
        began = time.monotonic()
        waited = self.it.command("status", "half", "--wait")
        self.assertEqual(waited.returncode, 1, waited.stdout + waited.stderr)
        self.assertLess(time.monotonic() - began, 20)
        self.assertIn("half.yaml:", waited.stdout)
        self.assertIn("spec.colour", waited.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
