"""The run that the README's picture shows: version 2 of a Model is promoted, and version 5, which is several times slower, is rolled back."""

import contextlib
import json
import threading
import time

from harness import MODELS, Installation, wait_for
from prometheus import Prometheus
from scene import IMAGES, Load

RATE_PER_S = 30
QUIET_S = 8  # Before, between and after the rollouts.
HOLD_S = 12
# Version 2 is a larger network than version 1: it may take up to five times as long. Version 5 may take at most 1.1 times as long as version 2.
TOLERANCES = {1: 4, 2: 4, 5: 0.1}
ROLLOUT_MAX_S = 120


class Story:
    def __init__(self, prometheus_program):
        self.cleanup = contextlib.ExitStack()
        self.program = prometheus_program

    def __enter__(self):
        with contextlib.ExitStack() as on_failure:
            on_failure.push(self.cleanup)
            self.start()
            on_failure.pop_all()
        return self

    def __exit__(self, *_failure):
        self.cleanup.close()

    def start(self):
        self.it = self.cleanup.enter_context(Installation())
        jobs = {"nodes": self.it.state / "prometheus/nodes.json", "controller": self.it.dir / "controller.json"}
        self.prometheus = Prometheus(self.program, self.it.dir, jobs)
        self.cleanup.callback(self.prometheus.stop)
        self.prometheus.start()
        self.it.apply_fleet(nodes=2)
        self.apply(1)
        self.it.start_controller()
        wait_for("the controller's port", lambda: (self.it.dir / "admin.json").exists())
        port = json.loads((self.it.dir / "admin.json").read_text())["admin"]
        (self.it.dir / "controller.json").write_text(json.dumps([{"targets": [f"127.0.0.1:{port}"]}]))
        self.it.wait_for_stable("digits", 1)
        self.it.wait_for_ready_nodes(2)
        load = Load(self.it, "digits", RATE_PER_S, *IMAGES, f"--data={MODELS / 'digits/traffic.f32'}")
        self.cleanup.callback(load.end)
        wait_for("the Model's metrics in Prometheus", lambda: self.prometheus.now("longshore_model_weight_ratio"))

    def apply(self, version):
        self.it.apply_model("digits", MODELS / "digits", version,
                            {"hold": f"{HOLD_S}s", "requestsMin": 10, "steps": [{"weight": 10}, {"weight": 50, "proof": "Sampled"}],
                             "analysis": {"latency": {"tolerance": TOLERANCES[version]}}})

    def run(self):
        """Runs both rollouts. Returns the begin and the end, in seconds since 1970."""
        began = time.time()
        self.pause()
        for version, phase in ((2, "Completed"), (5, "RolledBack")):
            self.apply(version)
            wait_for(f"version {version} to be {phase}", lambda version=version, phase=phase: self.is_over(version, phase), ROLLOUT_MAX_S)
            self.pause()
        return began, time.time()

    def is_over(self, version, phase):
        rollout = self.it.status("digits").get("rollout", {})
        return rollout.get("candidate") == version and rollout.get("phase") == phase

    @staticmethod
    def pause():
        threading.Event().wait(QUIET_S)
