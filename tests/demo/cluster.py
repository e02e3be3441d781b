"""The manifests that the demo gives to the controller, and the objects that the controller stores."""

import json
import os
import threading
import time

import decisions
import trials

READ_INTERVAL_S = 0.05
MODELS = ("digits", "halves", "busy", decisions.MODEL, trials.MODEL)
FLEETS = ("main", "waiting")

FLEET = """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: main}
spec:
  replicas: {min: 2, max: 2}
  ports: {grpc: 0, rest: 0}
  connectionAgeMax: 10s
"""

WAITING_FLEET = """apiVersion: longshore.dev/v1alpha1
kind: ServingFleet
metadata: {name: waiting}
spec:
  replicas: {min: 2, max: 4}
  ports: {grpc: 0, rest: 0}
  connectionAgeMax: 3s
  engine: {concurrentRuns: 2, simulatedRun: 20ms}     # At most 100 requests per second per node.
  autoscaling:
    queueDelay: 20ms
    utilization: "70%"
    prometheus: {url: "@PROMETHEUS@"}
    metricsAgeMax: 5s
    scaleDownStabilization: 15s
    scaleUpCooldown: 3s
"""

DIGITS = """apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits}
spec:
  fleet: main
  source: {uri: "file://@MODELS@/digits"}
  version: @VERSION@
  validation:
    goldenSet: {path: golden/golden.tfrecord, metric: top1, minimum: 0.95}
    nonFinite: Reject
  rollout:
    assignment: {by: Header, key: x-user-id}
    steps: [{weight: 5}, {weight: 25}, {weight: 50}]
    hold: @HOLD@s
    requestsMin: 100
    analysis: {latency: {tolerance: @TOLERANCE@}}
"""

HALVES = """apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: halves}
spec:
  fleet: main
  source: {uri: "file://@MODELS@/halves"}
  version: @VERSION@
  rollout:
    assignment: {by: Header, key: x-user-id}
    steps: [{weight: 30, pause: Manual}]
    hold: 1s
    requestsMin: 100
"""

def of_digits(name, rollout):
    """The manifest of a Model with the versions of digits."""
    return f"""apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {{name: {name}}}
spec:
  fleet: main
  source: {{uri: "file://@MODELS@/digits"}}
  version: @VERSION@
  rollout: {json.dumps(rollout)}
"""


# v2 is a larger network than v1: it may take up to five times as long as v1. The later versions may take at most 1.5 times as
# long as v2.
TOLERANCES = {1: 4, 2: 4, 3: 0.5, 4: 0.5, 5: 0.5}

BUSY = """apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: busy}
spec:
  fleet: waiting
  source: {uri: "file://@MODELS@/halves"}
  version: 1
"""


class Cluster:
    """The directory of manifests, and the objects as a thread last read them. Safe to use from any thread."""

    def __init__(self, manifests, models, prometheus_url, hold_s):
        self.manifests = manifests
        self._values = {"MODELS": str(models), "PROMETHEUS": prometheus_url, "HOLD": str(hold_s)}
        self.timeline = []      # (unix_ms, rollout) of digits, one per change.
        self._objects = {}
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def apply(self, name, manifest, version=None):
        """Writes the manifest as a user's editor does: replaces the file, which the controller watches."""
        values = {**self._values, "VERSION": str(version), "TOLERANCE": str(TOLERANCES.get(version))}
        for key, value in values.items():
            manifest = manifest.replace(f"@{key}@", value)
        draft = self.manifests / f".{name}.draft"
        draft.write_text(manifest)
        os.replace(draft, self.manifests / f"{name}.yaml")

    def _watch(self):
        while not self._ending.wait(READ_INTERVAL_S):
            for name in MODELS:
                self._read("Model", name)
            for name in FLEETS:
                self._read("ServingFleet", name)
            rollout = self.rollout("digits")
            if rollout and (not self.timeline or identity(rollout) != identity(self.timeline[-1][1])):
                self.timeline.append((int(time.time() * 1000), rollout))

    def _read(self, kind, name):
        try:
            text = (self.manifests / f".longshore/objects/{kind}/default/{name}.json").read_text()
            self._objects[kind, name] = json.loads(text)
        except FileNotFoundError:
            pass

    def end(self):
        self._ending.set()
        self._watcher.join()

    def status(self, kind, name):
        return self._objects.get((kind, name), {}).get("status") or {}

    def rollout(self, model):
        return self.status("Model", model).get("rollout") or {}

    def serves(self, model):
        return self.status("Model", model).get("stableVersion", 0)

    def failure(self, model, version):
        """The newest entry of a version in status.failed; None if the version has not failed."""
        failed = [entry for entry in self.status("Model", model).get("failed", []) if entry["version"] == version]
        return failed[-1] if failed else None

    def ready_nodes(self, fleet):
        """The ready nodes: name -> pid."""
        return {node["name"]: node["pid"] for node in self.status("ServingFleet", fleet).get("nodes", [])
                if node["state"] == "Ready"}

    def epoch(self, fleet):
        """The epoch of the controller that last wrote the status of the fleet; it rises with each start of a controller."""
        return self.status("ServingFleet", fleet).get("epoch", 0)

    def address(self, fleet, protocol):
        return self.status("ServingFleet", fleet).get(f"{protocol}Address", "")


def identity(rollout):
    return [rollout.get(name) for name in ("id", "phase", "candidate", "step", "weight")]
