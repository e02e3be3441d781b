"""Rollouts and killed programs with the real controller and real nodes. Run: python3 tests/integration/local_test.py"""

import os
import re
import shutil
import signal
import socket
import threading
import unittest
import urllib.error

import pytest
from harness import MODELS, Installation, read_images, wait_for


def half_plus(directory):
    """Two versions of one model: y = x/2 + 2, then y = x/2 + 3."""
    source = directory / "half"
    shutil.copytree(MODELS / "half_plus_two_tf2/1", source / "1")
    shutil.copytree(MODELS / "half_plus_three_tf2/1", source / "2")
    return source


def answers(address):
    """Whether somebody accepts connections there, or they wait."""
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except ConnectionRefusedError:
        return False
    return True


class Load:
    """Sends one request after the other until it is stopped. Keeps every answer."""

    def __init__(self, installation, model):
        self.answers = []
        self.errors = []
        self.ending = threading.Event()
        self.installation = installation
        self.model = model
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ending.is_set():
            try:
                answer = self.installation.predict(self.model, {"instances": [2.0]})
                self.answers.append(answer["predictions"][0])
            except urllib.error.HTTPError as error:
                self.errors.append(f"{error.code}: {error.read().decode()}")
            except Exception as error:  # Any exception means that a user got no answer.
                self.errors.append(repr(error))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.ending.set()
        self.thread.join()


