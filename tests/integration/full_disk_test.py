"""A full disk is named by status, metrics and the admin port, stops no request, and is forgotten when it has room again."""

import json
import re
import subprocess
import unittest
import urllib.request

from harness import BIN, Installation, wait_for
from local_test import Load, half_plus
from small_disk import fill, mount

TWO = {"instances": [2.0]}
DISK = "512k"
NO_SPACE = "No space left on device"


def get(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return answer.read().decode()


class FullDisk(unittest.TestCase):
    """Version 1 of `half` gets requests all the time. Version 2 is wanted while the disk is full."""

    def setUp(self):
        self.it = Installation()
        self.addCleanup(self.it.__exit__, None, None, None)
        self.source = half_plus(self.it.dir)

    def serve(self):
        self.it.apply_fleet()
        self.it.apply_model("half", self.source, 1)
        self.it.start_controller()
        self.it.wait_for_stable("half", 1)
        self.it.wait_for_ready_nodes(1)
        self.it.wait_for_answers("half", TWO)

    def status(self):
        return self.it.command("status")

    def assert_recovers(self, folder, address, what):
        """As soon as the disk has room, version 2 gets all requests, and nothing speaks of the disk any more."""
        with Load(self.it, "half") as load:
            (folder / "filler").unlink()
            self.it.wait_for_stable("half", 2)
        self.assertEqual(load.errors, [])
        wait_for("the metric to fall", lambda: f'longshore_storage_failing{{what="{what}"}} 0' in get(address, "/metrics"))
        wait_for("the status to be good", lambda: NO_SPACE not in self.status().stdout, seen=lambda: self.status().stdout)

    def test_of_a_node(self):
        disk = self.it.state / "nodes/default.cpu-0"
        mount(self, disk, DISK)
        self.serve()
        self.assertEqual(self.it.condition("ServingFleet", "cpu", "StorageWritable")["status"], "True")
        address = self.it.fleet_status()["nodes"][0]["adminAddress"]
        self.assertIn('longshore_storage_failing{what="desired_state"} 0', get(address, "/metrics"))
        fill(disk)
        with Load(self.it, "half") as load:
            self.it.apply_model("half", self.source, 2)
            wait_for("the condition", lambda: self.it.condition("ServingFleet", "cpu", "StorageWritable")["status"] == "False")
            shown = self.status()
            self.assertIn('longshore_storage_failing{what="desired_state"} 1', get(address, "/metrics"))
            problems = json.loads(get(address, "/debug/state"))["storage_problems"]
        self.assertEqual((load.errors, set(load.answers)), ([], {3.0}))
        self.assertRegex(problems["desired_state"][0], rf"{disk}/desired\.pb.*: {NO_SPACE}")
        message = self.it.condition("ServingFleet", "cpu", "StorageWritable")["message"]
        self.assertIn("default.cpu-0 cannot write its desired_state: ", message)
        self.assertIn(NO_SPACE, message)
        self.assertIn("StorageWritable: default.cpu-0 cannot write its desired_state: ", shown.stdout)
        self.assert_recovers(disk, address, "desired_state")
        self.assertEqual(json.loads(get(address, "/debug/state"))["storage_problems"], {})
        self.assertEqual(self.it.condition("ServingFleet", "cpu", "StorageWritable")["status"], "True")

    def test_of_the_controller(self):
        mount(self, self.it.manifests, DISK)
        self.serve()
        address = f"127.0.0.1:{json.loads((self.it.dir / 'admin.json').read_text())['admin']}"
        self.assertIn('longshore_storage_failing{what="objects"} 0', get(address, "/metrics"))
        manifest = next(path for path in self.it.manifests.glob("*.yaml") if "kind: Model" in path.read_text())
        draft = self.it.manifests / ".draft"
        draft.write_text(manifest.read_text().replace("version: 1", "version: 2"))
        (self.it.manifests / ".before").hardlink_to(manifest)  # Keeps its space, which a write could use otherwise.
        fill(self.it.manifests)
        with Load(self.it, "half") as load:
            draft.rename(manifest)  # Takes no space.
            wait_for("the metric", lambda: 'longshore_storage_failing{what="objects"} 1' in get(address, "/metrics"))
            wait_for("the status to say it", lambda: "the controller cannot " in self.status().stdout, seen=lambda: self.status().stdout)
            refused = self.it.command("undo", "half", "--to=2")
        self.assertEqual((load.errors, set(load.answers)), ([], {3.0}))
        self.assertRegex(self.status().stdout, rf"the controller cannot .*{self.it.manifests}/.*: {NO_SPACE}; this is the state that it could write last")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(NO_SPACE, refused.stderr)
        logged = re.findall(r"objects: cannot be written at the moment: (\S+): ", (self.it.dir / "controller.log").read_text())
        self.assertIn("objects/Model/default", logged)
        self.assertEqual(len(logged), len(set(logged)), logged)
        self.assert_recovers(self.it.manifests, address, "objects")

    def test_of_a_reader_whose_mount_is_read_only(self):
        """A command in a container, whose mount is read-only, does not say that the controller cannot write."""
        self.serve()
        seen = self.it.dir / "seen"
        seen.mkdir()
        for options in (["--bind", self.it.manifests, seen], ["-o", "remount,bind,ro", seen]):
            mounted = subprocess.run(["mount", *options], capture_output=True, check=False)
            if mounted.returncode != 0:
                self.skipTest("a folder cannot be mounted here: " + mounted.stderr.decode().strip())
            if options[0] == "--bind":
                self.addCleanup(subprocess.run, ["umount", "--lazy", seen], check=True)
        shown = subprocess.run([BIN / "longshore", "status", f"--manifests={seen}"], capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("half", shown.stdout)
        self.assertNotIn("cannot write", shown.stdout + shown.stderr)


if __name__ == "__main__":
    unittest.main()
