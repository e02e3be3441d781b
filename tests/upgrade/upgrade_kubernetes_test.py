"""On a real API server, the kinds and the controller are replaced by those of the next release and back again, in the middle of a rollout.

The nodes keep running. As in fleet_identity_test.py the test runs the node of each pod itself.
"""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest
from control_plane import CRDS, ControlPlane
from harness import MODELS
from fleet_identity_test import FLEET, Fleet

MODEL = """
apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: half, namespace: vision}}
spec:
  fleet: cpu
  source: {{uri: "file://{source}"}}
  version: {version}
  rollout: {{hold: 100ms, requestsMin: 0, steps: [{{weight: 50, pause: Manual}}]}}
"""


class Upgrade:
    def __init__(self, fleet: Fleet):
        self.fleet = fleet
        self.source = fleet.folder / "half"
        shutil.copytree(MODELS / "half_plus_two_tf2/1", self.source / "1")
        shutil.copytree(MODELS / "half_plus_three_tf2/1", self.source / "2")

    def status(self, kind: str = "model", name: str = "half") -> dict:
        return json.loads(self.fleet.cluster.kubectl("get", kind, name, "--namespace=vision", "-o", "json")).get("status", {})

    def serve(self, version: int) -> None:
        self.fleet.apply(MODEL.format(source=self.source, version=version))

    def reach_the_pause(self) -> None:
        self.serve(1)
        self.fleet.apply(FLEET)
        self.fleet.start_nodes()
        self.fleet.wait("version 1", lambda: self.status().get("stableVersion") == 1)
        self.serve(2)
        self.fleet.wait("the pause", lambda: self.status()["rollout"]["weight"] == 50)

    def replace_controller(self, programs: pathlib.Path) -> None:
        """Stops the controller, starts that of `programs`, and waits until it has reconciled both objects with the nodes' reports."""
        epochs = [self.status()["epoch"], self.status("servingfleet", "cpu")["epoch"]]
        self.fleet.controller.end(signal.SIGTERM)
        (self.fleet.folder / "controller.json").unlink()
        self.fleet.programs = programs
        self.fleet.start_controller()
        self.fleet.wait("a status of the new controller", lambda: self.status()["epoch"] > epochs[0] and
                        self.status("servingfleet", "cpu")["epoch"] > epochs[1])
        self.fleet.wait("the reports of the nodes", lambda: len(re.findall("1:Ready", str(self.status()["nodes"]))) == 2)

    def command(self, programs: pathlib.Path, verb: str, *flags: str) -> tuple[int, str]:
        done = subprocess.run([programs / "longshore", verb, "half", "--namespace=vision", *flags], env=self.fleet.cluster.environment(),
                              check=False, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def pause_and_resume(self, programs: pathlib.Path) -> None:
        for verb in ("pause", "resume"):
            assert self.command(programs, verb) == (0, f"{verb}: done\n")

    def replace_kinds(self, folder: pathlib.Path) -> None:
        self.fleet.cluster.crds = (folder,)
        self.fleet.cluster.apply_crds()

    def unreadable(self) -> float:
        port = json.loads((self.fleet.folder / "controller.json").read_text())["admin"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            shown = re.findall(r"^longshore_controller_unreadable_objects\{.*\} (\S+)$", answer.read().decode(), re.MULTILINE)
        assert len(shown) == 2, "one row for each kind"
        return sum(map(float, shown))

    def state(self) -> dict:
        """What an upgrade does not change."""
        status = self.status()
        kept = {name: status["rollout"][name] for name in ("id", "attempt", "step", "weight", "phase", "candidate", "stepStartedAt")}
        started = [entry["what"] for entry in status["history"] if entry["version"] == 2].count("Started")
        return {**kept, "stableVersion": status["stableVersion"], "started": started, "failed": status["failed"], "unreadable": self.unreadable()}


@pytest.fixture
def upgrade(previous: pathlib.Path):
    with ControlPlane(controllers=True, crds=(previous.parent / "crds",)) as cluster:
        cluster.kubectl("create", "namespace", "vision")
        fleet = Fleet(cluster, previous)
        try:
            yield Upgrade(fleet)
        finally:
            fleet.end()


def test_objects_and_a_rollout_survive_an_upgrade_and_a_downgrade(upgrade: Upgrade, previous: pathlib.Path, present: pathlib.Path):
    upgrade.reach_the_pause()
    before = upgrade.state()
    assert (before["stableVersion"], before["candidate"], before["started"], before["unreadable"]) == (1, 2, 1, 0)
    # Kinds first: a controller may write fields that the kinds of the previous release do not have.
    upgrade.replace_kinds(CRDS)
    assert upgrade.state() == before
    upgrade.replace_controller(previous)
    assert upgrade.state() == before, "the previous controller reads all objects of the new kinds"
    upgrade.replace_controller(present)
    assert upgrade.state() == before
    for programs in (present, previous, present):
        upgrade.pause_and_resume(programs)
    assert [answer["verb"] for answer in upgrade.status()["answers"]] == ["pause", "resume"] * 2, "the previous longshore loses no answer"
    assert upgrade.state() == before
    upgrade.replace_controller(previous)
    assert upgrade.state() == before
    code, said = upgrade.command(present, "pause", "--timeout=2s")
    assert code in (1, 4) and "release" in said, "the previous controller does not know the queue"
    upgrade.replace_kinds(previous.parent / "crds")
    assert upgrade.state() == before
    code, said = upgrade.command(present, "pause", "--timeout=2s")
    assert code == 1 and "custom resources of a release before 0.2" in said
    promoted = upgrade.command(previous, "promote")
    assert promoted[0] == 0, promoted
    upgrade.fleet.wait("version 2", lambda: upgrade.status()["stableVersion"] == 2)