class Local(unittest.TestCase):
    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def serve_first(self, nodes=1):
        self.it.apply_fleet(nodes=nodes)
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(nodes)
        self.it.wait_for_answers("half", {"instances": [2.0]})

    def test_a_canary_is_promoted_on_evidence_and_no_request_is_lost(self):
        self.serve_first(nodes=2)
        with Load(self.it, "half") as load:
            self.it.apply_model("half", self.source, 2)
            self.it.wait_for_stable("half", 2)
            wait_for("the new version to answer", lambda: load.answers[-1] == 4.0)
        self.assertEqual(load.errors, [])
        self.assertEqual(set(load.answers), {3.0, 4.0})

    def test_a_rollout_matches_its_dry_run_and_status_waits_for_its_end(self):
        self.serve_first(nodes=2)
        self.assertEqual(self.it.command("status", "half", "--wait").returncode, 0)
        second = self.it.dir / "second.yaml"
        second.write_text((self.it.manifests / "half.yaml").read_text().replace("version: 1", "version: 2"))
        predicted = self.it.command("apply", "--dry-run", "-f", second).stdout
        self.assertIn("Model default/half: version 1 -> version 2, on 2 nodes of fleet cpu", predicted)
        self.assertEqual(self.it.command("diff", "-f", second).returncode, 1)
        self.assertEqual(self.it.status("half")["stableVersion"], 1)
        seen = len(self.it.status("half")["history"])
        with Load(self.it, "half") as load:
            self.assertEqual(self.it.command("apply", "-f", second).returncode, 0)
            waited = self.it.command("status", "half", "--wait", "--timeout=50s")
        self.assertEqual((waited.returncode, load.errors), (0, []), waited.stdout + waited.stderr)
        self.assertIn("Model default/half: as wanted", waited.stdout)
        self.assertEqual(self.it.command("diff", "-f", second).returncode, 0)
        happened = [entry["what"] for entry in self.it.status("half")["history"][seen:]]
        self.assertEqual(re.findall(r"^  \d+m?s +[\d.]+ % +\d +(\w+): ", predicted, re.MULTILINE), happened, predicted)

    def test_a_version_with_wrong_labels_or_nan_answers_is_rolled_back(self):
        source = self.it.dir / "digits"
        shutil.copytree(MODELS / "digits", source)
        golden = "  validation: {goldenSet: {path: golden/golden.tfrecord, metric: top1, minimum: 0.95}}\n"
        images = read_images(source / "traffic.f32")
        self.it.apply_fleet(nodes=2)
        self.it.apply_model("digits", source, 1, extra=golden)
        self.it.start_controller()
        self.it.wait_for_stable("digits", 1)
        self.it.wait_for_answers("digits", {"instances": [images[0]]})
        for version, reason in ((3, "GoldenSet"), (4, "NonFinite")):
            self.it.apply_model("digits", source, version, extra=golden)

            def rolled_back():
                for image in images[:200]:
                    self.it.predict("digits", {"instances": [image]})
                    failed = self.it.status("digits")["failed"]
                    if failed and failed[-1]["version"] == version:
                        return True
                return False

            wait_for(f"version {version} to be rolled back", rolled_back)
            self.assertEqual(self.it.status("digits")["failed"][-1]["reason"], reason)
            self.assertEqual(self.it.status("digits")["stableVersion"], 1)

    def test_the_newest_complete_version_is_served_if_the_model_names_none(self):
        newer = self.it.dir / "newer"
        (self.source / "2").rename(newer)
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, None)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_answers("half", {"instances": [2.0]})
        with Load(self.it, "half") as load:
            newer.rename(self.source / "2")
            self.it.wait_for_stable("half", 2)
            wait_for("the new version to answer", lambda: load.answers[-1] == 4.0)
        self.assertEqual(load.errors, [])

    def test_a_killed_node_is_replaced(self):
        self.serve_first(nodes=2)
        before = self.it.node_pids()
        victim = sorted(before)[0]
        os.kill(before[victim], signal.SIGKILL)
        wait_for("a new process", lambda: self.it.node_pids().get(victim, 0) not in (0, before[victim]))
        self.it.wait_for_ready_nodes(2)
        self.assertEqual(self.it.predict("half", {"instances": [2.0]}), {"predictions": [3.0]})

    def test_a_restarted_controller_takes_over_the_nodes_and_no_request_is_lost(self):
        self.serve_first(nodes=2)
        self.it.wait_for_ready_nodes(2)
        pids, address = self.it.node_pids(), self.it.fleet_status()["restAddress"]
        ready = self.it.condition("ServingFleet", "cpu", "Ready")
        with Load(self.it, "half") as load:
            for _ in range(2):
                epoch = self.it.status("half")["epoch"]
                self.it.kill_controller()
                self.it.start_controller()
                wait_for("the new controller to write the status", lambda: self.it.status("half")["epoch"] > epoch)
                self.it.wait_for_ready_nodes(2)
                self.assertEqual(self.it.condition("ServingFleet", "cpu", "Ready"), ready, "it was Ready all the time")
            self.it.apply_model("half", self.source, 2)
            self.it.wait_for_stable("half", 2)
        self.assertEqual(load.errors, [])
        self.assertEqual(self.it.node_pids(), pids)
        self.assertEqual(self.it.fleet_status()["restAddress"], address)

    def test_a_deleted_fleet_refuses_connections_although_a_client_is_connected(self):
        grpc = pytest.importorskip("grpc")
        self.it.apply_fleet(connection_age_max="10m")
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(1)
        self.it.wait_for_answers("half", {"instances": [2.0]})
        address = self.it.fleet_status()["grpcAddress"]
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(timeout=20)
            self.it.command("delete", "fleet", "cpu")
            wait_for("the port to be closed", lambda: not answers(address), timeout_s=10)
            wait_for("the condition", lambda: self.it.condition("Model", "half", "Ready").get("reason") == "NoFleet")
        self.assertEqual(self.it.condition("Model", "half", "Ready")["status"], "False")
        self.it.apply_fleet(nodes=2)
        self.it.wait_for_ready_nodes(2)
        self.it.wait_for_answers("half", {"instances": [2.0]})

    def test_a_second_controller_on_the_same_state_refuses_to_start(self):
        self.serve_first()
        first = self.it.controller
        self.assertEqual(self.it.start_controller().wait(timeout=20), 1)
        self.assertIn("another longshore-controller", (self.it.dir / "controller.log").read_text())
        self.it.controller = first


if __name__ == "__main__":
    unittest.main(verbosity=2)
