"""A host whose console the tests look at: a fleet, a Model in the middle of a canary, one that is fine, one that has a problem, and later
objects with hostile names."""

import json
import shutil
import urllib.request

from harness import Installation, wait_for
from local_test import Load, half_plus

LONG = "a" * 63  # The longest name of a Model.
LONGEST_SERVED_NAME = "b" * 253
HOSTILE_FOLDER = "<img src=x onerror=document.title=1>\u202e&amp;"
MODEL = "fraud-score"
STEPS = [{"weight": 20, "hold": "6s", "proof": "Sampled"}, {"weight": 50, "pause": "Manual", "hold": "1s", "proof": "Sampled"}]


class Scene:
    """Serves version 1 of MODEL under load. Call `begin_canary`, `add_hostile_objects`, `promote` and `abort_another_canary`, in this order."""

    def __init__(self, flags=()):
        """`flags`: more flags of the controller."""
        self.it = Installation()
        self.flags = flags
        self.load = None
        try:
            self.begin()
        except BaseException:
            self.end()
            raise

    def begin(self):
        self.it.start_controller(flags=self.flags)
        self.it.apply_fleet(nodes=2)
        self.source = half_plus(self.it.dir)
        shutil.copytree(self.source / "1", self.source / "3")
        self.apply(1)
        self.it.apply_model("ranking", self.source, 1)
        self.it.apply_model("spam-filter", self.it.dir / "not-there", 1)
        self.it.write_manifest("typo.yaml", "apiVersion: longshore.dev/v1alpha1\nkind: Modell\nmetadata: {name: churn}\n")
        for name in (MODEL, "ranking"):
            self.it.wait_for_stable(name, 1)
        self.it.wait_for_ready_nodes(2)
        self.url = self.it.console_url()
        load = Load(self.it, MODEL)
        load.__enter__()
        self.load = load

    def end(self):
        if self.load:
            self.load.__exit__()
        self.it.__exit__(None, None, None)

    def read(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def apply(self, version):
        rollout = {"hold": "6s", "requestsMin": 20, "steps": STEPS, "keepWarm": "100ms"}
        self.it.apply_model(MODEL, self.source, version, rollout)

    def add_hostile_objects(self):
        source = self.it.dir / HOSTILE_FOLDER
        source.mkdir()
        self.it.write_manifest("hostile.yaml", f"""apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: {LONG}}}
spec:
  fleet: cpu
  servedName: {LONGEST_SERVED_NAME}
  source: {{uri: {json.dumps(f"file://{source}", ensure_ascii=False)}}}
  version: 1
""")
        wait_for("the hostile Model to be in trouble", lambda: HOSTILE_FOLDER in json.dumps(self.it.status(LONG), ensure_ascii=False))

    def begin_canary(self):
        self.apply(2)
        wait_for("the second step", lambda: self.it.status(MODEL)["rollout"].get("pausedReason") == "Manual")
        wait_for("graphs", lambda: len(self.read(f"/api/v1/models/default/{MODEL}/history")["evidence"]) >= 4)

    def promote(self):
        self.command("promote")
        self.it.wait_for_stable(MODEL, 2)

    def abort_another_canary(self):
        self.apply(3)
        wait_for("the first step", lambda: self.it.phase(MODEL) == "Step")
        self.command("abort")
        wait_for("the end of the rollout", lambda: self.it.phase(MODEL) == "RolledBack")

    def command(self, verb):
        done = self.it.command(verb, MODEL)
        assert done.returncode == 0, done.stderr
